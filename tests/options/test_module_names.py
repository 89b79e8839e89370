"""Names that lead into the interpreter are refused in what was compiled, whatever a provenance says."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.errors import GeneratedCodeError
from maestro.options.load import VALIDATOR_VERSION
from maestro.options.module import load_module
from maestro.options.provenance import sign

CLASS = "class Policy:\n    def select_skill(self, state, finished, startable):\n        LINE\n        return 'digger'\n"


def load(folder: Path, source: str) -> None:
    """Load a policy that was signed without being validated."""
    (folder / "policy.py").write_text(source)
    sign(folder, author="a forger", state_version=1, validator_version=VALIDATOR_VERSION, skills=())
    load_module(folder / "policy.py", state_version=1, validator_version=VALIDATOR_VERSION)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("x = finished.gi_frame", "gi_frame"),
        ("x = finished.f_back.f_builtins", "f_back"),
        ("x = list(map(lambda y: [z.tb_frame for z in y], startable))", "tb_frame"),
        ("x = finished.cr_frame", "cr_frame"),
        ("x = finished.ag_code", "ag_code"),
        ("x = finished.co_consts", "co_consts"),
        ("x = finished.func_globals", "func_globals"),
        ("x = int.mro()", "mro"),
        ("x = '{0.gi_frame}'.format(startable)", "format"),
        ("x = finished.__class__", "__class__"),
        ("x = __import__('os')", "__import__"),
        ("x = (lambda __self: __self)(1)", "_Policy__self"),
        ("finished.f_trace = 1", "f_trace"),
        ("def f(tb_next): pass", "tb_next"),
        ("match finished:\n            case object(gi_frame=y): return y", "case"),
    ],
)
def test_a_forged_provenance_does_not_help(tmp_path: Path, line: str, name: str):
    source = CLASS.replace("LINE", line)
    if name.startswith("_Policy"):
        load(tmp_path, source)  # mangled: no attribute of the interpreter is called so
        return
    with pytest.raises(GeneratedCodeError, match="leads into the interpreter") as caught:
        load(tmp_path, source)
    assert repr(name) in caught.value.what
    assert str(caught.value.where).startswith(f"{tmp_path / 'policy.py'}:")


@pytest.mark.parametrize("top", ["def __getattr__(self, name): return 1", "__slots__ = ()", "gi_frame = 0"])
def test_no_member_is_called_so(tmp_path: Path, top: str):
    with pytest.raises(GeneratedCodeError, match="leads into the interpreter"):
        load(tmp_path, CLASS.replace("    def select", f"    {top}\n    def select"))


def test_what_classes_and_annotations_compile_to_is_let_through(tmp_path: Path):
    source = (
        '"""Words."""\n\nimport math\n\nLIMITS: dict[str, int] = {"f_back": 1, "__class__": 2}\n\n\nclass Policy:\n'
        '    """Words."""\n\n    depth: int = 1\n\n    def __init__(self) -> None:\n        self._x: int = 1\n\n'
        "    def select_skill(self, state, finished, startable):\n"
        "        return max(startable, key=lambda each: [each for y in (self._x, math.pi)])\n"
    )
    load(tmp_path, source)
