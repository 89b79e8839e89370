"""Let a language model and the loop of `codegen.repair` talk: questions, verdicts, and what is said about an attempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.feedback import MAX_PROBLEMS, Feedback, clip
from codegen.repair import Attempt, Candidate, Judgement, Message
from maestro.commands._codegen.jobs import Job, render
from maestro.commands._codegen.settings import Settings
from maestro.envs.scenario import Trial
from maestro.llm import ChatModel, Reply, Request, Sampling
from maestro.llm.messages import Message as ChatMessage
from maestro.llm.messages import Outcome
from maestro.llm.replay import NAME as REPLAY
from maestro.prompts import Prompts

YES, NO = "yes", "no"
_FREE_TOKENS = 1024  # of a verdict whose form the server does not hold the model to


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
    judge_fault: str = ""
    """Why the last candidate has no verdict of the model, where it should have one."""

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

        It is asked afresh, without the conversation in which it argued for its own code. Where it cannot be asked, the
        candidate stands: the rules and the games did accept it.
        """
        variables: dict[str, Any] = dict(self.job.variables) | {
            "trace": clip(str(self.trial.telling) if self.trial else trace),
            "summary": self.trial.summary() if self.trial else "",
            "choices": [YES, NO],
        }
        system = render(self.prompts, "codegen/system.j2", self.job.variables)
        messages = (
            {"role": "system", "content": system},
            {"role": "user", "content": render(self.prompts, "codegen/judge.j2", variables)},
        )
        word, fault, tokens = self._one_word(messages)
        self.judge_fault = f"the judge could not be asked: {fault}" if fault else ""
        if word == NO:
            return Judgement(
                False, "Looking at the trace, you answered that this policy is not sound.", tokens
            )
        return Judgement(True, self.judge_fault, tokens)

    def _one_word(self, messages: tuple[ChatMessage, ...]) -> tuple[str, str, int]:
        """Ask for yes or no; give the word or "", why there is none, and the tokens it took.

        A server that ignores the choices is asked once more, with room for what a model writes before its answer.
        """
        label = f"codegen/{self.job.label}/judge"
        outcome = self.model.ask(Request(messages, Sampling(max_tokens=8, choices=(YES, NO)), label))
        tokens = _tokens(outcome)
        if isinstance(outcome, Reply):
            return outcome.text, "", tokens
        if outcome.reason != "wrong_choice":
            return "", str(outcome.to_error()), tokens
        word = _plain(outcome.sample)
        if word not in (YES, NO):
            free = Sampling(max_tokens=min(_FREE_TOKENS, self.settings.max_tokens))
            again = self.model.ask(Request(messages, free, label))
            tokens += _tokens(again)
            if not isinstance(again, Reply):
                return "", str(again.to_error()), tokens
            word = _find_word(again.text)
        return (word, "", tokens) if word else ("", f"it answers neither {YES} nor {NO}", tokens)

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


def _plain(text: str) -> str:
    return text.strip(" .*\"'\n").lower()


def _find_word(text: str) -> str:
    """Find yes or no as the whole of a free answer, its first word or its last; "" where there is none, or both."""
    words = re.findall(r"\w+", text.lower())
    found = {word for word in (_plain(text), *words[:1], *words[-1:]) if word in (YES, NO)}
    return found.pop() if len(found) == 1 else ""


def _tokens(reply: Outcome) -> int:
    return reply.usage.prompt_tokens + reply.usage.completion_tokens
