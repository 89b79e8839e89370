"""Facts read from the engine, each checked against something else that knows it: the status line, lists, commands."""

from __future__ import annotations

import re

import numpy as np
import pytest

from maestro.envs.nethack import ACTION, ACTION_NAMES, layout, make_world, situations
from maestro.envs.nethack.engine import Place, Truth
from maestro.envs.nethack.names import GLYPH_NAMES
from maestro.errors import EngineError

HUNGER = ("Satiated", "Not hungry", "Hungry", "Weak", "Fainting", "Fainted", "Starved")


@pytest.fixture(scope="module")
def wizard():
    world = situations.make_wizard_world(inventory_shown=True)
    yield world
    world.close()


@pytest.fixture(scope="module")
def pair():
    world = make_world(2, inventory_shown=True)
    yield world
    world.close()


def begin(world, seed: int) -> Truth:
    for index in range(world.num_games):
        world.seed(index, seed + index, seed)
    world.reset()
    return world.truth(0)


def begin_in_minetown(world) -> Truth:
    """Begin a game whose Minetown has a general store, outside of it (Minetown can be in ruins)."""
    for seed in range(20, 60):
        truth = begin(world, seed)
        situations.visit(world, 0, "minetn")
        if any(shop.kind == 0 for shop in truth.shops()) and not truth.is_in_shop:
            return truth
    raise AssertionError("no game with a general store in Minetown")


def lines(world) -> list[str]:
    return [bytes(row).decode("latin-1").rstrip() for row in world.screen(0).chars]


def ask(world, command: bytes) -> list[str]:
    """Let the game show something full of text, read it, and go back to the game."""
    game = world.games[0]
    for key in command:
        game.instance.send(key)
    shown = lines(world)
    world.send_keys(0, b"\x1b\x1b\x1b")
    return shown


def test_hero_and_place_agree_with_the_status_line_all_along(pair):
    begin(pair, 5)
    actions = np.random.default_rng(3).integers(0, len(ACTION_NAMES), (400, 2)).tolist()
    compared = 0
    for step in actions:
        pair.step([-1 if pair.games[i].is_over else step[i] for i in range(2)])
        for index in range(2):
            if pair.games[index].is_over or pair.states[index].prompt:
                continue
            state, truth = pair.states[index], pair.truth(index)
            column, row = pair.observation["blstats"][index][:2]
            assert (state.experience_level, state.level, state.depth, state.hp, state.gold) == (
                truth.experience_level,
                truth.place.level,
                truth.depth(truth.place),
                truth.hp,
                truth.gold,
            )
            assert HUNGER[truth.hunger] == state.hunger
            assert truth.position == (column + 1, row)
            compared += 1
    assert compared > 150


def test_inventory_is_what_the_game_lists(pair):
    begin(pair, 8)
    for index in range(2):
        listed = pair.games[index].inventory()
        letters = [chr(code) for code in pair.observation["inv_letters"][index] if code]
        items = pair.truth(index).inventory()
        assert [item.letter for item in items] == letters
        for item, text in zip(items, listed, strict=True):
            count = re.match(r"(\d+) ", text)
            assert item.quantity == (int(count[1]) if count else 1)
            # "uncursed" is left out of names that tell the enchantment, so only what is said is compared.
            said = re.search(r"\b(blessed|uncursed|cursed)\b", text)
            assert item.is_status_known and (said is None or item.status == said[1])


def test_what_is_dropped_lies_on_the_floor(wizard):
    truth = begin(wizard, 3)
    situations.wish(wizard, 0, "3 cursed candles")
    (carried,) = [item for item in truth.inventory() if item.quantity == 3 and item.object_class == 6]
    assert carried.status == "cursed" and not carried.is_status_known
    before = truth.floor()
    wizard.send_keys(0, f"d{carried.letter}")
    (dropped,) = [item for item in truth.floor() if item not in before]
    assert (dropped.id, dropped.kind, dropped.quantity) == (carried.id, carried.kind, 3)
    assert all(item.id != carried.id for item in truth.inventory())


