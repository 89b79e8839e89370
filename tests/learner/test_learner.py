"""The learner before its first batch: what it begins with is a checkpoint, and nothing takes that for progress."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sample_factory.algo.learning.learner import Learner
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.utils.attr_dict import AttrDict

from maestro.errors import TrainingError
from maestro.learner.actor_critic import make_actor_critic
from maestro.learner.algorithm import SkillLearner
from maestro.learner.arguments import sample_factory_args
from maestro.learner.checkpoint import find_checkpoints, read_checkpoint
from maestro.learner.config import TrainConfig
from maestro.learner.environment import SpacesOnly
from maestro.learner.faults import read_fault
from maestro.learner.supervisor import Supervisor

SMALL: dict[str, Any] = {
    "games": {"world": "corridor", "num_games": 4, "pay": {"intrinsic_scale": 0, "extrinsic_scale": 1}},
    "network": {"core_size": 16},
    "batch_size": 64,
    "rollout": 16,
}


@pytest.fixture(autouse=True)
def nameless(monkeypatch):
    for module in ("algorithm", "actor_critic"):
        monkeypatch.setattr(f"maestro.learner.{module}.name_process", lambda *_, **__: None)


@pytest.fixture
def begin(tmp_path: Path):
    """Give a function that makes the learner of a run in the test's folder, as its process does when it starts."""
    config = TrainConfig.model_validate(SMALL)
    global_model_factory().register_actor_critic_factory(make_actor_critic)
    spaces = SpacesOnly(config, tmp_path)

    def make() -> SkillLearner:
        info = SimpleNamespace(obs_space=spaces.observation_space, action_space=spaces.action_space)
        server = SimpleNamespace(init=lambda *_: None)
        args = sample_factory_args(config, tmp_path, 10_000)
        learner = SkillLearner(args, info, torch.zeros(1), 0, server)  # type: ignore[arg-type]
        learner.init()
        return learner

    return make


def weights(learner: SkillLearner) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in learner.actor_critic.state_dict().items()}  # type: ignore[union-attr]


def test_what_training_begins_with_is_a_checkpoint_that_counts_as_no_progress(begin, tmp_path):
    learner = begin()
    (first,) = find_checkpoints(tmp_path)
    assert (first.train_steps, first.env_steps) == (0, 0)
    kept = read_checkpoint(first.path)["model"]
    assert all(torch.equal(kept[name], value) for name, value in weights(learner).items())
    supervisor = Supervisor(tmp_path, learner.config, 1)
    assert supervisor._progress() == 0 and not supervisor._is_complete()


def test_a_start_that_finds_only_the_first_checkpoint_begins_with_it(begin, tmp_path):
    before = weights(begin())
    torch.manual_seed(99)
    again = begin()
    assert all(torch.equal(before[name], value) for name, value in weights(again).items())
    assert (again.train_step, again.env_steps) == (0, 0) and len(find_checkpoints(tmp_path)) == 1


def test_a_start_that_goes_on_writes_no_checkpoint(begin, tmp_path):
    learner = begin()
    learner.train_step, learner.env_steps = 7, 448
    learner.save()
    assert begin().train_step == 7
    assert [file.env_steps for file in find_checkpoints(tmp_path)] == [0, 448]


def test_a_first_checkpoint_that_cannot_be_written_is_told(begin, tmp_path, monkeypatch):
    def fail(_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Learner, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        begin()
    assert "No space left on device" in (read_fault(tmp_path) or "")


@pytest.mark.parametrize("method", ["save", "save_milestone"])
def test_a_checkpoint_that_cannot_be_written_is_told(begin, tmp_path, monkeypatch, method):
    learner = begin()

    def half(content: object, path: object) -> None:
        Path(str(path)).write_bytes(b"half")
        raise RuntimeError("unexpected pos 64 vs 0")

    learner.train_step, learner.env_steps = 7, 448
    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(RuntimeError, match="unexpected pos"):
        getattr(learner, method)()
    assert "cannot be written, and the one before is kept: RuntimeError: unexpected pos" in (
        read_fault(tmp_path) or ""
    )
    assert [file.env_steps for file in find_checkpoints(tmp_path, milestones=True)] == [0]


def test_milestones_are_kept_beside_the_others(begin, tmp_path):
    learner = begin()
    learner.train_step, learner.env_steps = 7, 448
    learner.save_milestone()
    learner.train_step, learner.env_steps = 8, 512
    learner.save()
    files = find_checkpoints(tmp_path, milestones=True)
    assert [file.env_steps for file in files] == [0, 448, 512]
    assert files[1].path.parent.name == "milestones"
    assert read_checkpoint(files[1].path)["env_steps"] == 448


def test_a_first_fault_of_any_kind_is_told(begin, tmp_path, monkeypatch):
    def fail(_: object) -> None:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(Learner, "init", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        begin()
    assert read_fault(tmp_path) == "RuntimeError: CUDA error: out of memory"


def test_checkpoints_of_other_skills_are_left_with_the_description_they_have(begin, tmp_path):
    begin()
    path = tmp_path / "policy.json"
    path.write_text(path.read_text().replace('"opener"', '"closer"'))
    said = path.read_text()
    with pytest.raises(
        TrainingError, match="the skills keyfinder, eastwalker, closer.*keyfinder, eastwalker, opener"
    ):
        SpacesOnly(TrainConfig.model_validate(SMALL), tmp_path)
    assert path.read_text() == said


@pytest.mark.parametrize(("pull", "told"), [(0.25, {"pull": 0.25, "pull_kl": 0.5}), (0.0, {"pull": 0.0})])
def test_a_divergence_is_told_while_the_teacher_is_asked_only(monkeypatch, pull, told):
    monkeypatch.setattr(Learner, "_record_summaries", lambda *_: AttrDict())
    learner = SkillLearner.__new__(SkillLearner)
    learner._teacher, learner._pull, learner._pull_kl = object(), pull, 0.5  # type: ignore[assignment]
    assert dict(learner._record_summaries(SimpleNamespace(mb={}, adv=None))) == told
