"""The NetHack world: batched, seeded, joined messages, honest ends of episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maestro.envs import make_world
from maestro.envs.nethack import ACTION, ACTION_NAMES, FIELD_DOCS, State
from maestro.envs.world import IDLE
from maestro.errors import MaestroError, WorldError


def random_actions(steps: int, num_games: int, seed: int = 0) -> list[list[int]]:
    return np.random.default_rng(seed).integers(0, len(ACTION_NAMES), (steps, num_games)).tolist()


def play(seed: int, actions: list[int]) -> list:
    """Play one game alone; return (state, reward, glyphs, message bytes) after every step until it ends."""
    world = make_world("nethack", 1)
    try:
        world.seed(0, seed, seed + 1)
        world.reset()
        seen = [world.states[0]]
        for action in actions:
            result = world.step([action])
            glyphs, message = world.observation["glyphs"], world.observation["message"]
            seen.append((world.states[0], float(result.reward[0]), glyphs.tobytes(), message.tobytes()))
            if result.terminated[0]:
                break
        return seen
    finally:
        world.close()


@pytest.fixture
def world():
    made = make_world("nethack", 3)
    for index in range(3):
        made.seed(index, 10 + index, 20 + index)
    made.reset()
    yield made
    made.close()


def test_state_documents_every_field():
    assert list(FIELD_DOCS) == list(State._fields)
    assert all(text.endswith(".") for text in FIELD_DOCS.values())


def test_same_seeds_replay_bit_for_bit():
    actions = [row[0] for row in random_actions(400, 1)]
    assert play(5, actions) == play(5, actions)


def test_other_seeds_differ():
    actions = [row[0] for row in random_actions(50, 1)]
    assert play(5, actions) != play(6, actions)


def test_a_game_is_the_same_in_a_batch(world):
    actions = random_actions(200, 3, seed=3)
    alone = play(11, [row[1] for row in actions])
    world.seed(1, 11, 12)
    world.reset()
    assert world.states[1] == alone[0]
    for row, expected in zip(actions, alone[1:], strict=False):
        result = world.step([IDLE if world.games[i].is_over else a for i, a in enumerate(row)])
        glyphs, message = world.observation["glyphs"][1], world.observation["message"][1]
        assert (world.states[1], float(result.reward[1]), glyphs.tobytes(), message.tobytes()) == expected
        if result.terminated[1]:
            break


def test_reset_without_a_seed_begins_another_game(world):
    first = world.observation["glyphs"].copy()
    world.reset()
    assert (world.observation["glyphs"] != first).any()


def test_idle_games_do_not_move(world):
    before = world.states[1], world.observation["glyphs"][1].copy()
    for _ in range(20):
        world.step([ACTION["search"], IDLE, ACTION["search"]])
    assert world.states[1] is before[0]
    assert (world.observation["glyphs"][1] == before[1]).all()
    assert world.states[0].step == 20


def test_kept_states_and_copies_do_not_change(world):
    kept = world.states[0]
    fields = tuple(kept)
    copy = world.observation["blstats"].copy()
    for row in random_actions(50, 3, seed=1):
        world.step([IDLE if world.games[i].is_over else a for i, a in enumerate(row)])
    assert tuple(kept) == fields
    assert (world.observation["blstats"] != copy).any()
    with pytest.raises(AttributeError):
        kept.depth = 3  # type: ignore[misc]


def test_time_limit_truncates_and_does_not_terminate():
    world = make_world("nethack", 1, max_steps=5)
    world.seed(0, 1, 1)
    world.reset()
    flags = [world.step([ACTION["search"]]) for _ in range(4)]
    assert not any(f.truncated[0] for f in flags)
    last = world.step([ACTION["search"]])
    assert bool(last.truncated[0]) and not last.terminated[0]
    world.close()


def test_reward_is_the_difference_of_score(world):
    total = np.zeros(3)
    for row in random_actions(150, 3, seed=2):
        row = [IDLE if world.games[i].is_over else a for i, a in enumerate(row)]
        total += world.step(row).reward
    assert total.tolist() == [state.score for state in world.states]


def test_a_dead_hero_keeps_his_last_status_and_refuses_to_act():
    world = make_world("nethack", 1)
    for seed in range(40):
        world.seed(0, seed, seed)
        world.reset()
        for _ in range(60):  # praying again and again angers any god
            result = world.step([ACTION["pray"]])
            if result.terminated[0]:
                break
        if result.terminated[0]:
            break
    state = world.states[0]
    assert result.terminated[0]
    assert world.ending(0) == "DIED"
    assert state.max_hp > 0 and state.depth == 1 and state.turn > 1
    assert "die" in state.message.lower()
    with pytest.raises(WorldError, match="has ended"):
        world.step([ACTION["search"]])
    world.step([IDLE])
    world.close()


def test_unknown_action_and_option_are_refused(world):
    with pytest.raises(WorldError, match="action 28 of game 2"):
        world.step([0, 0, 28])
    with pytest.raises(WorldError, match="max_steps is 0"):
        make_world("nethack", 1, max_steps=0)
    with pytest.raises(WorldError, match="characters"):
        make_world("nethack", 1, characters="val")
    with pytest.raises(WorldError, match="num_games is 0"):
        make_world("nethack", 0)


@pytest.mark.parametrize(
    ("character", "words"),
    [("val-hum-neu-fem", "Valkyrie"), ("wiz-elf-cha-mal", "male elven Wizard"), ("@", "You are a")],
)
def test_any_role_can_be_played(character, words):
    world = make_world("nethack", 1, character=character)
    world.seed(0, 3, 3)
    world.reset()
    assert words in world.states[0].message
    world.close()


def test_installed_nle_is_not_touched(world):
    """The options come from a file of the game's own folder; nothing of the installation is written to."""
    from pathlib import Path

    import nle

    folder = Path(nle.__file__).parent
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if "__pycache__" not in str(path)}
    for index in range(3):
        world.seed(index, index, index)  # with chance's own seeds a game may be over within twenty steps
    world.reset()
    for row in random_actions(20, 3):
        world.step(row)
    assert before == {p: p.stat().st_mtime_ns for p in folder.rglob("*") if "__pycache__" not in str(p)}


