"""The message of an error, and its way between processes."""

import pickle

import pytest

from maestro import errors
from maestro.errors import MaestroError, SpecError, UnknownNameError, suggestion

CLASSES = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MaestroError)
]


def test_the_parts_are_joined_in_order():
    error = SpecError("the value is 3", where="a.toml: name", expected="text", hint="write text")
    assert str(error) == "a.toml: name: the value is 3. Expected: text. Next: write text."
    assert str(MaestroError("it broke!")) == "it broke!"
    assert error.to_dict() == {
        "error": "SpecError",
        "where": "a.toml: name",
        "what": "the value is 3",
        "expected": "text",
        "hint": "write text",
    }


def test_there_is_a_class_for_every_cause():
    names = {kind.__name__ for kind in CLASSES}
    assert names >= {"ContentError", "SpecError", "PolicyFileError", "RunError", "RecordError", "WorldError"}
    assert all(kind.__doc__ for kind in CLASSES)


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind is not UnknownNameError])
def test_errors_survive_pickling(kind):
    error = kind("what", where="where", expected="expected", hint="hint")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)


def test_an_unknown_name_is_answered_with_the_known_ones():
    error = UnknownNameError("skill", "descend", ["merchant", "descender"])
    assert str(error) == (
        "unknown skill 'descend'. Expected: one of descender, merchant. Next: did you mean 'descender'?"
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.known) == (str(error), ("descender", "merchant"))
    assert str(UnknownNameError("skill", "x", [])) == "unknown skill 'x'. Expected: there is no skill at all."


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Minetwon", "did you mean 'minetown'?"),
        ("delphy", "did you mean 'delphi'?"),
        ("zzz", None),
        ("", None),
    ],
)
def test_suggestions_are_close_or_absent(name, expected):
    assert suggestion(name, ["minetown", "delphi", "gnomish"]) == expected
