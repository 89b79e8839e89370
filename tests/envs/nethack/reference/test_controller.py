"""Single decisions of the brain on painted maps."""

import pytest
from nle import nethack

from maestro.envs.nethack.reference import actions as A
from maestro.envs.nethack.reference import glyphs as G
from maestro.envs.nethack.reference import make_random_policy
from maestro.envs.nethack.reference.controller import Brain
from maestro.errors import UnknownNameError

BOULDER = next(
    G.OBJECT + i for i in range(nethack.NUM_OBJECTS) if nethack.OBJ_NAME(nethack.objclass(i)) == "boulder"
)
POTION = next(
    G.OBJECT + i for i in range(nethack.NUM_OBJECTS) if ord(nethack.objclass(i).oc_class) == G.POTION
)


def monster(name: str) -> int:
    return G.MONSTER_INDEX[name]


@pytest.fixture
def brain() -> Brain:
    return Brain(0)


def test_takes_the_staircase_it_stands_next_to(painted, brain):
    painted.paint("-----", "|@>.|", "-----")
    assert brain.act(painted, 0, "descender") == A.EAST
    painted.paint("-----", "|.@.|", "-----")
    assert brain.act(painted, 0, "descender") == A.DOWN


def test_ascender_goes_up_and_discoverer_does_not(painted, brain):
    painted.paint("-----", "|@<.|", "-----")
    assert brain.act(painted, 0, "ascender") == A.EAST
    painted.paint("-----", "|.@.|", "-----")
    assert brain.act(painted, 0, "ascender") == A.UP
    assert brain.act(painted, 0, "discoverer") not in (A.UP, A.DOWN)


def test_goes_straight_through_doors(painted, brain):
    painted.paint("-------", "|....|", "|.@../.>", "|....|", "------")
    painted.paint("------  ", "|...@|  ", "|..../.>", "|....|  ", "------  ")
    assert brain.act(painted, 0, "descender") == A.SOUTH  # the door allows no diagonal step


def test_runs_where_the_way_ends_at_a_wall(painted, brain):
    painted.paint("---------", "|@.....>|", "---------")
    assert brain.act(painted, 0, "descender") == A.EAST + A.FAR


def test_walks_round_a_trap(painted, brain):
    painted.paint("------", "|@^>.|", "|....|", "------")
    assert brain.act(painted, 0, "descender") == A.SOUTHEAST


def test_strikes_an_enemy_but_no_floating_eye(painted, brain):
    painted.paint("-----", "|@n.|", "-----", names={"n": monster("newt")})
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.paint("-----", "|@n>|", "|...|", "-----", names={"n": monster("floating eye")})
    assert brain.act(painted, 0, "descender") == A.SOUTHEAST


@pytest.mark.parametrize("name", ["shopkeeper", "watchman", "Oracle", "aligned priest"])
def test_never_strikes_whom_it_must_not(painted, brain, name):
    painted.paint("-----", "|@n.|", "-----", names={"n": monster(name)})
    for skill in ("discoverer", "descender", "ascender"):
        assert brain.act(painted, 0, skill) not in (A.EAST, A.EAST + A.FAR)


def test_says_no_to_attacking_the_peaceful_and_remembers(painted, brain):
    painted.paint("-----", "|@n.|", "-----", names={"n": monster("gnome")})
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.say("Really attack the gnome?", "Really attack the gnome?")
    assert brain.act(painted, 0, "discoverer") == A.NO
    painted.say()
    for _ in range(5):
        assert brain.act(painted, 0, "discoverer") != A.EAST


def test_prays_when_dying_and_only_then(painted, brain):
    painted.paint("-----", "|@n.|", "-----", names={"n": monster("jackal")})
    painted.set(turn=500)
    assert brain.act(painted, 0, "descender") == A.EAST
    painted.set(turn=501, hp=2)
    assert brain.act(painted, 0, "descender") == A.PRAY
    painted.set(turn=510)
    assert brain.act(painted, 0, "descender") != A.PRAY


def test_does_not_pray_in_the_first_turns(painted, brain):
    painted.paint("-----", "|@n.|", "-----", names={"n": monster("jackal")})
    painted.set(turn=20, hp=2)
    assert brain.act(painted, 0, "descender") == A.EAST


