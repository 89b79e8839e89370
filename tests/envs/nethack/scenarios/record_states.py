"""Record the states of real games that ship with the scenarios: a script, run by hand, not a test.

    python tests/envs/nethack/scenarios/record_states.py OUT.json.gz

Plays the shipped policies over skills with the reference skills and keeps a spread of moments: for each a state, the
state in which the running skill had begun, that skill, and the skills that could start. The file is
`maestro/envs/nethack/scenarios/recorded_states.json.gz`; its provenance says what it was made with.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

from maestro.content import Content
from maestro.envs.nethack import STATE_VERSION, make_reference_policy, make_world
from maestro.envs.nethack.scenarios.recorded import Moment, write_moments
from maestro.options.executive import Executive
from maestro.options.load import load_options, load_policy

TASKS = ("transactions", "buc", "delphi", "goldenexit", "discoveryhunger", "training")
GAMES, STEPS, FIRST_SEED = 6, 5000, 20_260
KEPT_OF_A_KIND = 6
MOST_MOMENTS = 600


def kind(moment: Moment) -> tuple:
    """Group moments that look alike to a predicate, so that rare ones are kept and common ones thinned out."""
    state, start = moment.state, moment.start
    return (
        moment.skill,
        state.dungeon,
        min(state.depth, 5),
        state.depth - start.depth,
        state.num_items > 0,
        "shopkeeper" in state.nearby,
        "altar" in state.nearby,
        "shopkeeper" in state.in_view,
        state.hunger,
        state.branch_depth is None,
        state.branch_depth != start.branch_depth,
        min((state.turn - start.turn) // 50, 3),
        moment.ends,
    )


def play(task: str, kept: dict[tuple, list[Moment]], luck: random.Random) -> int:
    """Play GAMES games of a task and keep moments of them; return the steps taken."""
    content = Content.find()
    policy = content.training() if task == "training" else content.task(task)
    world = make_world(GAMES, max_steps=STEPS)
    skills = make_reference_policy(GAMES)
    executive = Executive(
        load_options(content.skills("nethack")), load_policy(policy), policy.spec.fallback, GAMES
    )
    running: list[Any] = [None] * GAMES
    for index in range(GAMES):
        seed = FIRST_SEED + index
        world.seed(index, seed, seed)
        skills.reset(index, seed)
    world.reset()
    for index in range(GAMES):
        running[index] = executive.start(index, world.states[index], FIRST_SEED + index)
    steps = 0
    while any(skill is not None for skill in running):
        result = world.step(skills.act(world, running))
        for index, skill in enumerate(running):
            if skill is None:
                continue
            steps += 1
            state, start = world.states[index], executive.started[index]
            if result.terminated[index] or result.truncated[index]:
                executive.finish(index, state)
                running[index] = None
                continue
            num_ended = len(executive.switches(index))
            running[index] = executive.advance(index, state)
            ends = len(executive.switches(index)) != num_ended
            moment = Moment(state, start, skill, executive.startable(index), ends)
            same = kept.setdefault(kind(moment), [])
            if len(same) < KEPT_OF_A_KIND:
                same.append(moment)
            elif luck.random() < 0.002:
                same[luck.randrange(KEPT_OF_A_KIND)] = moment
    world.close()
    return steps


def main() -> None:
    """Play, thin out, write, and say what is in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    luck = random.Random(0)
    kept: dict[tuple, list[Moment]] = {}
    steps = sum(play(task, kept, luck) for task in TASKS)
    moments = [moment for same in kept.values() for moment in same]
    luck.shuffle(moments)
    # Of each skill an equal share, whatever is left going to the commonest.
    share = MOST_MOMENTS // 5
    chosen = []
    for skill in sorted({moment.skill for moment in moments}):
        chosen += [moment for moment in moments if moment.skill == skill][:share]
    provenance = {
        "made_by": "tests/envs/nethack/scenarios/record_states.py",
        "skills": "reference skills, the shipped initiations and terminations",
        "policies": list(TASKS),
        "games_each": GAMES,
        "steps_each_at_most": STEPS,
        "seeds": [FIRST_SEED, FIRST_SEED + GAMES - 1],
        "steps_played": steps,
        "state_version": STATE_VERSION,
        "nle": metadata.version("nle"),
        "licence": "made for this project from its own games",
    }
    write_moments(out, chosen, provenance)
    print(steps, "steps;", len(chosen), "moments;", out.stat().st_size, "bytes", file=sys.stderr)
    print(
        Counter(moment.skill for moment in chosen), Counter(moment.ends for moment in chosen), file=sys.stderr
    )


if __name__ == "__main__":
    main()