def test_appearances_and_knowledge_of_kinds(wizard):
    truth = begin(wizard, 3)
    message = situations.wish(wizard, 0, "potion of speed")
    shown = re.search(r"- an? (.+) potion\.", message)
    potion = truth.inventory()[-1]
    assert shown and truth.hidden_kind(potion.kind) == f"potion: {shown[1]}"
    assert (truth.is_identified(potion.kind), truth.base_price(potion.kind)) == (False, 200)
    wizard.send_keys(0, f"q{potion.letter}")
    assert truth.is_identified(potion.kind) and truth.hidden_kind(potion.kind) == ""
    for plain in ("potion of water", "scroll of blank paper", "spellbook of blank paper", "novel"):
        situations.wish(wizard, 0, plain)
        item = truth.inventory()[-1]
        assert not truth.is_identified(item.kind) and truth.hidden_kind(item.kind) == "", plain


def test_every_named_level_is_where_the_engine_says(wizard):
    truth = begin(wizard, 4)
    for name in ("oracle", "minetn", "minend", "soko1", "bigrm", "medusa", "castle"):
        if name not in truth.special_levels:
            continue
        situations.visit(wizard, 0, name)
        assert truth.place == truth.special_levels[name], name
        assert wizard.states[0].depth == truth.depth(truth.place)
    situations.visit(wizard, 0, "oracle")
    wizard.send_keys(0, b"\x06")  # map the level, so that its centaurs' statues and fountains show
    assert "fountain" in wizard.states[0].in_view


def test_branch_and_stairs_lead_where_they_should(wizard):
    truth = begin(wizard, 2)
    situations.visit(wizard, 0, truth.branch_depth)
    situations.teleport(wizard, 0, *truth.branch_stairs)
    wizard.step([ACTION["down"]])
    assert truth.place == Place(truth.mines, 1) and wizard.states[0].dungeon == "Gnomish Mines"
    situations.teleport(wizard, 0, *truth.stairs_down)
    wizard.step([ACTION["down"]])
    assert (
        truth.place == Place(truth.mines, 2) and truth.position == truth.stairs_up and truth.is_on_stairs_up
    )
    assert truth.deepest_reached(truth.mines) == 2


def test_kills_are_those_the_game_lists(wizard):
    truth = begin(wizard, 6)
    for _ in range(3):
        wizard.send_keys(0, b"\x07lichen\r")  # create one beside the hero
    for _ in range(200):
        glyphs = wizard.observation["glyphs"][0]
        column, row = wizard.observation["blstats"][0][:2]
        names = {key: GLYPH_NAMES.get(glyphs[row + dy, column + dx]) for key, (dx, dy) in _DIRECTIONS.items()}
        if "lichen" not in names.values():
            break
        wizard.send_keys(0, "F" + next(key for key, name in names.items() if name == "lichen"))
    shown = ask(wizard, b"#vanquished\r\r")
    listed = [line for line in shown if "lichen" in line]
    assert truth.kills == 3 and any("3 lichens" in line for line in listed), shown


_DIRECTIONS = {
    "h": (-1, 0), "l": (1, 0), "k": (0, -1), "j": (0, 1), "y": (-1, -1), "u": (1, -1), "b": (-1, 1), "n": (1, 1)
}  # fmt: skip


def test_meals_count_when_begun_and_not_when_resumed(wizard):
    truth = begin(wizard, 0)
    situations.wish(wizard, 0, "2 blessed food rations")
    letter = truth.inventory()[-1].letter
    wizard.send_keys(0, b"\x07newt\r")  # to disturb the meal
    assert truth.meals == 0
    wizard.send_keys(0, f"e{letter}")
    assert truth.meals == 1
    resumed = 0
    for _ in range(10):
        partly = [text for text in wizard.games[0].inventory() if "partly eaten food ration" in text]
        if not partly:
            break
        letters = [chr(code) for code in wizard.observation["inv_letters"][0]]
        wizard.send_keys(0, "e" + letters[wizard.games[0].inventory().index(partly[0])])
        resumed += "You resume" in wizard.states[0].message
        assert truth.meals == 1
    assert resumed > 0
    wizard.send_keys(0, f"e{letter}")
    assert truth.meals == 2


