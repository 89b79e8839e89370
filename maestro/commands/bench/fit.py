"""Measure fitting of reward models, in pairs per second, on real transitions.

    maestro bench fit
    maestro bench fit --data runs/collect-nethack --pairs 661000 --preset paper
    maestro bench fit --device cuda:0 --json

The pairs are drawn as `maestro annotate` draws them and judged by the skill's rules. Both presets are measured, each with its
own batch size; "paper" is MaestroMotif's network. In turn with it, the same network is fitted the plain way on the same
device: every caption of every pair encoded in full, in float32, with torch's own choice of threads. Fitting itself uses one
thread for arithmetic and one that prepares batches. Without a dataset, one of 40,000 steps is collected first.
"""

from __future__ import annotations

import os
import platform
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from maestro.commands._output import print_json, print_table
from maestro.content import Content
from maestro.errors import ConfigError
from maestro.runs import runs_root

if TYPE_CHECKING:
    import pyarrow as pa

_STEPS = 40_000


@dataclass(frozen=True)
class Config:
    """Choose what is measured."""

    preset: Literal["both", "paper", "small"] = "both"
    """Which preset."""
    data: Path | None = None
    """Folder of transitions; by default that of `maestro collect`."""
    skill: str = "discoverer"
    """Whose pairs."""
    pairs: int = 100_000
    """Pairs of the data."""
    repeats: int = 5
    """How often each is measured; the median counts."""
    device: str = "cpu"
    """"cpu", "cuda:0", ..."""
    json: bool = False
    """Print one JSON object."""


def run(config: Config) -> int:
    """Measure and print."""
    for name, value in (("pairs", config.pairs), ("repeats", config.repeats)):
        if value < 1:
            raise ConfigError(f"--{name} is {value}", where="maestro bench fit", expected="at least 1")
    from maestro.preferences.goals import find_goal
    from maestro.rewards.fit import FitConfig, device_named
    from maestro.rewards.throughput import MAESTROMOTIF_PAIRS_PER_S, judged_pairs, measure_fit

    content = Content.find()
    goal = find_goal(content, config.skill)
    device_named(config.device)  # what is wrong with it is said before anything is read
    table, source = _transitions(config, content)
    data = judged_pairs(table, goal, config.pairs)
    presets = ("paper", "small") if config.preset == "both" else (config.preset,)
    found = [
        measure_fit(data, FitConfig(preset=preset), steps=20, repeats=config.repeats, device=config.device)
        for preset in presets
    ]
    about = {
        "data": source,
        "skill": config.skill,
        "pairs": len(data.pairs),
        "captions": data.num_captions,
        "messages": len(data.messages),
        "maestromotif_pairs_per_s": MAESTROMOTIF_PAIRS_PER_S,
        "device": config.device,
        "load": os.getloadavg()[0],
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }
    if config.json:
        presets_found = {each.preset: asdict(each) for each in found}
        print_json({"pairs_per_s": found[0].pairs_per_s, "presets": presets_found, **about})
        return 0
    rows = [
        {
            "preset": each.preset,
            "rate": f"{each.pairs_per_s:,.0f}",
            "range": f"{each.pairs_per_s_range[0]:,.0f} to {each.pairs_per_s_range[1]:,.0f}",
            "cpu": f"{each.pairs_per_cpu_s:,.0f}",
            "plain": f"{each.plain_pairs_per_s:,.0f}",
            "times": f"{each.times_plain:.1f}",
        }
        for each in found
    ]
    columns = {"preset": "preset", "pairs/s": "rate", "range": "range", "per cpu s": "cpu"}
    print_table({**columns, "plain pairs/s": "plain", "x plain": "times"}, rows, empty="")
    for each in found:
        print(
            f"{each.preset}: batch {each.batch_size:,}, {each.precision}, {each.peak_memory_gb:.1f} GB, "
            f"{each.distinct_messages:.2f} messages a caption, {each.epoch_s:.1f} s for all pairs once; "
            f"plain {each.plain_pairs_per_cpu_s:,.0f} per cpu s"
        )
    print(
        f"{len(data.pairs):,} pairs of {data.num_captions:,} captions with {len(data.messages):,} messages ({source}); "
        f"load of the machine {about['load']:.1f}; MaestroMotif on two cores of another machine: {MAESTROMOTIF_PAIRS_PER_S} pairs/s"
    )
    return 0


def _transitions(config: Config, content: Content) -> tuple[pa.Table, str]:
    """Read the dataset, or play for one."""
    from maestro.preferences.transitions import TransitionWriter, read_transitions

    folder = config.data or runs_root() / "collect-nethack"
    if config.data is not None or folder.is_dir():
        return read_transitions(folder), str(folder)
    from maestro.evaluation.collect import CollectSetup, Target, caption_version, collect, parse_mix

    with tempfile.TemporaryDirectory() as temporary:
        writer = TransitionWriter(
            Path(temporary), world="nethack", caption_version=caption_version("nethack")
        )
        setup = CollectSetup("nethack", parse_mix("reference:0.7,random:0.3"), 0, content.roots)
        collect(setup, writer, Target(steps=_STEPS))
        return read_transitions(Path(temporary)), f"{_STEPS:,} steps played for this"
