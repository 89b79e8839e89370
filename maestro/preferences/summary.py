"""Put the two orders of each pair together, and say how good the answers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from maestro.preferences.pairs import Preference
from maestro.preferences.questions import Asked, Plan
from maestro.preferences.rules import RuleScorer
from maestro.preferences.store import JudgementStore, Verdict
from maestro.preferences.verdicts import NOT_ASKED

_EXAMPLES = 3


class Combined(NamedTuple):
    """One pair's verdict, as seen from the pair's own order."""

    preference: Preference
    p_first: float | None
    """None where unparsed."""
    forward: int
    backward: int


def combine(forward: Verdict | None, backward: Verdict | None, *, both: bool) -> Combined:
    """Make one verdict of two answers: what one order says and the other does not is a tie, of probability 0.5.

    Otherwise the probability is the mean of both answers', a verdict without probabilities counting as certain. An answer
    that is missing or UNPARSED leaves the pair UNPARSED. `both` says whether a second answer was asked for.
    """
    one = Preference.UNPARSED if forward is None else forward.preference
    if not both:
        return Combined(one, _p_first(forward), int(one), NOT_ASKED)
    two = Preference.UNPARSED if backward is None else backward.preference.swapped
    codes = (int(one), int(two))
    if Preference.UNPARSED in codes:
        return Combined(Preference.UNPARSED, None, *codes)
    if one != two:
        # The mean would be what the place of a caption is worth to the model, which says nothing about the pair.
        return Combined(Preference.TIE, 0.5, *codes)
    p_forward, p_backward = _p_first(forward), _p_first(backward)
    assert p_forward is not None
    assert p_backward is not None
    return Combined(one, (p_forward + 1.0 - p_backward) / 2, *codes)


def _p_first(verdict: Verdict | None) -> float | None:
    """Give the probability that the caption shown first is the better one, half of a tie's counting for each."""
    if verdict is None or verdict.preference is Preference.UNPARSED:
        return None
    if verdict.p_first is not None and verdict.p_second is not None:
        return verdict.p_first + (1.0 - verdict.p_first - verdict.p_second) / 2
    return {Preference.FIRST: 1.0, Preference.SECOND: 0.0, Preference.TIE: 0.5}[verdict.preference]


class Summary:
    """Reads a plan's answers from the store: as batches of verdict columns, and, once those were read, as figures."""

    def __init__(self, plan: Plan, store: JudgementStore, scorer: RuleScorer | None) -> None:
        """`scorer` has the skill's preference rules, for comparison; None where there are none."""
        self._plan, self._store, self._scorer = plan, store, scorer
        self._verdicts: Counter[Preference] = Counter()
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[dict[str, Any]]] = {}

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of a verdict file, some thousand pairs at a time."""
        for block in self._plan.blocks():
            keys = [key for asked in block for key in (asked.forward, asked.backward) if key is not None]
            known = self._store.verdicts(keys)
            combined = [self._combine(asked, known) for asked in block]
            yield {
                "first": np.array([asked.first for asked in block], np.int64),
                "second": np.array([asked.second for asked in block], np.int64),
                "preference": np.array([each.preference for each in combined], np.int8),
                "p_first": [each.p_first for each in combined],
                "forward": np.array([each.forward for each in combined], np.int8),
                "backward": np.array([each.backward for each in combined], np.int8),
            }

    def figures(self) -> dict[str, Any]:
        """Give counts and rates; complete once `batches` was read to its end."""
        counts, pairs = self._counts, sum(self._verdicts.values())
        answered = max(counts["parsed"], 1)
        return {
            "pairs": pairs,
            "verdicts": {preference.name.lower(): self._verdicts[preference] for preference in Preference},
            "identical": counts["identical"],
            "unanswered": counts["unanswered"],
            "unparsed_share": round(self._verdicts[Preference.UNPARSED] / max(pairs, 1), 5),
            "tie_share": round(self._verdicts[Preference.TIE] / max(pairs, 1), 5),
            "order_disagreement": round(counts["disagreements"] / answered, 5)
            if self._plan.both_orders
            else None,
            "shown_first_preferred": round(
                counts["shown_first"] / max(counts["shown_first"] + counts["shown_second"], 1), 5
            ),
            "agreement_with_rules": round(counts["as_rules"] / counts["both_decided"], 5)
            if counts["both_decided"]
            else None,
            "compared_with_rules": counts["both_decided"],
            "soft_labels": counts["soft"],
            "examples": self._examples,
        }

    def _combine(self, asked: Asked, known: dict[bytes, Verdict]) -> Combined:
        if asked.forward is None:
            self._counts["identical"] += 1
            self._verdicts[Preference.TIE] += 1
            return Combined(Preference.TIE, 0.5, NOT_ASKED, NOT_ASKED)
        forward = known.get(asked.forward)
        backward = known.get(asked.backward) if asked.backward else None
        result = combine(forward, backward, both=self._plan.both_orders)
        self._verdicts[result.preference] += 1
        self._count(asked, result, forward, backward)
        return result

    def _count(
        self, asked: Asked, result: Combined, forward: Verdict | None, backward: Verdict | None
    ) -> None:
        counts = self._counts
        counts["unanswered"] += forward is None or (self._plan.both_orders and backward is None)
        counts["soft"] += forward is not None and forward.p_first is not None
        for verdict in (forward, backward):
            if verdict is not None:
                counts["shown_first"] += verdict.preference is Preference.FIRST
                counts["shown_second"] += verdict.preference is Preference.SECOND
        if result.preference is Preference.UNPARSED:
            self._show("unparsed", asked, result)
            return
        counts["parsed"] += 1
        if result.backward != NOT_ASKED and result.forward != result.backward:
            counts["disagreements"] += 1
            self._show("order_disagreement", asked, result)
        elif result.preference is Preference.TIE:
            self._show("tie", asked, result)
        self._compare(asked, result)

    def _compare(self, asked: Asked, result: Combined) -> None:
        """Hold a decided verdict against the rules', where these decide too."""
        if self._scorer is None or result.preference is Preference.TIE:
            return
        by_rules = self._scorer.compare(self._plan.shown(asked.first).row, self._plan.shown(asked.second).row)
        if by_rules is Preference.TIE:
            return
        self._counts["both_decided"] += 1
        self._counts["as_rules"] += by_rules is result.preference
        self._show("as_rules" if by_rules is result.preference else "against_rules", asked, result)

    def _show(self, kind: str, asked: Asked, result: Combined) -> None:
        found = self._examples.setdefault(kind, [])
        if len(found) >= _EXAMPLES:
            return
        assert asked.forward is not None
        found.append(
            {
                "first": self._plan.shown(asked.first).caption,
                "second": self._plan.shown(asked.second).caption,
                "verdict": result.preference.name.lower(),
                "forward": result.forward,
                "backward": result.backward,
                "reply": self._store.reply(asked.forward)[:500],
            }
        )
