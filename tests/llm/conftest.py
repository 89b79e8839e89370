"""What the tests of the language models share: a server that misbehaves on demand, and no keys around."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from maestro.llm import ChatModel, load_chat_model
from maestro.llm.secrets import VARIABLES

FAST = {"timeout_s": 5.0, "total_s": 20.0, "backoff_s": 0.01, "max_backoff_s": 0.05}
"""Settings under which a test of retries takes no time."""


def load_beside(name: str) -> ModuleType:
    """Import a file of this folder that is no test; there is no package here to import it from."""
    module_name = f"maestro_tests_llm_{name}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        spec.loader.exec_module(module)
    return sys.modules[module_name]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "MAESTRO_REPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake() -> Any:
    """The module fake_server: `fake.answer("yes")`, `fake.stall`, ..."""
    return load_beside("fake_server")


@pytest.fixture
def serve(fake: Any) -> Iterator[Callable[..., Any]]:
    """Start fake servers that end with the test: `server = serve([behaviour, ...])`."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(fake.FakeServer(*args, **options))


@pytest.fixture
def open_model() -> Iterator[Callable[..., ChatModel]]:
    """Open models that are closed with the test, with quick retries unless told otherwise."""
    with ExitStack() as stack:

        def opened(spec: str, **settings: Any) -> ChatModel:
            quick = FAST if spec.startswith(("openai:", "hf:")) else {}
            return stack.enter_context(load_chat_model(spec, **{**quick, **settings}))

        yield opened


@pytest.fixture(scope="session")
def vllm_helper() -> Any:
    """The module vllm_server, with vLLM's environment in place (the first time it is installed)."""
    helper = load_beside("vllm_server")
    helper.install()
    return helper


@pytest.fixture(scope="session")
def vllm_server(vllm_helper: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A real vLLM server with a tiny model, shared by all tests that need one."""
    with vllm_helper.running_server(tmp_path_factory.mktemp("tiny-llama")) as server:
        yield server
