"""Pairs: the same for the same seed, never of a row with itself, and rare strata as often as common ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from maestro.errors import DatasetError
from maestro.preferences.pairs import Pair, Preference, make_pairs


def table(strata: list[str], skills: list[str] | None = None) -> pa.Table:
    return pa.table({"stratum": strata, "skill": skills or ["descender"] * len(strata)})


MANY = table(["quiet"] * 990 + ["sale"] * 10)


def test_the_same_request_gives_the_same_pairs():
    one, same, other = (make_pairs(MANY, "merchant", 9000, seed).array() for seed in (1, 1, 2))
    assert one.shape == (9000, 2)
    assert (one == same).all()
    assert (one != other).any()


def test_more_pairs_begin_with_the_fewer():
    assert (
        make_pairs(MANY, "merchant", 9000).array()[:5000] == make_pairs(MANY, "merchant", 5000).array()
    ).all()


def test_no_row_meets_itself():
    for size in (2, 3, 1000):
        pairs = make_pairs(table(["a"] + ["b"] * (size - 1)), "x", 5000).array()
        assert (pairs[:, 0] != pairs[:, 1]).all()
        assert 0 <= pairs.min() <= pairs.max() < size


def test_rare_events_take_their_share():
    report = make_pairs(MANY, "merchant", 20_000).report()
    assert report["sale"]["rows"] == 10
    assert 0.23 < report["sale"]["drawn"] / 40_000 < 0.28  # a quarter evenly, and a hundredth of the rest
    assert report["sale"]["drawn"] + report["quiet"]["drawn"] == 40_000
    assert report["sale"]["mixed"] == report["quiet"]["mixed"] > 5_000


def test_the_skills_own_play_takes_half():
    own = table(["quiet"] * 1000, ["descender"] * 900 + ["merchant"] * 100)
    pairs = make_pairs(own, "merchant", 20_000).array()
    assert 0.52 < (pairs >= 900).mean() < 0.58


def test_a_skill_that_never_ran_is_paired_over_all():
    pairs = make_pairs(MANY, "worshipper", 5000).array()
    assert len(np.unique(pairs)) > 900


def test_iteration_and_blocks_agree():
    pairing = make_pairs(MANY, "merchant", 5000)
    assert list(pairing)[4999] == Pair(*pairing.array()[4999])
    assert len(pairing) == sum(len(block) for block in pairing.blocks()) == 5000


@pytest.mark.parametrize("size", [0, 1])
def test_fewer_than_two_rows_make_no_pair(size):
    with pytest.raises(DatasetError, match=f"the dataset has {size} transitions"):
        make_pairs(table(["quiet"] * size), "x", 10)


def test_preferences_have_motifs_codes_and_swap():
    assert [preference.value for preference in Preference] == [0, 1, 2, 3]
    assert Preference.FIRST.swapped is Preference.SECOND
    assert [p.swapped.swapped for p in Preference] == list(Preference)
    assert Preference.UNPARSED.swapped is Preference.UNPARSED
