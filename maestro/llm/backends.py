"""Find a backend by the name before the colon of its spec."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

import maestro.llm
from maestro.errors import SpecError, UnknownNameError
from maestro.llm.chat import ChatModel
from maestro.specs import parse

DEFAULT_SPEC = "replay"


def load_chat_model(
    spec: str = DEFAULT_SPEC, *, record: Path | None = None, author: str = "", **settings: Any
) -> ChatModel:
    """Open the model that `spec` names; `settings` are fields of the backend's `Settings`.

    With `record`, every reply is also kept in that folder, ready for `replay:<folder>`; `author` is who is written
    down as their author, by default the model. Raises UnknownNameError for a backend that does not exist, SpecError
    for a malformed spec or setting, DependencyError where a package is missing. No server is contacted yet.
    """
    name, _, rest = spec.strip().partition(":")
    found = _backends()
    if name not in found:
        raise UnknownNameError("language model backend", name, found, where=f"model spec {spec!r}")
    module = found[name]
    model: ChatModel = module.open_model(rest, parse(settings, module.Settings, where=f"settings of {name}"))
    if record is None:
        return model
    from maestro.llm.recording import RecordingModel  # only recorders need it

    return RecordingModel(model, record, author=author)


def backend_names() -> list[str]:
    """List what may stand before the colon of a spec, alphabetically."""
    return sorted(_backends())


def _backends() -> dict[str, ModuleType]:
    """Import the room's modules (none imports its heavy package before it is used) and keep the backends."""
    found: dict[str, ModuleType] = {}
    for entry in pkgutil.iter_modules(maestro.llm.__path__):
        if entry.name.startswith("_"):
            continue
        module = importlib.import_module(f"maestro.llm.{entry.name}")
        name = getattr(module, "NAME", None)
        if name is None:
            continue
        if name in found:
            raise SpecError(
                f"two backends are called {name!r}",
                where=f"{found[name].__file__} and {module.__file__}",
                hint="change the NAME of one",
            )
        found[name] = module
    return found
