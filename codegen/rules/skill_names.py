"""Refuse texts used as skills that name no skill."""

from __future__ import annotations

import libcst as cst

from codegen.contract import did_you_mean
from codegen.rules._rule import Rule


class SkillNames(Rule):
    """Check every text that is returned, kept, compared or looped over as a skill."""

    def visit_Module(self, node: cst.Module) -> None:
        """Check the texts that the data flow found."""
        skills = self.contract.skills
        for text in self.flow.skill_texts:
            value = text.evaluated_value
            if value not in skills:
                hint = f"Skills: {', '.join(skills)}. {did_you_mean(str(value), skills)}".strip()
                self.report(text, f"{value!r} is not a skill", hint)
