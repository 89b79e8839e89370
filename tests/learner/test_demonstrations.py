"""What is written down of games that the teacher, and at times the student, plays."""

import numpy as np
import pytest
import torch

from maestro.learner.demonstrations import (
    OBSERVED,
    DaggerConfig,
    Demonstrator,
    DemoSetup,
    Layout,
    flat_weights,
    make_games,
    put_weights,
)
from maestro.learner.games import GamesConfig
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork
from maestro.learner.payment import PayConfig

UNPAID = PayConfig(intrinsic_scale=0)
SMALL = NetworkConfig(core_size=16, vector_layers=(16,), hidden=16, head=0)


def demonstrator(**dagger) -> tuple[Demonstrator, Layout]:
    games = GamesConfig(world="corridor", num_games=4, pay=UNPAID)
    setup = DemoSetup(games, SMALL, 25, DaggerConfig(student_stretch=3, teacher_stretch=3, **dagger), 0)
    player = Demonstrator(setup, 0)
    return player, Layout(player.games.specs, 25, 4)


def filled(player: Demonstrator, layout: Layout) -> dict[str, np.ndarray]:
    block = layout.view(bytearray(layout.slot_bytes), 0)
    player.fill(block)
    return block


def fresh_weights(player: Demonstrator) -> np.ndarray:
    torch.manual_seed(0)
    games = player.games
    return flat_weights(PolicyNetwork(SMALL, games.specs, len(games.skills), games.num_actions))


def test_slots_and_arrays_do_not_overlap():
    layout = Layout({"a": ArraySpec((3,), "uint8"), "b": ArraySpec((2, 2), "float32")}, 5, 7)
    memory = bytearray(3 * layout.slot_bytes)
    views = [layout.view(memory, slot) for slot in range(3)]
    for number, view in enumerate(views):
        for place, array in enumerate(view.values()):
            array[:] = (10 * number + place) % 2 if array.dtype == bool else 10 * number + place
    for number, view in enumerate(views):
        for place, array in enumerate(view.values()):
            expected = (10 * number + place) % 2 if array.dtype == bool else 10 * number + place
            assert (array == expected).all()
    assert views[0][OBSERVED + "a"].shape == (5, 7, 3)
    assert views[0][OBSERVED + "b"].dtype == np.float16


def test_labels_are_the_teachers_actions_and_episodes_are_marked():
    player, layout = demonstrator()
    first, second = filled(player, layout), filled(player, layout)
    assert first["fresh"][0].all() and not second["fresh"][0].all()
    assert not first["student"].any() and not second["student"].any()
    for block in (first, second):
        names = np.array(["keyfinder", "eastwalker", "opener"])[block["skill"]]
        expected = np.vectorize({"keyfinder": 0, "eastwalker": 1, "opener": 2}.get)(names)
        assert (block["action"] == expected).all()
        option = block[OBSERVED + "option"][:, :, :3]
        assert (option.argmax(-1) == block["skill"]).all()
    both = {name: np.concatenate([first[name], second[name]]) for name in ("fresh", "ended")}
    assert (both["fresh"][1:] == both["ended"][:-1]).all()
    assert both["ended"].any()


def test_the_student_plays_stretches_and_the_labels_stay_the_teachers():
    player, layout = demonstrator()
    player.learn(fresh_weights(player))
    player.share = 1.0
    blocks = [filled(player, layout) for _ in range(8)]
    student = np.concatenate([block["student"] for block in blocks])
    assert 0.1 < student.mean() < 0.9
    changes = (student[1:] != student[:-1]).mean()
    assert changes < 0.5  # stretches of about three steps, not single ones
    for block in blocks:
        assert (block["action"] == block["skill"]).all()


def test_the_teacher_hears_of_every_step_it_did_not_choose(monkeypatch):
    player, layout = demonstrator()
    told = []
    monkeypatch.setattr(player, "_overrule", lambda index, action: told.append((index, action)))
    player.learn(fresh_weights(player))
    player.share = 1.0
    done = []
    step = player.games.step

    def spying(actions):
        done.append(actions.copy())
        return step(actions)

    monkeypatch.setattr(player.games, "step", spying)
    labels = np.concatenate([filled(player, layout)["action"] for _ in range(4)])
    expected = [
        (index, int(row[index]))
        for row, label in zip(done, labels, strict=True)
        for index in range(4)
        if row[index] != label[index]
    ]
    assert told == expected and told


def test_the_students_share_grows_evenly():
    dagger = DaggerConfig(share=0.5, begin=100, full=300)
    assert dagger.at(99) == 0.0
    assert dagger.at(200) == pytest.approx(0.25, abs=0.01)
    assert dagger.at(300) == dagger.at(10**9) == 0.5
    assert DaggerConfig(share=0.0).at(10**9) == 0.0


def test_weights_survive_being_put_in_a_row():
    player, _ = demonstrator()
    one = PolicyNetwork(SMALL, player.games.specs, 3, 4)
    other = PolicyNetwork(SMALL, player.games.specs, 3, 4)
    put_weights(other, flat_weights(one))
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


@pytest.mark.parametrize("world", ["corridor", "nethack"])
def test_games_show_the_teacher_what_it_reads(world):
    games = make_games(GamesConfig(world=world, num_games=1, pay=UNPAID, features="paper"), 0)
    games.reset()
    if world == "nethack":
        assert games.world.observation["inv_strs"].any()
    games.close()