def test_a_shop_its_keeper_and_its_offers(wizard):
    truth = begin_in_minetown(wizard)
    situations.wish(wizard, 0, "2 scrolls of light")
    assert not truth.is_in_shop and truth.shopkeeper() is None
    situations.enter_shop(wizard, 0)
    keeper = truth.shopkeeper()
    assert truth.is_in_shop and keeper is not None and keeper.gold > 0 and keeper.credit == 0
    scrolls = truth.inventory()[-1]
    wizard.step([ACTION["drop"]])
    offer = re.search(r"offers (\d+) gold", wizard.states[0].prompt)
    assert offer and int(offer[1]) == truth.offer_for(scrolls, keeper)
    wizard.step([ACTION["northwest"]])
    after = truth.shopkeeper()
    assert after is not None and keeper.gold - after.gold == int(offer[1]) == truth.gold


def test_altars_are_where_the_hero_can_step_on_them(wizard):
    truth = begin(wizard, 2)
    assert not truth.is_on_altar and truth.altars() == []
    truth = begin_in_minetown(wizard)
    assert situations.step_on_altar(wizard, 0) == truth.position and truth.is_on_altar


def test_overview_lists_what_the_command_lists(wizard):
    truth = begin(wizard, 7)
    places = (2, 3, truth.branch_depth, "minetn", 4, 1, "oracle", 7, "bigrm", 3)
    for place in places:
        if isinstance(place, str) and place not in truth.special_levels:
            continue
        situations.visit(wizard, 0, place)
        shown = ask(wizard, b"#overview\r")
        if any("--More--" in line or re.search(r"\(\d of \d\)", line) for line in shown):
            continue
        listed = [int(number) for line in shown for number in re.findall(r"Level (\d+):", line)]
        assert sorted(listed) == sorted(truth.depth(level) for level in truth.levels_in_overview())
        heading = re.search(r"The Gnomish Mines: levels (\d+) to (\d+)", "\n".join(shown))
        if heading:
            mines = [truth.depth(Place(truth.mines, n)) for n in (1, truth.deepest_reached(truth.mines))]
            assert [int(heading[1]), int(heading[2])] == mines


def test_reading_changes_nothing_and_leaves_no_handle_behind():
    def play(with_truth: bool) -> list[bytes]:
        world, seen = make_world(1), []
        for episode in range(3):
            world.seed(0, 11, 12 + episode)
            world.reset()
            for action in np.random.default_rng(episode).integers(0, 28, 120).tolist():
                if world.games[0].is_over:
                    break
                if with_truth:
                    truth = world.truth(0)
                    assert truth.kills >= 0 and truth.inventory() and truth.floor() is not None
                    truth.levels_in_overview(), truth.shops(), truth.altars()
                world.step([action])
                seen.append(world.observation["glyphs"].tobytes() + world.observation["blstats"].tobytes())
        world.close()
        return seen

    assert play(with_truth=True) == play(with_truth=False)


def test_a_released_truth_says_so_and_a_new_game_has_its_own(pair):
    first = begin(pair, 1)
    oracle = first.special_levels["oracle"]
    seeds_differ = {pair.truth(i).special_levels["oracle"] for i in range(2)}
    pair.seed(0, 2, 1)
    pair.reset([0])
    for question in (lambda: first.kills, lambda: first.place, first.inventory, lambda: first.special_levels):
        with pytest.raises(EngineError, match="reset or closed"):
            question()
    first.release()
    assert pair.truth(0) is not first and pair.truth(0).special_levels["oracle"] in {
        oracle,
        *seeds_differ,
        Place(0, 7),
    }


def test_a_library_no_game_has_loaded_is_refused(tmp_path):
    with pytest.raises(EngineError, match="no running game"):
        Truth(str(tmp_path / "libnethack.so"))


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("DUNGEON_DEPTH", 48),
        ("DUNGEON_SIZE", 64),
        ("SPECIAL_PLACE", 16),
        ("SPECIAL_NAME", 12),
        ("TOPOLOGY_MINES", 40),
    ],
)
def test_another_layout_is_noticed(pair, monkeypatch, fact, value):
    begin(pair, 1)
    pair.truth(0).release()
    monkeypatch.setattr(layout, fact, value)
    with pytest.raises(EngineError, match="memory layout"):
        Truth(pair.games[0].instance.library_path)


def test_a_status_line_that_disagrees_is_noticed(pair):
    begin(pair, 1)
    blstats = pair.observation["blstats"][0].copy()
    path = pair.games[0].instance.library_path
    Truth(path, blstats).release()
    blstats[18] += 1
    with pytest.raises(EngineError, match="status line"):
        Truth(path, blstats)