def test_eats_what_it_carries_when_hungry(painted, brain):
    painted.paint("-----", "|@..|", "-----")
    painted.set(hunger=2)
    painted.observation["inv_oclasses"][0, 0] = G.FOOD
    painted.observation["inv_strs"][0, 0, :6] = list(b"apple\0")
    assert brain.act(painted, 0, "discoverer") == A.EAT
    painted.say("What do you want to eat? [a or ?*]", "What do you want to eat? [a or ?*]")
    assert brain.act(painted, 0, "discoverer") == A.YES


def test_leaves_an_old_newt_corpse_alone(painted, brain):
    painted.paint("-----", "|@..|", "-----")
    painted.set(hunger=2)
    painted.observation["inv_oclasses"][0, 0] = G.FOOD
    painted.observation["inv_strs"][0, 0, :12] = list(b"newt corpse\0")
    assert brain.act(painted, 0, "discoverer") != A.EAT
    painted.say("There is a newt corpse here; eat it?", "There is a newt corpse here; eat it?")
    assert brain.act(painted, 0, "discoverer") == A.NO


def test_kicks_a_locked_door_then_gives_the_direction(painted, brain):
    painted.paint("-----  ", "|..@+ >", "-----  ")
    painted.paint("-----", "|..@+", "-----")
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.say("This door is locked.")
    assert brain.act(painted, 0, "discoverer") == A.KICK
    painted.say("In what direction?", "In what direction?")
    assert brain.act(painted, 0, "discoverer") == A.EAST


def test_kicks_no_doors_in_the_mines(painted, brain):
    painted.set(dungeon=2)
    painted.paint("-----", "|..@+", "-----")
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.say("This door is locked.")
    for _ in range(10):
        assert brain.act(painted, 0, "discoverer") != A.KICK


def test_collects_and_keeps_out_of_shops(painted, brain):
    goods = {"!": POTION}
    painted.paint("------", "|@..!|", "------", names=goods)
    assert brain.act(painted, 0, "discoverer") in (A.EAST, A.EAST + A.FAR)
    other = Brain(1)
    goods["S"] = monster("shopkeeper")
    painted.set(level=2)
    painted.paint("------     ", "|@...|-----", "|..../S.!!|", "------.!!!|", "     -----", names=goods)
    shop = 0
    for _ in range(30):
        assert other.act(painted, 0, "discoverer") != A.DROP
        shop = other.senses.level.shop
        assert other.mover.target < 0 or not shop >> other.mover.target & 1
    assert shop.bit_count() == 8


def test_sells_on_bare_floor_inside_the_shop(painted, brain):
    goods = {"!": POTION, "S": monster("shopkeeper")}
    painted.say(num_items=2)
    painted.paint("-----------", "|....|.!!!|", "|.@../S.!!|", "|....|.!!!|", "-----------", names=goods)
    for skill in ("discoverer", "merchant"):
        assert brain.act(painted, 0, skill) != A.DROP
    painted.paint("-----------", "|....|.!!!|", "|..../S!!!|", "|....|@!!!|", "-----------", names=goods)
    assert brain.act(painted, 0, "merchant") == A.DROP
    painted.say("Sell it?", "A shopkeeper offers 50 gold pieces for your potion.  Sell it?", num_items=2)
    assert brain.act(painted, 0, "merchant") == A.YES
    painted.say(num_items=0)
    assert brain.act(painted, 0, "merchant") != A.DROP


def test_lays_things_on_an_altar(painted, brain):
    painted.say(num_items=2)
    painted.paint("------", "|@.._|", "------")
    assert brain.act(painted, 0, "worshipper") in (A.EAST, A.EAST + A.FAR)
    painted.paint("------", "|...@|", "------")
    assert brain.act(painted, 0, "worshipper") == A.DROP


def test_pushes_a_boulder_only_where_nothing_else_is_left(painted, brain):
    painted.paint("#######", "#@*.>##", "#...###", names={"*": BOULDER})
    assert brain.act(painted, 0, "descender") in (A.NORTHEAST, A.SOUTHEAST)
    alone = Brain(1)
    painted.set(level=2)
    painted.paint("-----", "|@*>|", "-----", names={"*": BOULDER})
    assert A.EAST in [alone.act(painted, 0, "descender") for _ in range(200)]


def test_searches_when_the_level_seems_to_end(painted, brain):
    painted.paint("-----", "|@..|", "|...|", "-----")
    actions = {brain.act(painted, 0, "descender") for _ in range(12)}
    assert A.SEARCH in actions


