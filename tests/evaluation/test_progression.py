"""BALROG's progression: its own example, its ends, and that it never falls."""

from __future__ import annotations

import pytest

from maestro.evaluation.progression import BY_DEPTH, BY_EXPERIENCE_LEVEL, progression


@pytest.mark.parametrize(
    ("depth", "level", "value"),
    [
        (1, 1, 0.0),
        (15, 12, 0.33265),  # the example in the metric's own description: 30 % and 33 % give 33 %
        (10, 1, 0.12559),
        (1, 10, 0.17910),
        (50, 1, 0.80680),
        (1, 30, 0.78046),
        (99, 99, 0.80680),
        (0, 0, 0.0),
    ],
)
def test_known_values(depth: int, level: int, value: float):
    assert progression(depth, level) == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("table", [BY_DEPTH, BY_EXPERIENCE_LEVEL])
def test_more_is_never_worth_less(table: tuple[float, ...]):
    assert list(table) == sorted(table)
    assert 0.0 <= table[0] <= table[-1] < 1.0


def test_the_tables_are_complete():
    assert len(BY_DEPTH) == 50
    assert len(BY_EXPERIENCE_LEVEL) == 30
