"""Progress of counted work: what matters most stays on a narrow terminal, and a log gets lines."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

from maestro.commands import _counter
from maestro.commands._counter import Counter


def shown(width: int, *, terminal: bool) -> list[str]:
    """Run a counter to 60 % and give the lines it drew."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=width, color_system=None)
    with Counter("annotate discoverer (rules)", "questions", 60_000, console) as counter:
        time.sleep(0.12)
        counter.update(0)
        time.sleep(0.12)
        counter.update(36_000, "1,234 pairs/s, 1,234,567 tokens, cost 0.1234")
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    return [line for line in re.split(r"[\r\n]+", text) if line.strip()]


@pytest.mark.parametrize(("width", "done"), [(80, "60 %"), (100, "60 %"), (140, "36,000/60,000")])
def test_how_much_is_done_and_left_fits_any_terminal(width, done):
    last = shown(width, terminal=True)[-1]
    assert len(last) <= width
    assert "annotate discoverer (rules)" in last
    assert done in last
    assert "s left" in last


def test_a_log_gets_lines(monkeypatch):
    monkeypatch.setattr(_counter, "LINE_EVERY_S", 0.1)
    (line,) = [line for line in shown(80, terminal=False) if "36,000" in line]
    assert line.startswith("annotate discoverer (rules): 36,000/60,000 questions, ")
    assert line.endswith("1,234 pairs/s, 1,234,567 tokens, cost 0.1234")
