"""Refuse functions whose loops, together with those of the functions they call, run too often."""

from __future__ import annotations

import libcst as cst

from codegen.facts import FunctionFacts
from codegen.rules._loops import loops_around, rounds
from codegen.rules._rule import Rule

MAX_WORK = 1_000_000
"""Rounds of loops in one call of a function. Loops over values of unknown number count as ten."""


class TotalWork(Rule):
    """Multiply loops by the loops of what is called inside them."""

    def visit_Module(self, node: cst.Module) -> None:
        """Measure every function, in an order in which the called come first."""
        calls: dict[FunctionFacts, list[tuple[FunctionFacts, cst.Call]]] = {
            f: [] for f in self.facts.functions
        }
        loops: dict[FunctionFacts, float] = dict.fromkeys(self.facts.functions, 1.0)
        for place, function in self.facts.function_at.items():
            if function is None:
                continue
            if isinstance(place, cst.Call):
                called = self.facts.called(place.func, place)
                if called is not None:
                    calls[function].append((called, place))
            elif isinstance(place, (cst.For, cst.CompFor)):
                loops[function] += rounds([place, *loops_around(place, self.facts)], self.flow)
        known: dict[FunctionFacts, float] = {}
        for function in self.facts.functions:
            work = self._work(function, calls, loops, known, frozenset())
            inner = [known[called] for called, _ in calls[function] if called in known]
            if work > MAX_WORK and all(each <= MAX_WORK for each in inner):
                text = f"{function.title} can run through its loops {int(work)} times, more than {MAX_WORK}"
                self.report(function.node.name, text, "Loop over less, or call fewer functions inside loops.")

    def _work(
        self,
        function: FunctionFacts,
        calls: dict[FunctionFacts, list[tuple[FunctionFacts, cst.Call]]],
        loops: dict[FunctionFacts, float],
        known: dict[FunctionFacts, float],
        above: frozenset[FunctionFacts],
    ) -> float:
        """Add up the rounds of a function's own loops and of its calls. Recursion, another rule's matter, adds none."""
        if function in above:
            return 0.0
        if function not in known:
            work = loops[function]
            for called, place in calls[function]:
                times = rounds(loops_around(place, self.facts), self.flow)
                work += times * self._work(called, calls, loops, known, above | {function})
            known[function] = min(work, 1e15)
        return known[function]
