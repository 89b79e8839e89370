"""The wordings of a caption: a transition as text, by the templates prompts/preference/<version>/caption.j2."""

from __future__ import annotations

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from maestro.errors import PromptError, UnknownNameError
from maestro.preferences.transitions import Transition
from maestro.prompts import Prompts

_TEMPLATE = "preference/{}/caption.j2"
VARIABLES = frozenset({"caption", "previous_message", "message", "changes"})
"""What a caption template may use; `changes` lists (label, what became of it), the label as the world words it."""


class Captioner:
    """Words transitions in one version."""

    def __init__(self, prompts: Prompts, version: str) -> None:
        """Raises UnknownNameError for a version without a template and PromptError for a template that is broken."""
        if version not in caption_versions(prompts):
            raise UnknownNameError("wording", version, caption_versions(prompts), where="prompt")
        name = _TEMPLATE.format(version)
        unknown = prompts.variables(name) - VARIABLES
        if unknown:
            raise PromptError(
                f"the variable {sorted(unknown)[0]!r} is not known here",
                where=str(prompts.path(name)),
                expected=f"only {', '.join(sorted(VARIABLES))}",
            )
        self.version = version
        environment = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
        )
        # Prompts.render checks a template anew each time: too slow for a hundred thousand captions.
        self._template = environment.from_string(prompts.path(name).read_text(encoding="utf-8"))

    def word(self, row: Transition) -> str:
        """Give the caption of a row."""
        changes = [tuple(line.partition(": ")[::2]) for line in row.caption.split("\n")[1:]]
        text = self._template.render(
            caption=row.caption, previous_message=row.previous_message, message=row.message, changes=changes
        )
        return text.strip("\n")


def caption_versions(prompts: Prompts) -> list[str]:
    """List the wordings there are."""
    parts = [name.split("/") for name in prompts.names()]
    return [
        part[1] for part in parts if len(part) == 3 and part[0] == "preference" and part[2] == "caption.j2"
    ]
