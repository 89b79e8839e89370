"""What a command reads after `--config`: TOML files and single keys, the later ones counting.

--config mine.toml
--config mine.toml pairs=50000 llm_settings.max_in_flight=64
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel

from maestro.errors import ConfigError
from maestro.specs import merged, parse, read_toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SettingsT = TypeVar("SettingsT", bound=BaseModel)
SettingsPath = Annotated[Path, AfterValidator(Path.expanduser)]
"""A path, from the working directory; "~" is the home folder also where no shell sees it."""


def read_settings(
    words: Sequence[str], model: type[SettingsT], below: Mapping[str, Any] | None = None
) -> SettingsT:
    """Put files and keys together and check them; raises ConfigError and SpecError that say which word is wrong.

    `below` counts where no word says anything else.
    """
    said: dict[str, Any] = dict(below or {})
    for word in words:
        if "=" in word:
            said = merged(said, _read_key(word))
        elif word.endswith(".toml"):
            found = read_toml(Path(word), hint="make it, or give single keys: --config pairs=500")
            parse(found, model, where=word)  # so that a fault is shown with the file's name
            said = merged(said, found)
        else:
            raise ConfigError(
                f"{word!r} is neither a file nor a key",
                where="--config",
                expected="a path that ends in .toml, or key=value",
            )
    return parse(said, model, where="--config")


def whole_steps(steps: float) -> int:
    """Read --steps, which may be written as 2e6; raises ConfigError for what is no number of steps."""
    if not 1 <= steps < math.inf or steps != int(steps):
        raise ConfigError(f"the value is {steps:g}", where="--steps", expected="a whole number above 0")
    return int(steps)


def _read_key(word: str) -> dict[str, Any]:
    """Read `key=value`; a value that is none in TOML is a text."""
    key, _, value = word.partition("=")
    for text in (value, json.dumps(value)):
        try:
            return tomllib.loads(f"{key} = {text}")
        except tomllib.TOMLDecodeError:
            continue
    raise ConfigError(
        f"{word!r} is no setting", where="--config", expected="key=value, such as pairs=500 or fit.epochs=3"
    )