def test_random_policy_is_seeded_and_leaves_idle_games_alone():
    first, second = make_random_policy(2), make_random_policy(2)
    for policy in (first, second):
        policy.reset(0, 7)
    drawn = [first.act(None, ["discoverer", None]) for _ in range(50)]
    assert drawn == [second.act(None, ["discoverer", None]) for _ in range(50)]
    assert {b for _, b in drawn} == {-1}
    assert {a for a, _ in drawn} <= set(range(28))
    assert len({a for a, _ in drawn}) > 10


def test_touches_a_cockatrice_only_with_gloves(painted, brain):
    painted.paint("------", "|.@c.|", "|....|", "------", names={"c": monster("cockatrice")})
    assert brain.act(painted, 0, "descender") in (A.WEST, A.SOUTHWEST)
    painted.observation["inv_strs"][0, 0, :27] = list(b"leather gloves (being worn)")
    assert brain.act(painted, 0, "descender") == A.EAST


def test_strikes_nobody_it_cannot_tell_from_a_priest(painted, brain):
    painted.paint("------", "|.@n.|", "------", names={"n": monster("aligned priest")})
    brain.act(painted, 0, "discoverer")
    painted.observation["blstats"][0, 25] = 512  # hallucinating
    painted.paint("------", "|.@n.|", "------", names={"n": monster("newt")})
    assert brain.act(painted, 0, "discoverer") != A.EAST


def test_takes_up_again_what_it_laid_on_the_altar(painted, brain):
    goods = {"!": POTION}
    painted.paint("-------", "|....@|", "-------")
    painted.observation["glyphs"][0, 1, 5] = 337
    brain.act(painted, 0, "worshipper")
    painted.say(num_items=1)
    brain.senses.level.altars = 1 << brain.senses.cell
    assert brain.act(painted, 0, "worshipper") == A.DROP
    painted.say(num_items=0)
    painted.paint("-------", "|...@!|", "-------", names=goods)
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.say(num_items=1)
    painted.paint("-------", "|....@|", "-------")
    assert brain.act(painted, 0, "worshipper") != A.DROP


def test_looks_for_stairs_under_objects(painted, brain):
    painted.paint("------", "|@..!|", "------", names={"!": BOULDER - 1})
    assert brain.act(painted, 0, "descender") in (A.EAST, A.EAST + A.FAR)
    painted.paint("------", "|...@|", "------")
    painted.say("There is a staircase down here.  You see here a chest.")
    assert brain.act(painted, 0, "descender") == A.DOWN


def test_a_staircase_that_is_none_is_not_tried_again(painted, brain):
    painted.paint("------", "|.@.<|", "------")
    painted.set(level=2)
    brain.act(painted, 0, "ascender")
    brain.senses.level.ups[brain.senses.cell] = (0, 1)  # as after an arrival beside an occupied staircase
    assert brain.act(painted, 0, "ascender") == A.UP
    painted.say("You can't go up here.")
    assert brain.act(painted, 0, "ascender") in (A.EAST, A.EAST + A.FAR)


def test_eats_a_fresh_kill_when_nothing_is_carried(painted, brain):
    painted.paint("------", "|@j..|", "------", names={"j": monster("jackal")})
    painted.set(turn=600)
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.say("You kill the jackal!")
    painted.paint("------", "|@%..|", "------", names={"%": G.BODY + monster("jackal")})
    painted.set(turn=601)
    assert brain.act(painted, 0, "discoverer") == A.EAST
    painted.say()
    painted.paint("------", "|.@..|", "------")
    assert brain.act(painted, 0, "discoverer") == A.EAT
    painted.say("x", "There is a newt corpse here; eat it? [ynq] (n)")
    assert brain.act(painted, 0, "discoverer") == A.NO
    painted.say("x", "There is a jackal corpse here; eat it? [ynq] (n)")
    assert brain.act(painted, 0, "discoverer") == A.YES
    painted.say("x", "Stop eating? [yn] (y)")
    assert brain.act(painted, 0, "discoverer") == A.YES


def test_a_skill_that_nobody_wrote_controllers_for_is_named(painted, brain):
    painted.paint("-----", "|.@.|", "-----")
    with pytest.raises(UnknownNameError, match=r"unknown skill 'digger'.*discoverer"):
        brain.act(painted, 0, "digger")
