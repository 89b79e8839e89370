"""Which names hold states, skills and truth values: a small data flow over a module, run to its fixed point.

It follows assignments, returns, arguments and loops between the module's own functions, names without their order.
That is coarse, and enough: it finds what the interface's names reach, and what it does not find is judged by the
allow-lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from codegen.contract import Contract, words
from codegen.facts import Facts, FunctionFacts, self_attribute, targets

Key = tuple[int, str]
"""A variable: identity of the function it belongs to (0: the module), and its name; attributes as `self.x`."""


@dataclass(eq=False)
class Flow:
    """The result: variables that are states, variables that are skills (or collections of skills), functions by
    what they return, and every text that is used as a skill.
    """

    contract: Contract
    facts: Facts
    states: set[Key] = field(default_factory=set)
    skills: set[Key] = field(default_factory=set)
    skill_functions: set[FunctionFacts] = field(default_factory=set)
    bool_functions: set[FunctionFacts] = field(default_factory=set)
    skill_texts: list[cst.SimpleString] = field(default_factory=list)
    assignments: dict[Key, list[cst.BaseExpression]] = field(default_factory=dict)
    changed: set[Key] = field(default_factory=set)
    """Variables that loops or `+=` give values to, beside `assignments`."""

    def key(self, node: cst.CSTNode) -> Key | None:
        """Give the variable that a name or `self.x` means; None for anything else."""
        if isinstance(node, cst.Name):
            function = self.facts.function_at.get(node)
            local = function is not None and node.value in function.bound
            return (id(function) if local else 0, node.value)
        attribute = self_attribute(node)
        owner = self.facts.class_at.get(node)
        if attribute is None:
            return None
        return (id(owner), f"self.{attribute}")

    def is_state(self, node: cst.CSTNode) -> bool:
        """Tell whether an expression is known to be a state."""
        if isinstance(node, cst.Call):
            return isinstance(node.func, cst.Name) and node.func.value == self.contract.state_name
        key = self.key(node)
        return key is not None and key in self.states


def follow(facts: Facts, contract: Contract) -> Flow:
    """Follow states, skills and truth values through the module."""
    flow = Flow(contract, facts)
    calls, loops, compares = _gather(flow)
    _start(flow)
    while True:
        before = (len(flow.states), len(flow.skills), len(flow.skill_functions), len(flow.bool_functions))
        _follow_states(flow, calls)
        _follow_skills(flow, loops, compares)
        _follow_bools(flow)
        after = (len(flow.states), len(flow.skills), len(flow.skill_functions), len(flow.bool_functions))
        if before == after:
            break
    _collect_texts(flow, compares)
    return flow


def _gather(flow: Flow) -> tuple[list[cst.Call], list[cst.For | cst.CompFor], list[cst.Comparison]]:
    calls: list[cst.Call] = []
    loops: list[cst.For | cst.CompFor] = []
    compares: list[cst.Comparison] = []
    for node in flow.facts.function_at:
        if isinstance(node, cst.Call):
            calls.append(node)
        elif isinstance(node, (cst.For, cst.CompFor)):
            loops.append(node)
            flow.changed |= {key for each in targets(node.target) if (key := flow.key(each)) is not None}
        elif isinstance(node, cst.AugAssign):
            flow.changed |= {key for each in targets(node.target) if (key := flow.key(each)) is not None}
        elif isinstance(node, cst.Comparison):
            compares.append(node)
        elif isinstance(node, cst.Assign):
            for target in node.targets:
                _assign(flow, target.target, node.value)
        elif isinstance(node, (cst.AnnAssign, cst.NamedExpr)) and node.value is not None:
            _assign(flow, node.target, node.value)
    return calls, loops, compares


def _assign(flow: Flow, target: cst.CSTNode, value: cst.BaseExpression) -> None:
    if isinstance(target, cst.Subscript):
        target = target.value
    pairs: list[tuple[cst.CSTNode, cst.BaseExpression]] = [(target, value)]
    if isinstance(target, (cst.Tuple, cst.List)):
        given = list(value.elements) if isinstance(value, (cst.Tuple, cst.List)) else []
        wanted = list(targets(target))
        matching = len(given) == len(wanted)
        pairs = [(each, given[i].value if matching else value) for i, each in enumerate(wanted)]
    for left, right in pairs:
        key = flow.key(left)
        if key is not None:
            flow.assignments.setdefault(key, []).append(right)


def _start(flow: Flow) -> None:
    contract = flow.contract
    for function in flow.facts.functions:
        required = contract.required(function.name) if function.owner == contract.class_name else None
        if required is not None:
            roles = {parameter.name: parameter.role for parameter in required.parameters}
            flow.skills |= {(id(function), n) for n, role in roles.items() if role in ("skill", "skills")}
            if required.returns == "skill":
                flow.skill_functions.add(function)
            elif required.returns == "bool":
                flow.bool_functions.add(function)
        flow.states |= {(id(function), n) for n in function.parameters if n in contract.state_parameters}


def _follow_states(flow: Flow, calls: list[cst.Call]) -> None:
    for key, values in flow.assignments.items():
        if any(flow.is_state(value) for value in values):
            flow.states.add(key)
    for call in calls:
        function = flow.facts.called(call.func, call)
        if function is None:
            continue
        names = function.parameters[1:] if function.owner else function.parameters
        for position, arg in enumerate(call.args):
            name = arg.keyword.value if arg.keyword else names[position] if position < len(names) else None
            if name is None:
                continue
            if flow.is_state(arg.value):
                flow.states.add((id(function), name))
            if flow.key(arg.value) in flow.skills:
                flow.skills.add((id(function), name))


def _follow_skills(flow: Flow, loops: list[cst.For | cst.CompFor], compares: list[cst.Comparison]) -> None:
    for function in list(flow.skill_functions):
        for statement in function.returns:
            if statement.value is not None:
                _mark(flow, statement.value)
    for key, values in flow.assignments.items():
        if key in flow.skills:
            for value in values:
                _mark(flow, value)
        elif any(_is_skill(flow, value) for value in values):
            flow.skills.add(key)
    for loop in loops:
        loop_keys = {flow.key(each) for each in targets(loop.target)} - {None}
        if isinstance(loop.target, cst.Name):
            if loop_keys & flow.skills:
                _mark(flow, loop.iter)
            elif _is_skill(flow, loop.iter):
                flow.skills |= {key for key in loop_keys if key is not None}
    for comparison in compares:
        sides = [comparison.left, *(each.comparator for each in comparison.comparisons)]
        if any(_is_skill(flow, side) for side in sides):
            for side in sides:
                _mark(flow, side)


def _is_skill(flow: Flow, value: cst.CSTNode) -> bool:
    """Tell whether an expression is already known to be a skill or a collection of skills."""
    if flow.key(value) in flow.skills:
        return True
    if isinstance(value, cst.Call):
        return flow.facts.called(value.func, value) in flow.skill_functions
    return False


def _mark(flow: Flow, value: cst.CSTNode) -> None:
    """Take note that `value` is used as a skill: what it is made of are skills as well."""
    for part in skill_parts(value):
        key = flow.key(part)
        if key is not None:
            flow.skills.add(key)
        elif isinstance(part, cst.Call):
            function = flow.facts.called(part.func, part)
            if function is not None:
                flow.skill_functions.add(function)


def skill_parts(value: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """List the texts, names and calls that an expression's value, or the elements of its value, can come from."""
    if isinstance(value, cst.IfExp):
        yield from skill_parts(value.body)
        yield from skill_parts(value.orelse)
    elif isinstance(value, cst.BooleanOperation):
        yield from skill_parts(value.left)
        yield from skill_parts(value.right)
    elif isinstance(value, (cst.Tuple, cst.List, cst.Set)):
        for element in value.elements:
            yield from skill_parts(element.value)
    elif isinstance(value, cst.Dict):
        for entry in value.elements:
            yield from skill_parts(entry.value)
    elif isinstance(value, (cst.ListComp, cst.SetComp, cst.GeneratorExp)):
        yield from skill_parts(value.elt)
    elif isinstance(value, cst.Subscript):
        yield from skill_parts(value.value)
    elif isinstance(value, cst.Call) and _passes_on(value.func):
        taken = isinstance(value.func, cst.Attribute) and value.func.attr.value in ("get", "pop", "popleft")
        for arg in value.args[1:] if taken else value.args:  # the first says only which element
            if arg.keyword is None or arg.keyword.value == "default":
                yield from skill_parts(arg.value)
        if taken and isinstance(value.func, cst.Attribute):
            yield from skill_parts(value.func.value)
    else:
        yield value


