"""The layers, each by itself: that the probes try what they say, and what the filters consist of."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import codegen
from codegen.sandbox import active_layers, layers, probes
from codegen.sandbox.inside import names, seccomp
from codegen.sandbox.process import INSIDE_LAYERS


def test_every_layer_is_reported_with_what_it_does_or_why_it_does_not_hold():
    found = {layer.name: layer for layer in layers()}
    assert set(found) == {"process-group", *INSIDE_LAYERS, "bubblewrap"}
    assert all(layer.detail for layer in found.values())
    assert found["limits"].active
    assert found["process-group"].active
    assert set(active_layers()) == {name for name, layer in found.items() if layer.active}


def test_layers_are_tried_once(monkeypatch):
    first = layers()
    monkeypatch.setattr(probes, "_probe", lambda *given: pytest.fail("tried again"))
    assert layers() is first


@pytest.mark.parametrize("name", [name for name in INSIDE_LAYERS if name != "privileges"])
def test_a_probe_notices_a_layer_that_is_not_there(name, monkeypatch):
    """Let the process claim the layer without applying it: the probe must not believe it."""
    real = probes.open_session
    monkeypatch.setattr(
        probes, "open_session",
        lambda source, contract, **given: real(source, contract, **{**given, "layers": (), "required": ()}),
    )  # fmt: skip
    layer = probes._probe(name, 9)  # the discard port, closed everywhere: refused, as without a network
    if name == "network":
        return  # nothing listens there, so that this probe alone cannot tell; the hostile kit has a listener
    assert not layer.active
    assert layer.detail == "it holds on paper only"


def test_the_network_probe_notices_a_network(monkeypatch):
    import socket

    real = probes.open_session
    monkeypatch.setattr(
        probes, "open_session",
        lambda source, contract, **given: real(source, contract, **{**given, "layers": (), "required": ()}),
    )  # fmt: skip
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        assert not probes._probe("network", listener.getsockname()[1]).active


def test_bubblewrap_is_not_needed(monkeypatch):
    monkeypatch.setattr(probes.shutil, "which", lambda name: None)
    assert probes._probe_bubblewrap().detail == "not installed; not needed"
    monkeypatch.setattr(probes.shutil, "which", lambda name: "/bin/false")
    assert not probes._probe_bubblewrap().active


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_allows_its_list_and_refuses_the_rest(machine):
    audit, calls = seccomp._CALLS[machine]
    code = seccomp.program(machine)
    assert {number for number in range(600) if _run_filter(code, audit, number) == 0x7FFF0000} == set(calls)
    assert _run_filter(code, audit, 0x40000000 + calls[0]) == 0x00050001
    assert _run_filter(code, audit ^ 1, calls[0]) == 0x80000000


def test_unknown_machines_have_no_filter():
    with pytest.raises(KeyError):
        seccomp.program("vax")


def _run_filter(code: bytes, audit: int, number: int) -> int:
    """Interpret the few instructions a filter uses, as the kernel does."""
    steps = [struct.unpack_from("HBBI", code, at) for at in range(0, len(code), 8)]
    at, loaded = 0, 0
    while True:
        operation, jump, other, value = steps[at]
        if operation == 0x06:
            return value
        if operation == 0x20:
            loaded = {0: number, 4: audit}[value]
        elif operation == 0x15:
            at += jump if loaded == value else other
        at += 1


def test_states_of_the_inside_take_their_types():
    made = names.state_class("State", [("a", "int", 3), ("b", "frozenset[str]", None), ("c", "tuple[int, ...]", None), ("d", "int | None", None)])  # fmt: skip
    state = made(b=["x"], c=[1, 2])
    assert (state.a, state.b, state.c, state.d) == (3, frozenset({"x"}), (1, 2), None)
    assert repr(made()) == "State(a=3, b=frozenset(), c=(), d=None)"
    with pytest.raises(AttributeError):
        state.a = 4
    with pytest.raises(AttributeError):
        del state.a
    with pytest.raises(TypeError, match="Fields: a, b, c, d"):
        made(e=1)


def test_works_for_a_user_without_privileges(tmp_path):
    """Root becomes another user, for whom the package is copied to where it may be read."""
    shutil.copytree(
        Path(codegen.__file__).parent, tmp_path / "codegen", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.is_relative_to(tempfile.gettempdir()) and str(folder) != tempfile.gettempdir():
            folder.chmod(0o755)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from codegen.sandbox import layers\nprint([layer.name for layer in layers() if layer.active])"
    )
    done = subprocess.run([*_another_user(), "-c", code], capture_output=True, text=True, cwd="/", check=True)
    assert {"limits", "privileges", "process-group"} <= set(eval(done.stdout)), done.stdout


def _another_user() -> list[str]:
    """Give the beginning of a command line that runs Python without privileges: some interpreters are root's alone."""
    if os.geteuid() != 0:
        return [sys.executable]
    drop = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        start = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', '']))"
        check = [*drop, python, "-c", start]
        if subprocess.run(check, capture_output=True, check=False).returncode == 0:
            return [*drop, python]
    return [sys.executable]  # as root once more: this machine has no Python for others


_UID_OF_A_SESSION = """
import sys; sys.path.insert(0, {folder!r})
from pathlib import Path
from codegen.sandbox.outcome import Call
from codegen.sandbox.probes import _CONTRACT
from codegen.sandbox.process import open_session

source = "def probe():\\n    return 1\\n"
with open_session(source, _CONTRACT, layers=("network", "privileges"), required=(), restricted=False) as session:
    assert session.ask(Call("probe")).value == 1
    lines = Path(f"/proc/{{session._process.pid}}/status").read_text().splitlines()
    print([int(number) for line in lines if line.startswith(("Uid:", "Gid:")) for number in line.split()[1:]])
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
@pytest.mark.parametrize("taken", [[], ["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]])
def test_root_is_given_up_even_where_it_may_make_no_namespace(taken):
    """Seen from outside: a namespace of its own would let the process itself believe that it is nobody."""
    code = _UID_OF_A_SESSION.format(folder=str(Path(codegen.__file__).parent.parent))
    line = ["setpriv", "--reuid", "0", *taken, sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert eval(done.stdout) == [65534] * 8
