"""Keys, macros, questions and pages of one game, tried on the real engine in wizard mode and out of it."""

from __future__ import annotations

import numpy as np
import pytest

from maestro.envs import make_world
from maestro.envs.nethack import ACTION, make_reference_policy
from maestro.envs.nethack.game import Game
from maestro.envs.nethack.keys import ACTION_NAMES, AGENT_ANSWERS, KEYS
from maestro.errors import WorldError

YES, NO = ACTION["northwest"], ACTION["southeast"]


def make_game(seed: int = 1, wizkit: str = "", **options):
    world = make_world("nethack", 1, **options)
    world.seed(0, seed, seed)
    world.reset(wizkit=wizkit)
    return world


@pytest.fixture
def game():
    world = make_game()
    yield world
    world.close()


@pytest.fixture
def wizard(monkeypatch):
    monkeypatch.setenv("USER", "root")
    worlds = []

    def make(wizkit: str = "", seed: int = 1):
        worlds.append(make_game(seed, wizkit, wizard=True))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


def act(world, name: str):
    world.step([ACTION[name]])
    return world.states[0]


def test_the_28_actions_stand_in_the_papers_order():
    assert len(ACTION_NAMES) == 28
    assert ACTION_NAMES[0] == "more" and ACTION_NAMES[17:20] == ("up", "down", "wait")
    assert ACTION_NAMES[20:] == ("kick", "eat", "search", "cast", "enhance", "pray", "quaff", "drop")
    assert KEYS[YES] == ord("y") and KEYS[NO] == ord("n")


def test_eat_asks_and_yes_takes_the_first_food(game):
    state = act(game, "eat")
    assert "want to eat?" in state.prompt
    turn = state.turn
    game.step([YES])
    state = game.states[0]
    assert state.prompt == ""
    assert state.turn > turn
    assert "You're finally finished" in state.message  # nobody is hungry on the first turn


def test_eat_is_declined_by_any_other_action(game):
    turn = act(game, "eat").turn
    state = act(game, "north")
    assert state.message == "Never mind." and state.prompt == ""
    assert state.turn == turn


def test_kick_waits_for_its_direction(game):
    assert act(game, "kick").prompt == "In what direction?"
    assert act(game, "west").prompt == ""


def test_wait_rests_many_turns_in_one_step():
    world = make_game(seed=7)
    before = world.states[0]
    after = act(world, "wait")
    world.close()
    assert after.step == before.step + 1
    assert after.turn - before.turn > 10


def test_a_world_may_rest_fewer_moves_in_a_step():
    def turns(moves):
        world = make_game(seed=7, rest_moves=moves)
        before = world.states[0].turn
        after = [act(world, "wait").turn - before for _ in range(4)]
        world.close()
        return after

    one = turns(1)
    assert one[-1] <= 4, "a move is a turn at most; a monk is faster"
    assert turns(4)[0] == one[-1]
    assert turns(12)[0] > one[-1]
    with pytest.raises(WorldError, match="rest_moves"):
        make_game(seed=7, rest_moves=26)


def second_level(seed: int, waits: int, **options) -> tuple:
    """Wait a while, walk down, and say what the second level is like."""
    world = make_game(seed, **options)
    for _ in range(waits):
        act(world, "search")
    policy = make_reference_policy(1)
    policy.reset(0, 0)
    while world.states[0].depth == 1:
        world.step(policy.act(world, ["descender"]))
    truth = world.truth(0)
    found = truth.position, truth.stairs_up, truth.stairs_down, truth.branch_stairs
    world.close()
    return found


def test_levels_below_are_fixed_by_the_seeds_if_wanted():
    for seed in (98748, 78125):  # the stairs are near
        assert second_level(seed, 0) != second_level(seed, 5), "in NetHack they depend on what was played"
        fixed = [second_level(seed, waits, fixed_levels=True) for waits in (0, 5, 9)]
        assert fixed[0] == fixed[1] == fixed[2]
    assert second_level(98748, 0, fixed_levels=True) != second_level(78125, 0, fixed_levels=True)


