"""Taking the module and its test out of replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.extract import MAX_REPLY, Extracted, NotExtracted, extract, split_test

TEST = """def make(depth):
    return State(depth=depth)


# goes down
def test_goes_down():
    assert Policy().select_skill(make(1), None, frozenset())
"""


def reply(source: str, *, before: str = "Here it is.", after: str = "Good luck!", fence: str = "```") -> str:
    return f"{before}\n\n{fence}python\n{source}{fence}\n\n{after}\n"


@pytest.fixture
def whole(policy):
    return policy.lstrip("\n") + "\n\n" + TEST


def test_splits_module_and_test(contracts, policy, whole):
    found = extract(reply(whole), contracts["policy"])
    assert found == Extracted(policy.lstrip("\n"), TEST)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("```", "~~~~"),
        lambda text: text.replace("```python", "```Python title=policy.py"),
        lambda text: text.replace("```python", "```"),
        lambda text: text.replace("```python", "````py").replace("\n```\n", "\n````\n"),
        lambda text: "\n".join("   " + line if line else line for line in text.split("\n")),
        lambda text: "<think>\n```python\nclass Policy:\n    pass\n```\n</think>\n" + text,
        lambda text: "It prints\n```text\n1 2 3\n```\n" + text,
        lambda text: "First, a part:\n```python\nx = state.depth\n```\n" + text,
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
    ],
)
def test_shapes_of_replies_that_are_understood(contracts, policy, whole, change):
    found = extract(change(reply(whole)), contracts["policy"])
    assert found == Extracted(policy.lstrip("\n"), TEST)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("x" * (MAX_REPLY + 1), "too-long"),
        ("I cannot do that.", "no-fence"),
        ("class Policy:\n    pass\n", "no-fence"),
        ("```python\nclass Policy:\n    pass\n", "unclosed"),
        ("```javascript\nlet x = 1\n```", "wrong-language"),
        ("```json\n{}\n```", "wrong-language"),
        ("```python\nclass Policy:\n    pass\n```\n```python\nclass Policy:\n    x = 1\n```", "several"),
        ("```python\nx = 1\n```\n```python\ny = 1\n```", "several"),
        ("```python\n\n```", "empty-block"),
        ("<think>```python\nclass Policy:\n    pass\n```</think>Sorry.", "no-fence"),
    ],
)
def test_replies_without_a_module_say_why(contracts, text, reason):
    found = extract(text, contracts["policy"])
    assert isinstance(found, NotExtracted)
    assert found.reason == reason
    assert len(str(found)) > 20


def test_fences_inside_texts_and_longer_fences_belong_to_the_block(contracts):
    source = 'def can_initiate(state):\n    """Say\n    ```text\n    x\n        ```\n    """\n    return state.blind\n'
    assert extract(reply(source), contracts["initiation"]) == Extracted(source, "")
    source = 'X = """\n```\n"""\n\n\ndef can_initiate(state):\n    return state.blind\n'
    assert extract(reply(source, fence="````"), contracts["initiation"]) == Extracted(source, "")


def test_a_block_that_is_no_python_is_all_module(contracts):
    source = "class Policy:\ndef test_a():\n    assert 1\n"
    assert extract(reply(source), contracts["policy"]) == Extracted(source, "")


def test_the_main_block_and_calls_of_tests_are_dropped(contracts, policy, whole):
    more = "\ntest_goes_down()\n\nif __name__ == '__main__':\n    test_goes_down()\n    print('passed')\n"
    assert split_test(whole + more, contracts["policy"]) == Extracted(policy.lstrip("\n"), TEST)


def test_helpers_stay_with_the_module_that_uses_them(contracts):
    source = (
        "def deep(state):\n    return state.depth > 3\n\n\ndef test_a():\n    assert deep(State(depth=4))\n\n\n"
        "def can_initiate(state):\n    return deep(state)\n"
    )
    found = split_test(source, contracts["initiation"])
    assert isinstance(found, Extracted)
    assert "def deep" in found.module_source
    assert "def can_initiate" in found.module_source
    assert found.test_source == "def test_a():\n    assert deep(State(depth=4))\n"


def test_a_test_as_long_as_the_module_counts_by_itself(contracts, policy):
    padding = "".join(f"# {n}\n" for n in range(370))
    found = split_test(padding + policy.lstrip("\n") + "\n\n" + TEST, contracts["policy"])
    assert found.test_source == TEST


@given(st.text(alphabet="`~ \npython\"'#:x\r\t", max_size=200))
def test_any_reply_has_an_outcome(contracts, text):
    assert isinstance(extract(text, contracts["policy"]), (Extracted, NotExtracted))
