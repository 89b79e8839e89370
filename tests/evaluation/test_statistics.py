"""Intervals: against published values, against the equation they solve, and against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.evaluation.statistics import (
    Estimate,
    bootstrap_mean,
    clustered_rate,
    crossed_mean,
    estimate,
    shares,
    wilson,
)

Z = 1.959963984540054


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [  # Source: R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_wilson_gives_known_values(successes: int, trials: int, low: float, high: float):
    found = wilson(successes, trials)
    assert found.mean == successes / trials
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_bounds_are_where_the_score_test_just_accepts(case: tuple[int, int]):
    successes, trials = case
    found = wilson(successes, trials)
    assert 0.0 <= found.low <= found.mean <= found.high <= 1.0
    for bound in (found.low, found.high):
        if 0.0 < bound < 1.0:
            score = abs(found.mean - bound) / math.sqrt(bound * (1 - bound) / trials)
            assert score == pytest.approx(Z, rel=1e-6)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_what_is_no_rate(successes: int, trials: int):
    with pytest.raises(ValueError, match="no rate"):
        wilson(successes, trials)


def test_wilson_covers_the_truth_about_as_often_as_it_says():
    generator, truth, trials = np.random.default_rng(0), 0.072, 200
    covered = 0
    for successes in generator.binomial(trials, truth, 2000):
        found = wilson(int(successes), trials)
        covered += found.low <= truth <= found.high
    assert 0.93 < covered / 2000 < 0.97


def test_the_bootstrap_agrees_with_all_resamples_there_are():
    values = [0.0, 1.0, 1.0, 4.0, 9.0]
    every = [float(np.mean(sample)) for sample in itertools.product(values, repeat=len(values))]
    low, high = np.quantile(every, (0.025, 0.975))
    found = bootstrap_mean(values, seed=3, num_resamples=200_000)
    assert found.mean == 3.0
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)


def test_the_bootstrap_of_many_values_is_close_to_the_normal_interval():
    values = np.random.default_rng(1).poisson(1.6, 5000).astype(float).tolist()
    found = bootstrap_mean(values, seed=0)
    half = Z * float(np.std(values)) / math.sqrt(len(values))
    assert found.low == pytest.approx(found.mean - half, abs=0.15 * half)
    assert found.high == pytest.approx(found.mean + half, abs=0.15 * half)


def test_the_bootstrap_repeats_itself_and_only_for_the_same_seed():
    values = [0.31, 2.97, 5.01, 3.3, 7.77, 1.23]
    assert bootstrap_mean(values, 7) == bootstrap_mean(values, 7)
    assert bootstrap_mean(values, 7) != bootstrap_mean(values, 8)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_the_bootstrap_stays_within_the_values(values: list[float]):
    found = bootstrap_mean(values, 0, num_resamples=200)
    slack = 1e-9
    assert min(values) - slack <= found.low <= found.high <= max(values) + slack


def test_the_bootstrap_of_one_value_has_no_width():
    assert bootstrap_mean([4.0], 0) == Estimate(4.0, 4.0, 4.0)


def test_the_bootstrap_refuses_no_values():
    with pytest.raises(ValueError, match="no values"):
        bootstrap_mean([], 0)


def test_the_kind_chooses_the_interval():
    assert estimate([1, 0, 0, 0], "rate") == wilson(1, 4)
    assert estimate([2, 0, 1, 0], "count") == bootstrap_mean([2, 0, 1, 0], 0)


def test_an_estimate_has_the_keys_that_json_promises():
    assert Estimate(0.5, 0.25, 0.75).to_dict() == {"mean": 0.5, "interval": [0.25, 0.75]}


def test_shares_add_up_to_one_unless_there_is_nothing():
    assert shares({"a": 3.0, "b": 1.0}) == {"a": 0.75, "b": 0.25}
    assert shares({"a": 0.0, "b": 0.0}) == {"a": 0.0, "b": 0.0}


def numbered(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def test_groups_weigh_alike_and_their_differences_widen_the_interval():
    alike = crossed_mean([numbered(*[0.0, 1.0] * 50), numbered(*[1.0, 0.0, 0.0, 1.0] * 25)], "count")
    apart = crossed_mean([numbered(*[0.0] * 90, *[1.0] * 10), numbered(*[1.0] * 90, *[0.0] * 10)], "count")
    assert alike.mean == apart.mean == pytest.approx(0.5)
    assert apart.high - apart.low > 3 * (alike.high - alike.low)
    with pytest.raises(ValueError, match="no values"):
        crossed_mean([{0: 1.0}, {1: 1.0}], "count")
    with pytest.raises(ValueError, match="no values"):
        crossed_mean([], "count")


def test_the_same_games_under_several_policies_count_once():
    values = numbered(*[0.0, 1.0] * 100)
    one, three = crossed_mean([values], "rate"), crossed_mean([values] * 3, "rate")
    assert three.high - three.low == pytest.approx(one.high - one.low, rel=0.05)
    assert one.high - 0.5 == pytest.approx(1.96 * 0.5 / 200**0.5, rel=0.1)


def test_a_rate_that_never_varies_is_not_certain():
    assert crossed_mean([numbered(*[0.0] * 200)] * 3, "rate") == wilson(0, 200)
    assert crossed_mean([numbered(*[1.0] * 200)] * 3, "rate") == wilson(200, 200)
    assert crossed_mean([numbered(2.0, 2.0)], "count") == (2.0, 2.0, 2.0)


def test_only_episodes_of_all_groups_count():
    assert crossed_mean([{0: 1.0, 1: 3.0, 7: 100.0}, {0: 1.0, 1: 3.0}], "count").mean == 2.0


def test_a_rate_of_clusters_of_one_is_about_wilsons():
    outcomes = [1] * 81 + [0] * 182
    found, expected = clustered_rate(outcomes, [1] * 263, seed=0), wilson(81, 263)
    assert found.mean == expected.mean
    assert found.low == pytest.approx(expected.low, abs=0.01)
    assert found.high == pytest.approx(expected.high, abs=0.01)


def test_trials_that_agree_within_their_cluster_count_as_one():
    single = clustered_rate([1] * 30 + [0] * 30, [1] * 60, seed=0)
    copied = clustered_rate([9] * 30 + [0] * 30, [9] * 60, seed=0)
    assert copied == single


def test_equal_outcomes_leave_doubt_and_empty_clusters_none():
    assert clustered_rate([0, 0, 0], [50, 0, 3], seed=0) == wilson(0, 2)
    assert clustered_rate([4, 6, 0], [4, 6, 0], seed=0) == wilson(2, 2)
    with pytest.raises(ValueError, match="no trials"):
        clustered_rate([0], [0], seed=0)


def test_clusters_weigh_by_their_trials():
    assert clustered_rate([1, 0], [1, 3], seed=0).mean == 0.25
