"""Let a language model and the loop of `codegen.repair` talk: questions, verdicts, and what is said about an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.feedback import MAX_PROBLEMS, Feedback, clip
from codegen.repair import Attempt, Candidate, Judgement, Message
from maestro.commands._codegen.jobs import Job, render
from maestro.commands._codegen.settings import Settings
from maestro.envs.scenario import Trial
from maestro.llm import ChatModel
from maestro.llm.messages import Reply
from maestro.llm.replay import NAME as REPLAY
from maestro.prompts import Prompts

YES, NO = "yes", "no"


@dataclass(frozen=True)
class Said:
    """A reply as the loop wants it."""

    text: str
    tokens: int


@dataclass
class Talk:
    """One conversation about one job. `authors` collects who answered."""

    model: ChatModel
    job: Job
    prompts: Prompts
    settings: Settings
    attempts: int
    code_seed: int | None = None
    authors: list[str] = field(default_factory=list)
    num_attempts: int = 0
    trial: Trial | None = None
    """The simulated games of the last candidate."""

    def complete(self, messages: Sequence[Message]) -> Said:
        """Ask the model; raises ChatError. What ships with maestro is recorded once, for every code seed."""
        reply = self.model.complete(
            [{"role": message.role, "content": message.content} for message in messages],
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
            seed=None if self.model.spec == REPLAY else self.code_seed,
            label=f"codegen/{self.job.label}/{self.num_attempts + 1}",
        )
        self.authors.append(reply.author or reply.model)
        return Said(reply.text, _tokens(reply))

    def judge(self, conversation: Sequence[Message], candidate: Candidate, trace: str) -> Judgement:
        """Ask the model in one word whether the policy's trace is sound.

        It is asked afresh, without the conversation in which it argued for its own code.
        """
        variables: dict[str, Any] = dict(self.job.variables) | {
            "trace": clip(str(self.trial.telling) if self.trial else trace),
            "summary": self.trial.summary() if self.trial else "",
            "choices": [YES, NO],
        }
        system = render(self.prompts, "codegen/system.j2", self.job.variables)
        reply = self.model.complete(
            [
                {"role": "system", "content": system},
                {"role": "user", "content": render(self.prompts, "codegen/judge.j2", variables)},
            ],
            max_tokens=8,
            choices=(YES, NO),
            label=f"codegen/{self.job.label}/judge",
        )
        text = (
            "" if reply.text == YES else "Looking at the trace, you answered that this policy is not sound."
        )
        return Judgement(reply.text == YES, text, _tokens(reply))

    def feedback(self, found: Feedback) -> str:
        """Write what the model is told about an attempt that was not good."""
        lines = found.source.split("\n")
        violations = []
        for violation in found.violations[:MAX_PROBLEMS]:
            is_here = not violation.file.startswith("unit test") and violation.line <= len(lines)
            shown = f" The line is `{lines[violation.line - 1].strip()}`." if is_here else ""
            violations.append(f"{violation}{shown}")
        left_out = len(found.problems) - MAX_PROBLEMS
        problems = [] if found.violations else list(found.problems[:MAX_PROBLEMS])
        ran_test = found.stage == "sandbox"
        return render(
            self.prompts,
            "codegen/repair.j2",
            {
                "violations": violations,
                "problems": problems + ([f"and {left_out} more"] if left_out > 0 else []),
                "test_output": clip(found.trace) if ran_test else "",
                "trace": "" if ran_test else clip(found.trace),
                "attempts_left": self.attempts - self.num_attempts,
            },
        )

    def heard(self, attempt: Attempt) -> None:
        """Take note of an attempt that ended."""
        self.num_attempts = attempt.number


def _tokens(reply: Reply) -> int:
    return reply.usage.prompt_tokens + reply.usage.completion_tokens