def test_going_down_begins_chance_anew_only_once_on_a_square(monkeypatch):
    world = make_game(seed=3, fixed_levels=True)
    given = []
    monkeypatch.setattr(world.games[0].instance, "reseed", lambda *seeds: given.append(seeds))
    for name in ("down", "down", "far_west", "down", "far_east", "down"):
        act(world, name)
    world.close()
    assert len(given) == len(set(given)) == 2


def test_leaving_the_dungeon_is_asked_and_declined():
    """The question is answered for the agent, but its text is part of the message."""
    for seed in range(30):
        world = make_game(seed)
        state = act(world, "up")
        world.close()
        if "Still climb?" in state.message:
            break
    assert "Beware, there will be no return!" in state.message
    assert state.prompt == "" and state.depth == 1


def test_drop_takes_only_what_was_not_there_at_the_start(wizard):
    world = wizard("blessed ruby\nfood ration")
    # what the kit added is there at the start: nothing may be dropped
    assert world.states[0].num_items == 0
    assert act(world, "drop").message == "Never mind."


def test_quaff_takes_the_first_potion(wizard):
    world = wizard("potion of water")
    assert "want to drink?" in act(world, "quaff").prompt
    world.step([YES])
    assert world.states[0].prompt == ""
    assert world.states[0].message != "Never mind."


def test_pages_of_one_step_are_joined(game):
    """A prayer takes three pages at least; all of them are in the message of its one step."""
    message = act(game, "pray").message
    assert message.startswith("You begin praying to ")
    assert "You finish your prayer." in message
    assert message.count(". ") >= 2 and "Chih Sung-tzu" in message.split("You finish your prayer.")[1]
    shown = bytes(game.observation["message"][0]).rstrip(b"\0").decode("latin-1")
    assert shown == message[:255]


def test_unwanted_questions_get_escape(game):
    """Nothing the agent can do leaves it in a question that is not on the list."""
    for seed in range(3):
        game.seed(0, seed, seed)
        game.reset()
        for step in range(200):
            if game.games[0].is_over:
                break
            game.step([(step * 7 + seed) % 28])
            prompt = game.states[0].prompt
            assert prompt == "" or AGENT_ANSWERS.search(prompt)


def test_two_stairs_down_tell_the_branch(wizard):
    """Mapping the levels shows two staircases on exactly one of the levels 2 to 4, and State says so."""
    world = wizard()
    found = {}
    for depth in (2, 3, 4):
        world.send_keys(0, b"\x16" + str(depth).encode() + b"\r")
        world.send_keys(0, b"\x06")
        found[depth] = world.states[0].branch_depth
    known = {depth for depth in found.values() if depth is not None}
    assert len(known) == 1
    branch = known.pop()
    assert branch in (2, 3, 4)
    assert found[4] == branch


def test_shopkeepers_and_altars_are_named_by_their_glyphs(wizard):
    world = wizard()
    assert "shopkeeper" not in world.states[0].in_view
    world.send_keys(0, b"\x07shopkeeper\ry")
    assert "shopkeeper" in world.states[0].in_view
    assert "shopkeeper" in world.states[0].nearby


def test_a_skill_that_can_be_advanced_is_advanced_where_one_line_says_so(game, monkeypatch):
    """With no page to click through, which is the usual case."""
    enhanced = []
    monkeypatch.setattr(Game, "_enhance", lambda one: enhanced.append(one))
    one = game.games[0]
    send = one._send

    def search_and_learn(key: int) -> None:
        send(key)
        text = b"You feel more confident in your fighting skills.  You kill the newt!"
        one._message[:] = np.frombuffer(text.ljust(256, b"\0"), np.uint8)

    one._send = search_and_learn
    state = act(game, "search")
    assert enhanced == [one]
    assert state.message == "You feel more confident in your fighting skills.  You kill the newt!"
    one._send = send
    act(game, "search")
    assert len(enhanced) == 1
