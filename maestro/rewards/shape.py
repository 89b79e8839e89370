"""From a reward model's number to the reward a skill is paid: threshold, and discount for what was seen before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable


class CaptionCounter:
    """Counts how often an episode has shown each caption, remembering the last `memory` distinct ones.

    Source: MaestroMotif keeps the 20 captions used most recently; Motif remembers the whole episode (`memory` None).
    """

    def __init__(self, memory: int | None) -> None:
        self._memory = memory
        self._counts: OrderedDict[Hashable, int] = OrderedDict()

    def count(self, caption: Hashable) -> int:
        """Count one more sight of `caption` and return how many there have been, from 1."""
        count = self._counts.pop(caption, 0) + 1
        self._counts[caption] = count
        if self._memory is not None and len(self._counts) > self._memory:
            self._counts.popitem(last=False)
        return count

    def clear(self) -> None:
        """Forget everything: a new episode begins."""
        self._counts.clear()


def shaped_reward(reward: float, threshold: float, count: int, exponent: float) -> float:
    """Return `reward / count**exponent` where `reward` reaches the threshold, else 0.

    `reward` is normalised; `count` is how often the episode has shown the caption, this time included. Only rewards above
    zero can be paid when the threshold is above zero; a threshold of minus infinity pays everything.
    Source: the reward of Motif and MaestroMotif, 1[r >= eps] * r / N^beta.
    """
    if reward < threshold:
        return 0.0
    return reward / count**exponent
