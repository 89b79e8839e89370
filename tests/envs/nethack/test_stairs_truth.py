"""The engine keeps the stairs out of the dungeon apart from all others; `Truth` knows both kinds."""

from __future__ import annotations

from maestro.envs.nethack import ACTION, make_world


def test_the_hero_begins_on_the_stairs_out_and_leaves_them_by_walking():
    world = make_world(2)
    for index in range(2):
        world.seed(index, core=index + 1, disp=index + 1)
    world.reset()
    assert [world.truth(index).is_on_stairs_up for index in range(2)] == [True, True]
    before = [world.truth(index).position for index in range(2)]
    world.step([ACTION["far_west"]] * 2)
    for index in range(2):
        assert world.truth(index).position != before[index]
        assert world.truth(index).is_on_stairs_up is False
    world.close()
