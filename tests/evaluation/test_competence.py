"""What counts as a skill's success, against replayed states; and the skills' figures, counted by hand."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from maestro.content import Content, shipped_root
from maestro.envs.corridor import State
from maestro.evaluation.competence import (
    OWN_TERMINATION,
    Judge,
    SkillSuccess,
    load_successes,
    refused_share,
    skill_figures,
)
from maestro.evaluation.episode import Ending, EpisodeFile, EpisodeRecord, SkillUse, episode_seeds
from maestro.evaluation.games import Setup
from maestro.evaluation.play import play_here
from maestro.evaluation.replay import Replay
from maestro.evaluation.statistics import wilson
from maestro.options.accounting import Switch
from maestro.options.load import VALIDATOR_VERSION
from maestro.options.provenance import sign

ROOT = shipped_root()
ASKS_IN_VAIN = """
class Policy:
    def select_skill(self, state, finished, startable):
        if finished is None or "opener" in startable:
            return "opener"
        return "keyfinder" if state.num_keys == 0 else "eastwalker"
"""


def state(**changes: Any) -> State:
    known: dict[str, Any] = {
        "step": 0, "turn": 0, "position": 3, "length": 9, "at_door": False, "num_keys": 0, "door_open": False,
        "message": "",
    }  # fmt: skip
    return State(**(known | changes))


def play(policy: str, num_episodes: int, *roots: Path) -> list[EpisodeFile]:
    setup = Setup("locked_door", policy, 0, 4, (*roots, ROOT))
    return [outcome.file for outcome in play_here(setup, range(num_episodes)) if outcome.file is not None]


def record(number: int, by: str, **uses: SkillUse) -> EpisodeRecord:
    return EpisodeRecord(
        episode=number, seeds=episode_seeds(0, number), success={"true": 0.0, "compatible": 0.0},
        ended=Ending(by=by), skills=uses,  # type: ignore[arg-type]
    )  # fmt: skip


def use(
    ended: dict[str, int], reached: dict[str, int], meaning: str | None = "x rose", **more: int
) -> SkillUse:
    activations = sum(ended.values())
    return SkillUse(
        activations=activations,
        steps=10 * activations,
        ended=ended,
        reached=reached,
        success_is=meaning,
        **more,
    )


@pytest.mark.parametrize(
    ("condition", "start", "end", "expected"),
    [
        ({"num_keys": "rose"}, {"num_keys": 0}, {"num_keys": 1}, True),
        ({"num_keys": "rose"}, {"num_keys": 1}, {"num_keys": 1}, False),
        ({"num_keys": "fell"}, {"num_keys": 1}, {"num_keys": 0}, True),
        ({"num_keys": "fell"}, {"num_keys": None}, {"num_keys": 0}, False),
        ({"num_keys": "changed"}, {"num_keys": None}, {"num_keys": 0}, True),
        ({"door_open": "rose"}, {}, {"door_open": True}, True),
        ({"position": "same", "num_keys": "rose"}, {}, {"num_keys": 1}, True),
        ({"position": "same", "num_keys": "rose"}, {}, {"num_keys": 1, "position": 4}, False),
    ],
)
def test_all_of_a_condition_must_hold(condition: dict, start: dict, end: dict, expected: bool):
    success = SkillSuccess(tuple(condition.items()))
    for reason in ("terminated", "max_steps", "episode"):
        assert success.reached(reason, state(**start), state(**end)) is expected


def test_any_of_several_conditions_is_enough_and_it_says_so():
    success = SkillSuccess((("turn", "same"),), (("num_keys", "rose"), ("position", "fell")))
    assert str(success) == "turn same and (num_keys rose or position fell)"
    assert success.reached("max_steps", state(), state(position=2))
    assert not success.reached("terminated", state(), state(position=2, turn=1))
    assert not success.reached("terminated", state(), state())
    assert str(SkillSuccess(any_of=(("a", "rose"), ("b", "rose")))) == "a rose or b rose"


def test_without_conditions_the_termination_decides():
    success = SkillSuccess()
    assert str(success) == OWN_TERMINATION
    assert success.reached("terminated", state(), state())
    for reason in ("max_steps", "max_turns", "episode", "failed", None):
        assert not success.reached(reason, state(), state())


def test_a_running_activation_is_not_judged():
    judge = Judge({"keyfinder": SkillSuccess((("num_keys", "rose"),))})
    judge.ended(Switch(0, 0, "keyfinder", None, None), state(), state(num_keys=1))
    assert judge.of_skill("keyfinder")["reached"] == {}


def test_what_ships_has_the_success_its_description_names():
    content = Content((ROOT,))
    found = {name: str(one) for name, one in load_successes(content.skills()).items()}
    assert found["descender"] == "depth rose"
    assert found["ascender"] == "depth fell"
    assert found["merchant"] == "num_items_sold rose"
    assert found["worshipper"] == "num_curse_checks rose"
    assert found["eastwalker"] == OWN_TERMINATION
    assert found["discoverer"].startswith("depth same and dungeon same and (experience_points rose or ")


@pytest.mark.parametrize("policy", ["reference", "random"])
def test_records_count_what_the_replayed_states_show(policy: str):
    judged = 0
    for file in play(policy, 8):
        states = [frame.state for frame in Replay(file)]
        ends = [*(switch.step for switch in file.switches[1:]), file.record.steps]
        expected = {"keyfinder": 0, "eastwalker": 0, "opener": 0}
        for switch, end in zip(file.switches, ends, strict=True):
            start, last = states[switch.step], states[end]
            expected[switch.skill] += {
                "keyfinder": last.num_keys > start.num_keys,
                "opener": last.door_open and not start.door_open,
                "eastwalker": switch.ended == "terminated",
            }[switch.skill]
        for skill, number in expected.items():
            told = file.record.skills[skill]
            assert sum(told.reached.values()) == number
            assert all(count <= told.ended[reason] for reason, count in told.reached.items())
            judged += number
    assert judged > 3


def test_a_refused_start_is_a_share_of_the_choices(tmp_path: Path):
    task = tmp_path / "meta_policies" / "locked_door"
    shutil.copytree(ROOT / "meta_policies" / "locked_door", task)
    (task / "policy.py").write_text(ASKS_IN_VAIN)
    sign(task, author="test", state_version=1, validator_version=VALIDATOR_VERSION, skills=())
    records = [file.record for file in play("reference", 4, tmp_path)]
    figures = skill_figures([("eastwalker", record) for record in records])
    assert (figures["opener"]["asked"], figures["opener"]["refused_share"]) == (8, 0.5)
    assert figures["eastwalker"]["total_activations"] == figures["eastwalker"]["asked"] + 4
    assert figures["eastwalker"]["refused_share"] == 0.0
    assert refused_share(records) == 4 / sum(one["total_activations"] for one in figures.values())


def test_what_an_episodes_end_cuts_short_was_not_tried_unless_it_was_reached():
    episodes = [
        record(0, "truncated", a=use({"terminated": 3, "episode": 1}, {"terminated": 2})),
        record(1, "success", a=use({"episode": 1}, {"episode": 1})),
        record(2, "died", a=use({"max_turns": 1, "episode": 1}, {})),
        record(3, "error", a=use({"failed": 1}, {})),
    ]
    figures = skill_figures([("a", one) for one in episodes])["a"]
    assert (figures["success"]["reached"], figures["success"]["tried"]) == (3, 6)
    assert figures["success"]["mean"] == 0.5
    assert figures["success"]["is"] == "x rose"
    assert (figures["total_activations"], figures["activations"], figures["steps_per_activation"]) == (
        8,
        2,
        10.0,
    )


def test_records_that_say_nothing_or_mean_something_else_are_left_out_of_the_success():
    episodes = [
        record(0, "died", a=use({"max_turns": 4}, {"max_turns": 4}, None)),
        record(1, "died", a=use({"max_turns": 4}, {"max_turns": 4}, "y rose")),
        record(2, "died", a=use({"max_turns": 1}, {})),
        record(3, "died", a=use({"max_turns": 2}, {})),
    ]
    figures = skill_figures([("a", one) for one in episodes])["a"]
    assert figures["total_activations"] == 11
    assert figures["success"] == {**wilson(0, 2).to_dict(), "reached": 0, "tried": 3, "is": "x rose"}
    assert skill_figures([("a", episodes[0])])["a"]["success"] is None


def test_a_skill_that_was_never_tried_has_no_rate():
    figures = skill_figures([("a", record(0, "truncated", a=use({"episode": 1}, {}), b=use({}, {})))])
    assert figures["a"]["success"]["mean"] is None
    assert figures["b"]["success"]["tried"] == 0
    assert figures["b"]["steps_per_activation"] is None
    assert figures["b"]["refused_share"] is None
    assert refused_share([]) is None


def test_tasks_with_other_fallbacks_are_added_up():
    first = record(0, "died", a=use({"max_turns": 3}, {}), b=use({"max_turns": 1}, {}, refused=2))
    second = record(0, "died", a=use({"max_turns": 1}, {}, refused=1), b=use({"max_turns": 3}, {}))
    figures = skill_figures([("a", first), ("b", second)])
    assert (figures["a"]["asked"], figures["a"]["refused_share"]) == (1 + 2, 1 / 3)
    assert (figures["b"]["asked"], figures["b"]["refused_share"]) == (3 + 2, 2 / 5)


def test_the_same_episode_of_several_tasks_is_one_cluster():
    uses = [use({"terminated": 4}, {"terminated": 4 * (number % 2)}) for number in range(40)]
    once = [("a", record(number, "died", walker=one)) for number, one in enumerate(uses)]
    found = skill_figures(once * 9)["walker"]["success"]
    alone = skill_figures(once)["walker"]["success"]
    assert (found["mean"], found["interval"]) == (alone["mean"], alone["interval"])
    assert (found["tried"], alone["tried"]) == (9 * 160, 160)