_PASSING_BUILTINS = words("max min sorted list tuple set frozenset reversed deque")
_PASSING_MEMBERS = words("choice sample deque get pop popleft")


def _passes_on(function: cst.BaseExpression) -> bool:
    """Tell whether a call gives back what it was given, or elements of it."""
    if isinstance(function, cst.Name):
        return function.value in _PASSING_BUILTINS
    return isinstance(function, cst.Attribute) and function.attr.value in _PASSING_MEMBERS


_TRUTH_CALLS = frozenset({"bool", "any", "all", "isinstance"})
_TRUTH_METHODS = words("startswith endswith isdisjoint issubset issuperset isdigit isalpha isupper islower")


def is_truth(flow: Flow, value: cst.CSTNode, seen: frozenset[Key] = frozenset()) -> bool:
    """Tell whether an expression can be seen to be True or False, and not merely something true or false."""
    if isinstance(value, cst.Comparison):
        return True
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    if isinstance(value, cst.BooleanOperation):
        return is_truth(flow, value.left, seen) and is_truth(flow, value.right, seen)
    if isinstance(value, cst.IfExp):
        return is_truth(flow, value.body, seen) and is_truth(flow, value.orelse, seen)
    if isinstance(value, cst.Name) and value.value in ("True", "False"):
        return True
    if isinstance(value, cst.Call):
        if isinstance(value.func, cst.Name) and value.func.value in _TRUTH_CALLS:
            return True
        if isinstance(value.func, cst.Attribute) and value.func.attr.value in _TRUTH_METHODS:
            return True
        return flow.facts.called(value.func, value) in flow.bool_functions
    if isinstance(value, cst.Attribute) and flow.is_state(value.value):
        return any(f.name == value.attr.value and f.type == "bool" for f in flow.contract.state_fields)
    key = flow.key(value)
    if key is None or key in seen or key not in flow.assignments:
        return False
    return all(is_truth(flow, each, seen | {key}) for each in flow.assignments[key])


