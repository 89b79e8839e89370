"""Collecting: the same data however many workers there are and however often it is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.content import Content
from maestro.errors import ConfigError, PolicyFileError
from maestro.evaluation.collect import (
    CollectSetup,
    Player,
    Share,
    Target,
    caption_version,
    collect,
    parse_mix,
)
from maestro.preferences.transitions import TransitionWriter, read_transitions, rows_of

ROOTS = Content.find().roots
MIX = parse_mix("reference:0.6,random:0.4")


def setup(world: str = "corridor", mix=MIX, **options) -> CollectSetup:
    return CollectSetup(world, mix, 3, ROOTS, **options)


def gather(folder: Path, steps: int, workers: int = 0, **options) -> bytes:
    """Collect and give everything the folder then holds."""
    writer = TransitionWriter(folder, world=options.get("world", "corridor"), caption_version=1)
    collect(setup(**options), writer, Target(steps), workers=workers)
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.parquet")))


def test_workers_and_interruptions_change_nothing(tmp_path):
    whole = gather(tmp_path / "whole", 2000)
    assert gather(tmp_path / "workers", 2000, workers=2) == whole
    for steps in (1, 500, 900, 1500, 2000):
        last = gather(tmp_path / "pieces", steps)
    assert last == whole
    assert gather(tmp_path / "whole", 2000) == whole  # nothing is missing: nothing is played


def test_rows_hold_what_happened(tmp_path):
    gather(tmp_path, 3000)
    rows = rows_of(read_transitions(tmp_path))
    assert {row.source for row in rows} == {"reference", "random"}
    assert {row.skill for row in rows} >= {"keyfinder", "eastwalker", "opener"}
    assert {row.stratum for row in rows} >= {"key", "door", "message"}
    assert len({row.caption for row in rows}) == len(rows)
    for row in rows:
        assert f'then "{row.message}"' in row.caption
        assert f'"{row.previous_message}" then' in row.caption
    opened = [row for row in rows if row.message.endswith("It opens.")]
    assert opened
    assert {row.stratum for row in opened} == {"door"}
    assert all(
        row.skill == "opener" for row in opened if row.source == "reference"
    )  # who chose the action is paid


def test_targets_count_what_they_name(tmp_path):
    writer = TransitionWriter(tmp_path, world="corridor", caption_version=1)
    assert collect(setup(), writer, Target(transitions=10, skill="keyfinder"))
    assert writer.rows_of_skill["keyfinder"] >= 10
    writer = TransitionWriter(tmp_path / "all", world="corridor", caption_version=1)
    collect(setup(), writer, Target(transitions=30, steps=10**6))
    assert writer.num_rows >= 30


def test_a_target_out_of_reach_is_given_up(tmp_path):
    writer = TransitionWriter(tmp_path, world="corridor", caption_version=1)
    assert not collect(setup(mix=parse_mix("reference")), writer, Target(transitions=10**6, skill="opener"))


def test_the_horizon_bounds_what_a_caption_tells(tmp_path):
    mix = parse_mix("reference")
    gather(tmp_path / "short", 400, mix=mix, horizon=1)
    gather(tmp_path / "long", 400, mix=mix, horizon=100)

    def farthest(folder):
        found = 0
        for row in rows_of(read_transitions(folder)):
            line = row.caption.split("\n")[1]
            if "from" in line:
                words = line.split()
                found = max(found, abs(int(words[2]) - int(words[4])))
        return found

    assert farthest(tmp_path / "short") == 1
    assert farthest(tmp_path / "long") > 3


def test_each_policy_gets_its_share_of_any_stretch():
    made = setup(mix=parse_mix("reference:0.7,random:0.2,mine.py:0.1"))
    for start in (0, 1000):
        names = [made.policy_of(number) for number in range(start, start + 100)]
        assert [names.count(name) for name in ("reference", "random", "mine.py")] == pytest.approx(
            [70, 20, 10], abs=2
        )


def test_mixes_are_read():
    assert parse_mix("reference:0.7, random:0.3") == (Share("reference", 0.7), Share("random", 0.3))
    assert parse_mix("a/b:c.py") == (Share("a/b:c.py", 1.0),)
    assert parse_mix("reference:1,random:0") == (Share("reference", 1.0),)


@pytest.mark.parametrize(
    "text",
    [
        "", "reference:-1", "reference:0", "reference:1,reference:2", ":1",
        "reference:nan", "reference:inf,random:1", "reference:1,random:-inf", "reference:1e308,random:1e308",
    ],
)  # fmt: skip
def test_a_mix_that_is_none_is_refused(text):
    with pytest.raises(ConfigError, match="--mix"):
        parse_mix(text)


def test_an_unknown_policy_is_named(tmp_path):
    with pytest.raises(PolicyFileError, match="there is no policy 'refernce'"):
        gather(tmp_path, 10, mix=parse_mix("refernce"))


def test_nethack_gives_facts_and_rare_events(tmp_path):
    writer = TransitionWriter(tmp_path, world="nethack", caption_version=caption_version("nethack"))
    collect(
        setup("nethack", parse_mix("reference:0.8,random:0.2"), episode_steps=600), writer, Target(steps=4000)
    )
    rows = rows_of(read_transitions(tmp_path))
    assert {row.stratum for row in rows} >= {"kill", "fight", "item", "message", "quiet"}
    assert any(row.depth_before != row.depth_after for row in rows)
    assert all(0 <= row.hunger_after <= 6 and row.max_hp_after > 0 for row in rows)
    for row in rows:
        assert ("Dungeon level: same" in row.caption) == (row.depth_before == row.depth_after)
        assert ("Gold: rose" in row.caption) == (row.gold_after > row.gold_before)


RESTER = """
class Rester:
    world_options = {options!r}

    def __init__(self, num_games):
        pass

    def reset(self, index, seed):
        pass

    def act(self, world, skills):
        wait = world.action_names.index("wait")
        return [-1 if skill is None else wait for skill in skills]


make_skill_policy = Rester
"""


def longest_rest(folder, options) -> int:
    """Let a policy that only waits play a chunk and give the most turns that one of its steps took."""
    folder.mkdir()
    policy = folder / "rester.py"
    policy.write_text(RESTER.format(options=options), encoding="utf-8")
    player = Player(setup("nethack", parse_mix(str(policy)), episode_steps=40), str(policy))
    turns = []
    step = player.world.step

    def noted(actions):
        before = [state.turn for state in player.world.states]
        result = step(actions)
        turns.extend(state.turn - was for state, was in zip(player.world.states, before, strict=True))
        return result

    player.world.step = noted
    assert player.play(range(4)).steps > 0
    return max(turns)


def test_a_policy_is_collected_in_the_world_it_plays_in(tmp_path):
    assert longest_rest(tmp_path / "usual", {}) > 10
    assert longest_rest(tmp_path / "short", {"rest_moves": 2}) <= 2
    with pytest.raises(PolicyFileError, match=r"rester\.py.* with rest_moves=0.*no such world"):
        longest_rest(tmp_path / "wrong", {"rest_moves": 0})
