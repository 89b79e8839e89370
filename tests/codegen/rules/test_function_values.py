"""Functions and the class where they are kept or handed around."""

from __future__ import annotations

import pytest

RULE = "function-values"

CLASS = "Call its methods with `self.`; the class itself is needed by nothing."
HINT = "Call it, or hand it straight to map, filter or `key=`."
POLICY = """import collections


def helper(x):
    return 0


class Policy:
    def __init__(self):
        self.names = []

    def get(self):
        return 0

    def sort(self, key):
        return key

    def select_skill(self, state, finished, startable):
        LINES
        return "discoverer"
"""

BEFORE_AND_VIOLATIONS = [
    ("x = Policy.get(startable)", f"the class 'Policy' is used as a value. {CLASS}"),
    ("x = defaultdict(Policy)", f"the class 'Policy' is used as a value. {CLASS}"),
    ("x = helper", f"the function 'helper' is used as a value. {HINT}"),
    ("x = list(map(helper, [helper]))", f"the function 'helper' is used as a value. {HINT}"),
    ("x = max([], default=helper)", f"the function 'helper' is used as a value. {HINT}"),
    ("x = [self.get]", f"the method 'get' is used as a value. {HINT}"),
    ("x = helper(self.get)", f"the method 'get' is used as a value. {HINT}"),
    ("x = helper(lambda y: y)", "the lambda is used as a value. Hand it to map, filter or `key=`, or write a function with `def`."),
    ("x = dict(a=lambda y: y)", "the lambda is used as a value. Hand it to map, filter or `key=`, or write a function with `def`."),
    ("x = self.sort(key=lambda y: y)", "the lambda is used as a value. Hand it to map, filter or `key=`, or write a function with `def`."),
    ("x = helper(self)", "`self` is used as a value. Hand over what is needed of it: `self.x`."),
]  # fmt: skip

ACCEPTED = [
    "x = helper(1) + self.get()",
    "x = list(map(helper, self.names))",
    "x = max(self.names, key=helper)",
    "self.names.sort(key=lambda y: -y)",
    "x = collections.defaultdict(lambda: 0)",
    "x = list(filter(lambda y: y > 1, self.names))",
]


@pytest.mark.parametrize(("line", "violation"), BEFORE_AND_VIOLATIONS)
def test_violations(found, line, violation):
    (actual,) = found(POLICY.replace("LINES", line), RULE)
    assert actual.split(": ", 1)[1] == violation


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepts(found, line):
    assert found(POLICY.replace("LINES", line)) == []


def test_the_class_has_no_second_name_and_no_method_lies_in_its_body(found):
    source = POLICY.replace("LINES", "pass")
    assert "the class 'Policy' is used as a value" in str(found(source + "ALIAS = Policy\n", RULE))
    source = source.replace("def helper", "def get").replace("def sort", "TABLE = (get,)\n\n    def sort")
    assert "the method 'get' is used in the body of the class" in str(found(source, RULE))


def test_a_test_makes_a_policy_and_takes_nothing_from_its_class(found_in_test):
    assert found_in_test("def test_a():\n    policy = Policy()\n    assert policy.goal == 4\n") == []
    test = "def test_a():\n    assert Policy.toward(1, 2)\n"
    assert "the class 'Policy' is used as a value" in str(found_in_test(test, RULE))