def _follow_bools(flow: Flow) -> None:
    """Let what a predicate returns from a helper make that helper a predicate too."""
    for function in list(flow.bool_functions):
        for statement in function.returns:
            for part in _truth_parts(statement.value):
                helper = flow.facts.called(part.func, part) if isinstance(part, cst.Call) else None
                if helper is not None:
                    flow.bool_functions.add(helper)


def _truth_parts(value: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    if isinstance(value, cst.BooleanOperation):
        yield from _truth_parts(value.left)
        yield from _truth_parts(value.right)
    elif isinstance(value, cst.IfExp):
        yield from _truth_parts(value.body)
        yield from _truth_parts(value.orelse)
    elif value is not None:
        yield value


def _collect_texts(flow: Flow, compares: list[cst.Comparison]) -> None:
    """List every literal text that reaches a skill: returned, assigned, looped over, compared, passed."""
    sources: list[cst.CSTNode] = [
        statement.value
        for function in flow.skill_functions
        for statement in function.returns
        if statement.value
    ]
    sources += [value for key, values in flow.assignments.items() if key in flow.skills for value in values]
    for comparison in compares:
        sides = [comparison.left, *(each.comparator for each in comparison.comparisons)]
        if any(_is_skill(flow, side) for side in sides):
            sources += sides
    for node in flow.facts.function_at:
        if isinstance(node, (cst.For, cst.CompFor)) and flow.key(node.target) in flow.skills:
            sources.append(node.iter)
        elif isinstance(node, cst.Call):
            sources += _skill_arguments(flow, node)
    seen: set[int] = set()
    for source in sources:
        for part in skill_parts(source):
            if isinstance(part, cst.SimpleString) and id(part) not in seen:
                seen.add(id(part))
                flow.skill_texts.append(part)


def _skill_arguments(flow: Flow, call: cst.Call) -> list[cst.CSTNode]:
    function = flow.facts.called(call.func, call)
    if function is None:
        return []
    names = function.parameters[1:] if function.owner else function.parameters
    return [
        arg.value
        for position, arg in enumerate(call.args)
        if (
            id(function),
            arg.keyword.value if arg.keyword else names[position] if position < len(names) else "",
        )
        in flow.skills
    ]
