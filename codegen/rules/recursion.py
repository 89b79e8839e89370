"""Refuse functions that can call themselves, directly or through others."""

from __future__ import annotations

import libcst as cst

from codegen.facts import FunctionFacts
from codegen.rules._rule import Rule


class Recursion(Rule):
    """Find circles among the module's own functions. Naming a function counts as calling it."""

    def visit_Module(self, node: cst.Module) -> None:
        """Draw the graph of who names whom and look for ways back."""
        graph: dict[FunctionFacts, dict[FunctionFacts, cst.CSTNode]] = {
            each: {} for each in self.facts.functions
        }
        for place, function in self.facts.function_at.items():
            if function is None or not isinstance(place, (cst.Name, cst.Attribute)):
                continue
            if isinstance(place, cst.Name) and not self.facts.is_read(place):
                continue
            for called in self._named(place):
                graph[function].setdefault(called, place)
        reported: set[frozenset[FunctionFacts]] = set()
        for function in self.facts.functions:
            circle = _circle(graph, function)
            if circle and frozenset(circle) not in reported:
                reported.add(frozenset(circle))
                self._refuse(graph[circle[0]][circle[1 % len(circle)]], circle)

    def _named(self, place: cst.CSTNode) -> list[FunctionFacts]:
        """List the functions that a name can run: itself, or for a class all its methods."""
        if isinstance(place, cst.Name) and place.value in self.facts.classes:
            return list(self.facts.classes[place.value].methods.values())
        called = self.facts.called(place, place)
        return [called] if called is not None else []

    def _refuse(self, place: cst.CSTNode, circle: list[FunctionFacts]) -> None:
        way = " -> ".join(each.title for each in [*circle, circle[0]])
        self.report(place, f"recursion is not allowed: {way}", "Write a `for` loop.")


def _circle(
    graph: dict[FunctionFacts, dict[FunctionFacts, cst.CSTNode]], start: FunctionFacts
) -> list[FunctionFacts]:
    """Give a shortest way from `start` back to itself; empty where there is none."""
    ways: list[list[FunctionFacts]] = [[start]]
    seen: set[FunctionFacts] = set()
    for way in ways:  # grows while it is looped over: a breadth-first search
        for called in graph[way[-1]]:
            if called is start:
                return way
            if called not in seen:
                seen.add(called)
                ways.append([*way, called])
    return []
