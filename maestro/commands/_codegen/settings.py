"""How models are asked for code: `prompts/codegen/settings.toml`, a user's content folder first."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from maestro.content import Content
from maestro.specs import load_toml

FILE = Path("codegen", "settings.toml")


class Settings(BaseModel):
    """Contents of settings.toml; what a command line says comes first."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    attempts: int = Field(default=5, ge=1)
    """Replies that may be tried for one module."""
    max_total_tokens: int = Field(default=200_000, ge=1)
    """Tokens of prompts and replies for one module, as far as the server counts them."""
    max_seconds: float = Field(default=900.0, gt=0)
    """Wall clock for one module; a reply that is on its way when it is over is still looked at."""
    temperature: float = Field(default=0.2, ge=0)
    max_tokens: int = Field(default=8000, ge=1)
    """Length of one reply at most."""
    simulated_games: int = Field(default=16, ge=1)
    """Games of the world's scenarios that a policy over skills must play well."""
    judge: bool = True
    """Whether the model itself is asked, in one word, if its policy's trace is sound; recorded replies never are."""
    record: str = ""
    """A folder in which every reply is kept for `--llm replay:<folder>`."""


def load_settings(content: Content) -> Settings:
    """Read the first settings.toml of the prompt folders; raises SpecError for a malformed one."""
    for folder in content.prompt_folders():
        if (folder / FILE).is_file():
            return load_toml(folder / FILE, Settings)
    return Settings()
