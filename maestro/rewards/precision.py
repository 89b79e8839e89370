"""In which precision large products are computed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch

Precision = Literal["auto", "float32", "bfloat16"]


def choose_precision(wanted: Precision, device: torch.device) -> Precision:
    """Answer "auto" with bfloat16 where the device is made for it, else with float32."""
    if wanted != "auto":
        return wanted
    made_for_it = torch.cuda.is_bf16_supported() if device.type == "cuda" else cpu_has_bfloat16()
    return "bfloat16" if made_for_it else "float32"


def cpu_has_bfloat16() -> bool:
    """Look for AVX512-BF16 or AMX; elsewhere bfloat16 is emulated and slow."""
    capabilities = torch.backends.cpu.get_cpu_capability()
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return capabilities.startswith("AVX512") and ("avx512_bf16" in flags or "amx_bf16" in flags)
