"""Language models to talk to: `load_chat_model(spec)` gives one, whichever backend serves it.

| spec | served by |
|---|---|
| `replay`, `replay:<folder>` | replies recorded in files; the default, offline |
| `openai:<model>@<url>[,<url>...]` | any OpenAI-compatible server, above all `vllm serve` |
| `hf:<model>[@<provider>]` | Hugging Face inference providers |
| `vllm:<model>` | vLLM in this process, where it is installed |

A backend is one module here that publishes `NAME` (what stands before the colon), `Settings` and
`open_model(rest, settings)`; it is found by that name, and no list has to be edited.
"""

from __future__ import annotations

from maestro.llm.backends import backend_names, load_chat_model
from maestro.llm.chat import ChatModel
from maestro.llm.messages import Reply, ReplyFailed, Request, Sampling, Usage

__all__ = [
    "ChatModel",
    "Reply",
    "ReplyFailed",
    "Request",
    "Sampling",
    "Usage",
    "backend_names",
    "load_chat_model",
]
