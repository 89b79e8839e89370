"""Prompts: Jinja templates of the content's `prompts/` folders, rendered with exactly the variables they name.

    prompts = Prompts(content.prompt_folders())
    prompts.render("codegen/judge.j2", trace=..., task=..., ...)

A template is found by its path below a prompts folder, a user's folder first; what a template includes is looked for in
the same way, so one changed partial is one file. A variable that is missing, one too many, or an attribute that does
not exist is a PromptError that names template and line: a prompt with a hole in it is never sent.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from maestro.errors import PromptError, UnknownNameError, suggestion

SUFFIX = ".j2"


class Prompts:
    """The templates found in some folders, the first of which that has a template counting."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Look in `folders`, in this order; `Content.prompt_folders()` gives them."""
        self.folders = tuple(Path(folder) for folder in folders)
        self._environment = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader([str(folder) for folder in self.folders]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )

    def names(self) -> list[str]:
        """List the templates there are; those that begin with an underscore are parts of others."""
        return sorted(self._environment.list_templates(extensions=[SUFFIX.removeprefix(".")]))

    def render(self, name: str, /, **variables: Any) -> str:
        """Fill a template in. `variables` are exactly those that `variables(name)` lists, includes included.

        The text has no blank lines at its ends and never two blank lines in a row.
        Raises UnknownNameError for a template that does not exist and PromptError for everything else.
        """
        declared = self._declared(name)
        for variable in sorted(declared.keys() - variables.keys()):
            template, line = declared[variable]
            raise PromptError(
                f"the variable {variable!r} is not given",
                where=self._where(template, line),
                expected=f"the variables {', '.join(sorted(declared))}",
                hint=suggestion(variable, variables.keys() - declared.keys()),
            )
        for variable in sorted(variables.keys() - declared.keys()):
            raise PromptError(
                f"the variable {variable!r} is given, but the template does not use it",
                where=self._where(name),
                expected=f"the variables {', '.join(sorted(declared)) or 'none'}",
                hint=suggestion(variable, declared),
            )
        try:
            text = self._environment.get_template(name).render(variables)
        except jinja2.TemplateError as error:
            raise self._error(name, error) from error
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise self._error(name, error) from error
        return _tidy(text)

    def variables(self, name: str) -> frozenset[str]:
        """List the variables that a template, and whatever it includes, needs."""
        return frozenset(self._declared(name))

    def sha256(self, name: str) -> str:
        """Hash a template with everything it includes, for provenance."""
        digest = hashlib.sha256()
        for part in sorted(self._parts(name)):
            source = self._source(part)[0]
            digest.update(f"{part}\0{len(source)}\0{source}".encode())
        return digest.hexdigest()

    def path(self, name: str) -> Path:
        """Locate the file of a template; raises UnknownNameError."""
        return Path(self._source(name)[1])

    def _declared(self, name: str) -> dict[str, tuple[str, int]]:
        """Find for every variable the template and the line that name it first."""
        found: dict[str, tuple[str, int]] = {}
        for part in self._parts(name):
            tree = self._parse(part)
            try:
                variables = meta.find_undeclared_variables(tree)
            except jinja2.TemplateSyntaxError as error:  # an unknown filter, for one
                raise self._error(part, error) from error
            for variable in variables:
                lines = [each.lineno for each in tree.find_all(nodes.Name) if each.name == variable]
                found.setdefault(variable, (part, min(lines, default=1)))
        return found

    def _parts(self, name: str) -> Iterator[str]:
        """List a template and everything it includes, each once, in the order of the text."""
        waiting, seen = [name], set()
        while waiting:
            part = waiting.pop(0)
            if part in seen:
                continue
            seen.add(part)
            yield part
            for other in meta.find_referenced_templates(self._parse(part)):
                if other is None:
                    raise PromptError(
                        "an include is not named by a plain text",
                        where=self._where(part),
                        hint='write {% include "folder/_part.j2" %}',
                    )
                waiting.append(other)

    def _parse(self, name: str) -> nodes.Template:
        source, path = self._source(name)
        try:
            return self._environment.parse(source, name, path)
        except jinja2.TemplateSyntaxError as error:
            raise self._error(name, error) from error

    def _source(self, name: str) -> tuple[str, str]:
        try:
            source, path, _ = self._environment.loader.get_source(self._environment, name)  # type: ignore[union-attr]
        except jinja2.TemplateNotFound:
            where = ", ".join(str(folder) for folder in self.folders) or "no prompts folder"
            raise UnknownNameError("prompt", name, self.names(), where=where) from None
        except UnicodeDecodeError as error:
            raise PromptError(
                f"not UTF-8 text ({error.reason} at byte {error.start})", where=self._where(name)
            ) from None
        return source, str(path)

    def _error(self, name: str, error: Exception) -> PromptError:
        """Say in which template and line `error` came up: Jinja puts both into the traceback."""
        if isinstance(error, jinja2.TemplateSyntaxError):
            where = self._where(name, error.lineno)
        else:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [frame for frame in frames if frame.filename.endswith(SUFFIX)]
            where = f"{lines[-1].filename}:{lines[-1].lineno}" if lines else self._where(name)
        return PromptError(f"cannot be rendered: {error}", where=where, hint="mend the template")

    def _where(self, name: str, line: int | None = None) -> str:
        for folder in self.folders:
            if (folder / name).is_file():
                return f"{folder / name}:{line}" if line else str(folder / name)
        return name


def _tidy(text: str) -> str:
    """Take away blank lines that conditional parts left behind."""
    kept: list[str] = []
    for line in text.strip("\n").split("\n"):
        line = line.rstrip()
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept) + "\n"
