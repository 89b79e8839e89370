"""Thresholds and discounts, as the papers define them."""

from __future__ import annotations

import math

import pytest

from maestro.rewards.shape import CaptionCounter, shaped_reward


def test_what_reaches_the_threshold_is_paid_and_discounted():
    assert shaped_reward(1.5, 1.5, 1, 3.0) == 1.5
    assert shaped_reward(1.49, 1.5, 1, 3.0) == 0.0
    assert shaped_reward(2.0, 1.5, 2, 3.0) == pytest.approx(2 / 8)
    assert shaped_reward(-2.0, -math.inf, 1, 3.0) == -2.0


def test_21_captions_push_the_first_out_of_a_memory_of_20():
    counter = CaptionCounter(20)
    assert [counter.count(str(n)) for n in range(21)] == [1] * 21
    assert counter.count("0") == 1
    assert counter.count("20") == 2


def test_seeing_a_caption_again_keeps_it_in_memory():
    counter = CaptionCounter(2)
    for name in ("a", "b", "a", "c"):
        counter.count(name)
    assert counter.count("a") == 3
    assert counter.count("b") == 1


def test_without_a_limit_the_whole_episode_counts():
    counter = CaptionCounter(None)
    for n in range(1000):
        counter.count(str(n))
    assert counter.count("0") == 2
    counter.clear()
    assert counter.count("0") == 1
