"""The pull towards a teacher: which rows it is asked for, and what it adds to the loss."""

from types import SimpleNamespace

import gymnasium
import pytest
import torch
from sample_factory.algo.utils.action_distributions import get_action_distribution

from maestro.learner.algorithm import SkillLearner
from maestro.learner.config import TrainConfig
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork

T, TRAJECTORIES, ACTIONS = 4, 8, 5
SPACE = gymnasium.spaces.Discrete(ACTIONS)


@pytest.fixture
def network() -> PolicyNetwork:
    torch.manual_seed(0)
    config = NetworkConfig(core_size=16, hidden=16, head=16, vector_layers=(16,), precision="float32")
    return PolicyNetwork(config, {"vector": ArraySpec((3,), "float32")}, 2, ACTIONS).eval()


@pytest.fixture
def batch(network: PolicyNetwork) -> SimpleNamespace:
    rows = T * TRAJECTORIES
    observation = {name: torch.randn(rows, *spec.shape) for name, spec in network.specs.items()}
    return SimpleNamespace(
        normalized_obs=observation,
        dones_cpu=torch.rand(rows) < 0.3,
        rnn_states=torch.randn(rows, network.state_size),
    )


def learner(network: PolicyNetwork, share: float) -> SkillLearner:
    made = SkillLearner.__new__(SkillLearner)
    made.config = TrainConfig.model_validate({"init": "somewhere", "pull": {"share": share}})
    made.cfg = SimpleNamespace(recurrence=T)  # type: ignore[assignment]
    made.device = torch.device("cpu")
    made._teacher, made._pull = network, 0.5
    return made


def one_by_one(network: PolicyNetwork, batch: SimpleNamespace) -> torch.Tensor:
    """Logits of every row, (T * TRAJECTORIES, A), by single steps from each trajectory's first state."""
    logits = []
    for row in range(T * TRAJECTORIES):
        if row % T == 0:
            state = batch.rnn_states[row : row + 1]
        elif batch.dones_cpu[row - 1]:
            state = torch.zeros(1, network.state_size)
        one = {name: array[row : row + 1] for name, array in batch.normalized_obs.items()}
        found, _, state = network.step(one, state)
        logits.append(found)
    return torch.cat(logits)


@pytest.mark.parametrize("share", [1.0, 0.25, 0.01])
def test_the_teacher_follows_the_trajectories_it_is_asked_for(network, batch, share):
    rows, logits = learner(network, share)._ask_teacher(batch)
    assert len(rows) == T * max(1, round(share * TRAJECTORIES))
    assert torch.allclose(logits, one_by_one(network, batch)[rows], atol=1e-5)
    assert (rows.view(-1, T) - rows.view(-1, T)[:, :1] == torch.arange(T)).all()  # whole trajectories


def test_other_trajectories_are_drawn_for_every_batch(network, batch):
    made = learner(network, 0.25)
    assert len({tuple(made._ask_teacher(batch)[0].tolist()) for _ in range(20)}) > 10


def test_the_loss_is_the_divergence_from_the_teacher(network, batch):
    made = learner(network, 0.5)
    exact = one_by_one(network, batch).detach()
    other = torch.randn_like(exact)
    valids = torch.ones(len(exact), dtype=torch.bool)
    for raw, expected in ((exact, 0.0), (other, None)):
        made._teacher_says = rows, _ = made._ask_teacher(batch)
        distribution = get_action_distribution(SPACE, raw_logits=raw)
        none, loss = made._pull_loss(SPACE, raw, distribution, valids, 0)
        if expected is None:
            p = torch.log_softmax(exact[rows], dim=1)
            expected = 0.5 * float((p.exp() * (p - torch.log_softmax(raw[rows], dim=1))).sum(1).mean())
            assert expected > 0.1
        assert none is None
        assert float(loss) == pytest.approx(expected, abs=1e-5)
        assert made._teacher_says is None