def test_captions_tell_messages_and_changes(world):
    start = world.states[0]
    world.step([ACTION["kick"]] * 3)
    world.step([ACTION["east"]] * 3)
    lines = world.caption(0, start).split("\n")
    assert len(lines) == 6
    assert lines[0].startswith('Messages: "In what direction?" then "')
    assert lines[1] == "Dungeon level: same"


@pytest.mark.slow
def test_half_a_million_random_steps_do_not_leak():
    """Thousands of games are begun and ended on the way: resident memory stays within 5 % after the start."""
    import psutil

    world = make_world("nethack", 16)
    world.reset()
    sizes = []
    for part in range(10):
        for row in random_actions(3_000, 16, seed=part):
            result = world.step(row)
            over = np.flatnonzero(result.terminated | result.truncated).tolist()
            if over:
                world.reset(over)
        sizes.append(psutil.Process().memory_info().rss / 2**20)
    world.close()
    assert sizes[-1] < 1.05 * sizes[2], sizes


@pytest.mark.parametrize(
    ("character", "problem"),
    [
        ("mon-orc-neu-mal", "cannot be of the race 'orc'"),
        ("val-hum-law-mal", "cannot be 'mal'"),
        ("xyz-hum-neu-mal", "there is no role 'xyz'"),
        ("ran-elf-neu-fem", "cannot be 'neu'"),
        ("monk", "role-race-alignment-gender"),
    ],
)
def test_a_hero_that_cannot_be_is_refused(character, problem):
    with pytest.raises(MaestroError, match=problem):
        make_world("nethack", 1, character=character)


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_a_seed_that_the_engine_cannot_take_is_refused(world, seed):
    with pytest.raises(WorldError, match="the seed is"):
        world.seed(0, seed, 0)


def test_nothing_is_played_where_one_action_is_refused(world):
    for index in range(3):
        world.seed(index, index, index)
    world.reset()
    before, turns = list(world.states), [state.turn for state in world.states]
    for actions in ([ACTION["search"], ACTION["search"], 28], [28, 0, 0], [0, 0], [0, 0, 0, 0]):
        with pytest.raises(WorldError):
            world.step(actions)
    assert world.states == before
    world.step([ACTION["search"]] * 3)
    assert [state.turn for state in world.states] == [turn + 1 for turn in turns]


def test_a_truncated_game_is_over_until_it_is_reset():
    world = make_world("nethack", 1, max_steps=3)
    world.seed(0, 1, 1)
    world.reset()
    for _ in range(3):
        result = world.step([ACTION["search"]])
    assert result.truncated[0]
    with pytest.raises(WorldError, match="has ended"):
        world.step([ACTION["search"]])
    world.reset([0])
    world.step([ACTION["search"]])
    world.close()


def test_no_game_finds_what_was_told_of_the_last(world):
    folder = Path(world.games[0].instance._folder.name)
    for name in ("record", "logfile", "xlogfile"):
        (folder / name).write_text("somebody died here")
    world.reset([0])
    assert [(folder / name).stat().st_size for name in ("record", "logfile", "xlogfile")] == [0, 0, 0]
