"""Let a policy over skills play a simulation: in this process, or in another one by messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from maestro.envs.scenario.trace import Choice, Column, Trace

MAX_CHOICES = 300


class SkillLike(Protocol):
    """What a simulation needs of a skill; `maestro.options.option.Option` has it."""

    @property
    def name(self) -> str: ...
    @property
    def can_initiate(self) -> Callable[[Any], bool]: ...
    @property
    def should_terminate(self) -> Callable[[Any, Any, frozenset[str]], bool]: ...
    @property
    def max_turns(self) -> int | None: ...
    @property
    def max_steps(self) -> int | None: ...


class Simulation(Protocol):
    """A toy game that is played in choices of skills instead of steps. One object is one game."""

    @property
    def skills(self) -> tuple[str, ...]:
        """Name all skills there are."""
        ...

    @property
    def startable(self) -> frozenset[str]:
        """Name the skills that may start in the last state."""
        ...

    @property
    def ended(self) -> str:
        """Say why the last skill ended."""
        ...

    @property
    def over(self) -> str:
        """Say why the game is over; empty while it goes on."""
        ...

    @property
    def world(self) -> Any:
        """Give what is true and the policy cannot see, for goals."""
        ...

    @property
    def columns(self) -> Sequence[Column]:
        """Say what of a state is printed in a trace."""
        ...

    def start(self) -> Any:
        """Begin the game and return its first state."""
        ...

    def choose(self, skill: str) -> list[Any]:
        """Run a skill until it ends and return the states it went through, the one it ended in last."""
        ...


class Question(NamedTuple):
    """What a policy is told and asked next: `observe` every state, then `select_skill` in the last one."""

    states: tuple[Any, ...]
    finished: str | None
    startable: frozenset[str]


class Session:
    """One simulated game of one policy, as an exchange of questions and answers.

    session = Session(simulation, fallback="discoverer")
    question = session.start()
    while question is not None:
        question = session.reply(ask_somehow(question))
    print(session.trace)

    A caller that drives another process sends `question_to_json(question)` and gets back a skill's name. `reply` takes
    whatever came back: an answer that is no skill ends the game, with the reason in `trace.error`.
    """

    def __init__(self, simulation: Simulation, *, fallback: str, max_choices: int = MAX_CHOICES) -> None:
        """Prepare a game of `max_choices` choices at most; `fallback` runs where a choice may not start."""
        if fallback not in simulation.skills:
            raise ValueError(f"the fallback {fallback!r} is none of {', '.join(simulation.skills)}")
        self.simulation = simulation
        self.fallback = fallback
        self.trace = Trace(simulation.world, simulation.columns, max_choices=max_choices)

    def start(self) -> Question:
        """Begin the game and ask for the first skill."""
        first = self.simulation.start()
        self.trace.states.append(first)
        return Question((first,), None, self.simulation.startable)

    def reply(self, answer: Any) -> Question | None:
        """Run the skill that was chosen and ask for the next; None when the game or the patience is at an end."""
        simulation, trace = self.simulation, self.trace
        if trace.error or trace.over:
            return None
        if not isinstance(answer, str) or answer not in simulation.skills:
            self.fail(
                f"select_skill returned {_shown(answer)}, which is none of {', '.join(simulation.skills)}"
            )
            return None
        startable = simulation.startable
        ran = answer if answer in startable else self.fallback
        begin = len(trace.states) - 1
        states = simulation.choose(ran)
        trace.states.extend(states)
        trace.over = simulation.over
        end = len(trace.states) - 1
        trace.choices.append(Choice(begin, end, answer, ran, simulation.ended, startable))
        if simulation.over or len(trace.choices) >= trace.max_choices:
            return None
        return Question(tuple(states), ran, simulation.startable)

    def fail(self, error: str) -> None:
        """End the game because the policy failed: it raised, hung or broke off."""
        self.trace.error = error.strip().rstrip(".")


def play(policy: Any, session: Session) -> Trace:
    """Let a `Policy` of this process play a session to its end; what it raises ends the game and is in the trace."""
    observe = getattr(policy, "observe", None)
    question: Question | None = session.start()
    while question is not None:
        try:
            if observe is not None:
                for state in question.states:
                    observe(state)
            choice = policy.select_skill(question.states[-1], question.finished, question.startable)
        except Exception as error:  # noqa: BLE001 - generated code may raise anything
            session.fail(f"{type(error).__name__}: {error}")
            break
        question = session.reply(choice)
    return session.trace


def question_to_json(question: Question) -> dict[str, Any]:
    """Make a dictionary that JSON can hold: `states`, `finished`, `startable`."""
    return {
        "states": [state_to_json(state) for state in question.states],
        "finished": question.finished,
        "startable": sorted(question.startable),
    }


def state_to_json(state: Any) -> dict[str, Any]:
    """Make a dictionary that JSON can hold of a world's State; sets become sorted lists."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in state._asdict().items()
    }


def state_from_json(state_type: type, row: Mapping[str, Any]) -> Any:
    """Undo `state_to_json`; no field of a State is a list, so that every list was a set."""
    return state_type(
        **{name: frozenset(value) if isinstance(value, list) else value for name, value in row.items()}
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
