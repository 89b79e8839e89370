"""The process that runs foreign code: reads a setup, gives up its rights, then answers one line for every line.

Lines are JSON. The first pipe brings requests, the second takes answers; both are moved away from the numbers 0 and 1
that programs read and print on. Whatever else is written goes to standard error, which the parent cuts off.
"""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any

from codegen.sandbox.inside import lockdown, names

_ANNOTATIONS_AS_TEXT = 0x1000000
"""`__future__.annotations.compiler_flag`, without the import."""
_FILES: dict[str, list[str]] = {"<module>": [], "<test>": []}
_MAX_TEXT = 2000


def main() -> None:
    """Serve one module until the requests end."""
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    lines = _lines(requests)
    setup = json.loads(next(lines))
    layers = lockdown.lock_down(setup["layers"], setup["limits"])
    _answer(answers, {"layers": layers})
    served = _Module(setup)
    _answer(answers, served.load())
    for line in lines:
        _answer(answers, served.serve(json.loads(line)))
    os._exit(0)  # without running what the module may have registered for the end


def _lines(descriptor: int) -> Any:
    """Read lines from a pipe without a file object, which foreign code could find and use."""
    rest = b""
    while True:
        head, found, rest = rest.partition(b"\n")
        if found:
            yield head
            continue
        block = os.read(descriptor, 65536)
        if not block:
            return
        rest = head + block


def _answer(descriptor: int, answer: dict[str, Any]) -> None:
    data = json.dumps(answer).encode("ascii") + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


class _Module:
    """One foreign module with its class's current instance."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.setup = setup
        self.globals: dict[str, Any] = {}
        self.instance: Any = None
        self.state = names.state_class(setup["state_name"], [tuple(each) for each in setup["fields"]])

    def load(self) -> dict[str, Any]:
        """Execute the module."""
        setup = self.setup
        random.seed(setup["seed"])
        if setup["restricted"]:
            self.globals = names.restricted_names(setup["builtins"], setup["imports"], str(setup["seed"]))
        else:
            self.globals = {"__name__": "generated"}
        return self._guarded(lambda: self._execute("<module>", setup["source"], self.globals))

    def serve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        if request["do"] == "new":
            return self._guarded(self._new)
        if request["do"] == "test":
            return self._test(request["source"])
        arguments = [self._argument(each) for each in request["arguments"]]
        name = request["name"]

        def call() -> Any:
            found = getattr(self.instance, name) if self.setup["class_name"] else self.globals[name]
            return found(*arguments)

        return self._guarded(call)

    def _new(self) -> None:
        self.instance = self.globals[self.setup["class_name"]]()

    def _argument(self, value: Any) -> Any:
        if isinstance(value, dict) and "state" in value:
            return self.state(**value["state"])
        if isinstance(value, dict):
            return frozenset(value["set"])
        return value

    def _execute(self, file: str, source: str, scope: dict[str, Any]) -> None:
        _FILES[file] = source.split("\n")
        exec(compile(source, file, "exec", flags=_ANNOTATIONS_AS_TEXT, dont_inherit=True), scope)

    def _test(self, source: str) -> dict[str, Any]:
        """Run every function whose name begins with `test`, in order, and keep what they print."""
        printed = _Printed()
        scope = {**self.globals, self.setup["state_name"]: self.state, "print": printed}
        before = set(scope)
        loaded = self._guarded(lambda: self._execute("<test>", source, scope))
        failures = [["", loaded["error"]]] if "error" in loaded else []
        tests = [name for name in scope if name.startswith("test") and name not in before]
        for name in tests:
            answer = self._guarded(scope[name])
            if "error" in answer:
                failures.append([name, answer["error"]])
        return {"tests": tests, "failures": failures, "printed": printed.text()}

    def _guarded(self, call: Any) -> dict[str, Any]:
        """Call, and answer with the value, or with the error and the line of foreign code it came from."""
        start = time.perf_counter()
        try:
            answer: dict[str, Any] = _plain(call())
        except BaseException as error:  # noqa: BLE001 - foreign code may raise anything, SystemExit included
            answer = {"error": _describe(error)}
        answer["seconds"] = time.perf_counter() - start
        return answer


class _Printed:
    """The `print` of tests: keeps the first and the last of what is printed."""

    def __init__(self) -> None:
        self.head: list[str] = []
        self.tail: list[str] = []
        self.size = 0

    def __call__(self, *values: Any, sep: str = " ", end: str = "\n", **_: Any) -> None:
        text = (sep.join(str(each) for each in values) + end)[:_MAX_TEXT]
        self.size += len(text)
        if self.size <= 8000:
            self.head.append(text)
        else:
            self.tail = [*self.tail[-40:], text]

    def text(self) -> str:
        """Give what was printed; where much is missing in the middle it says so."""
        if not self.tail:
            return "".join(self.head)
        return "".join([*self.head, "... (left out) ...\n", *self.tail])


def _plain(value: Any, depth: int = 4) -> dict[str, Any]:
    """Wrap what JSON can carry as a value; name the type of everything else without touching it."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return {"value": value[:_MAX_TEXT] if isinstance(value, str) else value}
    if kind is int and -(2**63) <= value < 2**63:
        return {"value": value}
    if kind is float and value - value == 0:
        return {"value": value}
    if kind in (list, tuple) and depth and len(value) <= 1000:
        parts = [_plain(each, depth - 1) for each in value]
        if all("value" in part for part in parts):
            return {"value": [part["value"] for part in parts]}
    return {"other": str(type.__getattribute__(kind, "__name__"))[:100]}


def _describe(error: BaseException) -> dict[str, Any]:
    """Say what was raised and where in the foreign code, as far as it lets itself be asked."""
    line, function, text = 0, "", ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename in _FILES:
            line, function = trace.tb_lineno, code.co_name
            lines = _FILES[code.co_filename]
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and line == 0:
        line, text = error.lineno or 0, (error.text or "").strip()
    try:
        message = str(error)[:_MAX_TEXT]
    except BaseException:  # noqa: BLE001 - its __str__ is foreign code too
        message = ""
    kind = str(type.__getattribute__(type(error), "__name__"))[:100]
    memory = isinstance(error, MemoryError)
    return {
        "type": kind,
        "message": message,
        "line": line,
        "function": function,
        "text": text[:300],
        "memory": memory,
    }
