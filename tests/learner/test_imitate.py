"""Behaviour cloning: loss and critic's targets, and a whole imitation in the corridor."""

import numpy as np
import pytest
import torch

from maestro.errors import CheckpointError, ConfigError, TrainingError
from maestro.learner.cloning import ImitateConfig, Learner, returns
from maestro.learner.demonstrations import flat_weights
from maestro.learner.imitate import Imitation
from maestro.learner.network import ArraySpec, PolicyNetwork

TINY = {"core_size": 16, "vector_layers": [16], "hidden": 16, "head": 0}
CORRIDOR = {"world": "corridor", "num_games": 16, "pay": {"intrinsic_scale": 0}}


@pytest.fixture(autouse=True)
def one_thread():
    """Compute with one thread: two that share a busy processor wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def config(**said) -> ImitateConfig:
    return ImitateConfig.model_validate(
        {"games": CORRIDOR, "network": TINY, "kept": 4, "warmup": 5, "learning_rate": 1e-2, **said}
    )


def made_up(num_skills=3, **said) -> tuple[Learner, dict[str, torch.Tensor], torch.Tensor]:
    """Make a learner and a block of made-up steps, in which the label follows from what is seen."""
    torch.manual_seed(0)
    network = PolicyNetwork(
        config().network, {"vector": ArraySpec((4,), "float32")}, num_skills, num_actions=4
    )
    learner = Learner(config(**said), network, torch.device("cpu"))
    labels = torch.randint(0, 4, (8, 6))
    block = {
        "observation.vector": torch.nn.functional.one_hot(labels, 4).half(),
        "observation.option": torch.zeros(8, 6, 2 * num_skills + 2),
        "action": labels.short(),
        "skill": torch.randint(0, num_skills, (8, 6), dtype=torch.uint8),
        "fresh": torch.zeros(8, 6, dtype=torch.bool),
        "student": torch.zeros(8, 6, dtype=torch.bool),
        "reward": torch.zeros(8, 6),
        "ended": torch.zeros(8, 6, dtype=torch.bool),
    }
    return learner, block, torch.zeros(6, network.state_size)


def test_returns_add_up_to_the_end_of_the_episode_or_the_critics_word():
    reward = torch.tensor([[1.0], [2.0], [4.0], [100.0]])
    values = torch.tensor([[0.0], [0.0], [0.0], [8.0]])
    going_on = torch.zeros(4, 1, dtype=torch.bool)
    assert returns(reward, going_on, values, 0.5).flatten().tolist() == [4.0, 6.0, 8.0]
    ended = torch.tensor([[False], [True], [False], [False]])
    assert returns(reward, ended, values, 0.5).flatten().tolist() == [2.0, 2.0, 8.0]


def test_the_loss_falls_and_labels_are_learnt():
    learner, block, state = made_up()
    losses = []
    for _ in range(150):
        outcome = learner.update(block, state)
        losses.append(outcome.loss)
    assert losses[-1] < 0.1 * losses[0]
    assert outcome.agreed.all()
    assert learner.updates == 150


def test_a_critic_is_fitted_only_where_games_pay():
    unpaid, block, state = made_up()
    block["reward"][:] = 1.0
    born = unpaid.network.value.weight.detach().clone()
    assert unpaid.update(block, state).value_loss == 0.0
    assert torch.equal(born, unpaid.network.value.weight)
    paid, _, _ = made_up(games={**CORRIDOR, "pay": {"intrinsic_scale": 0, "extrinsic_scale": 1}})
    losses = [paid.update(block, state).value_loss for _ in range(60)]
    assert losses[-1] < losses[0]


def test_rare_skills_and_actions_weigh_more_and_the_mean_weight_is_one():
    block = {
        "skill": torch.from_numpy(np.repeat([0, 1, 2], [90, 9, 1])),
        "action": torch.from_numpy(np.tile([0, 0, 0, 0, 1], 20)),
        "reward": torch.zeros(100),
    }
    learner, _, _ = made_up(balance=0.5, balance_actions=0.5)
    equal, _, _ = made_up(balance=0.0, balance_actions=0.0)
    for one in (learner, equal):
        for _ in range(200):
            one.count(block)
    weights = learner.weights_of(block)
    assert weights.mean().item() == pytest.approx(1.0)
    assert weights[90] / weights[0] == pytest.approx((90 / 9) ** 0.5, rel=0.05)
    assert weights[98] / weights[0] == pytest.approx((90 / 9) ** 0.5, rel=0.05)
    assert weights[4] / weights[0] == pytest.approx((80 / 20) ** 0.5, rel=0.05)
    assert weights[99] / weights[4] == pytest.approx(8.0, rel=0.05)  # the rarest skill: no more than eight
    assert (equal.weights_of(block) == 1).all()


@pytest.mark.parametrize("where", ["observation.vector", "reward"])
def test_what_is_no_number_stops_fitting_and_spoils_nothing(where):
    learner, block, state = made_up(games={**CORRIDOR, "pay": {"intrinsic_scale": 0, "extrinsic_scale": 1}})
    learner.update(block, state)
    before = flat_weights(learner.network)
    block[where] = torch.full_like(block[where], torch.nan)
    with pytest.raises(TrainingError, match="the loss became nan"):
        learner.update(block, state)
    assert np.array_equal(before, flat_weights(learner.network))
    assert np.isfinite(learner.exported_weights()).all()


def test_the_learning_rate_rises_and_falls():
    learner, _, _ = made_up(warmup=9, steps=1_000, learning_rate=1.0, final_learning_rate=0.1)
    assert learner.learning_rate() == pytest.approx(0.1)
    learner.updates = 1_000
    assert learner.learning_rate() == pytest.approx(1.0)
    learner.steps = 500
    assert learner.learning_rate() == pytest.approx(0.55)
    learner.steps = 1_000
    assert learner.learning_rate() == pytest.approx(0.1)


def test_the_mean_of_the_weights_follows_them():
    learner, block, state = made_up(average=0.9)
    for _ in range(3):
        learner.update(block, state)
    assert np.abs(learner.exported_weights() - flat_weights(learner.network)).max() > 1e-4
    learner.config = learner.config.model_copy(update={"average": 0.0})
    learner.update(block, state)
    assert np.allclose(learner.exported_weights(), flat_weights(learner.network), atol=1e-7)


def test_an_unknown_preset_is_told():
    with pytest.raises(ConfigError, match="'huge'"):
        ImitateConfig.model_validate({"preset": "huge"})


def test_the_corridor_is_learnt_with_the_student_playing_too_and_goes_on_from_its_state():
    settings = config(steps=40_000, uses=2.0, dagger={"begin": 5_000, "full": 10_000, "student_stretch": 20})
    with Imitation(settings) as imitation:
        while not imitation.is_over:
            imitation.step()
            if imitation.learner.steps == 60 * 512:
                imitation.report()  # what was learnt until then does not count below
        report = imitation.report()
        state = imitation.state()
        updates = imitation.learner.updates
    assert report.agreement > 0.95, report
    assert min(report.agreement_of.values()) > 0.8, report
    assert report.student_agreement_of and report.share_of.keys() == {"keyfinder", "eastwalker", "opener"}
    assert updates == pytest.approx(2 * report.steps / 512, rel=0.1)
    longer = settings.model_copy(update={"steps": 45_000})
    with Imitation(longer, state) as imitation:
        assert imitation.learner.steps == report.steps and imitation.crew.next_group == 2
        imitation.step()
        assert imitation.report().agreement > 0.9
    with pytest.raises(CheckpointError, match="features_version"):
        Imitation(longer, {**state, "features_version": -1})
    other = longer.model_copy(update={"network": longer.network.model_copy(update={"core_size": 8})})
    with pytest.raises(CheckpointError, match="does not fit the network"):
        Imitation(other, state)


def test_a_step_learns_from_one_block_of_each_worker_and_goes_on_from_its_state(monkeypatch):
    settings = config(workers=2, blocks=2, steps=8 * 2 * 512, uses=1.0, kept=0)
    with Imitation(settings) as imitation:
        after: dict[int, torch.Tensor] = {}
        taken: list[list[int]] = []
        learn = imitation._learn_from_new

        def watched(filled):
            taken.append([one.worker for one in filled])
            for one in filled:
                before = imitation._state_before(one)
                expected = after.get(one.worker)
                assert torch.equal(before, torch.zeros_like(before) if expected is None else expected)
            learn(filled)
            after.update({one.worker: imitation._states[one.worker].clone() for one in filled})

        monkeypatch.setattr(imitation, "_learn_from_new", watched)
        while not imitation.is_over:
            imitation.step()
    assert [sorted(workers) for workers in taken] == [[0, 1]] * 8


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"workers": 1, "blocks": 2}, "at most one block of each worker"),
        ({"workers": 2, "blocks": 2, "kept": 1, "uses": 1.5}, "too few blocks are kept"),
        ({"kept": 0, "uses": 2.0}, "too few blocks are kept"),
        (
            {"games": {"world": "corridor", "pay": {"skill": "combat", "intrinsic_scale": 0}}},
            "no skill 'combat'",
        ),
    ],
)
def test_settings_that_would_be_passed_over_are_refused(said, told):
    with pytest.raises(ConfigError, match=told):
        Imitation(config(**said))


def test_more_than_the_memory_holds_is_refused():
    with pytest.raises(
        TrainingError, match=r"keeps [\d,.]+ GB of what was played, and [\d.]+ GB of memory are free"
    ):
        Imitation(config(sequence=100_000_000))


def test_the_least_that_is_kept_is_used_as_often_as_asked_for():
    with Imitation(config(workers=2, blocks=2, kept=2, uses=2.0, steps=6 * 2 * 512)) as imitation:
        while not imitation.is_over:
            imitation.step()
        assert imitation.learner.updates == pytest.approx(2 * 6, abs=2)
