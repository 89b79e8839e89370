"""Training's configuration: presets under what is said, sizes that need not divide, and the way to sample-factory."""

from pathlib import Path

import pydantic
import pytest

from maestro.errors import ConfigError
from maestro.learner.arguments import config_of, sample_factory_args
from maestro.learner.config import TRAIN_PRESETS, Pull, TrainConfig
from maestro.learner.network import PRESETS
from maestro.learner.payment import PayConfig


@pytest.mark.parametrize("preset", TRAIN_PRESETS)
def test_every_preset_is_a_configuration_with_its_own_network(preset):
    config = TrainConfig.model_validate({"preset": preset})
    assert config.network == PRESETS[preset]
    assert config.games.features == ("paper" if preset == "paper" else "compass")


def test_what_is_said_lies_over_the_preset_also_deep_inside():
    config = TrainConfig.model_validate(
        {"preset": "paper", "games": {"seed": 7, "pay": {"count_memory": 5}}, "network": {"core_size": 64}}
    )
    assert (config.games.seed, config.games.pay.count_memory, config.network.core_size) == (7, 5, 64)
    assert config.games.features == "paper"
    assert config.network.message == "cnn"


def test_the_memory_of_counts_can_be_the_whole_episode_from_a_file_or_the_command_line():
    pay = PayConfig.model_validate({"count_memory": "none"})
    assert pay.count_memory is None
    assert PayConfig.model_validate_json(pay.model_dump_json()) == pay
    with pytest.raises(pydantic.ValidationError, match="count_memory"):
        PayConfig.model_validate({"count_memory": 0})


def test_unknown_presets_and_keys_are_refused():
    with pytest.raises(ConfigError, match="one of paper, small, gpu"):
        TrainConfig.model_validate({"preset": "big"})
    with pytest.raises(pydantic.ValidationError, match="games.num_games"):
        TrainConfig.model_validate({"games": {"num_games": 0}})
    with pytest.raises(pydantic.ValidationError, match="pull"):
        TrainConfig.model_validate({"pull": {"coefficient": 1.0}})


@pytest.mark.parametrize(
    ("games", "groups", "workers", "batch", "rollout"),
    [(64, 2, 1, 4096, 32), (48, 2, 1, 4096, 32), (7, 1, 3, 1000, 32), (100, 2, 2, 64, 16), (1, 1, 1, 1, 2)],
)
def test_sizes_need_not_divide_evenly(games, groups, workers, batch, rollout, tmp_path):
    config = TrainConfig.model_validate(
        {
            "games": {"num_games": games},
            "num_groups": groups,
            "num_workers": workers,
            "batch_size": batch,
            "rollout": rollout,
        }
    )
    assert config.trajectories % games == 0  # whole groups: what sample-factory can put together
    assert config.trajectories % config.minibatches == 0
    assert config.batch * config.minibatches == config.trajectories * rollout
    assert batch <= config.batch < batch + rollout * games + rollout
    args = sample_factory_args(config, tmp_path, 1)
    assert args.batch_size * args.num_batches_per_epoch == config.trajectories * rollout


def test_a_batch_smaller_than_a_group_divides_it():
    config = TrainConfig.model_validate({"games": {"num_games": 256}, "batch_size": 2_048})
    assert (config.trajectories, config.minibatches, config.batch) == (256, 4, 2_048)


def test_the_pull_fades_along_a_line():
    pull = Pull(coefficient=2.0, final=0.5, steps=100)
    assert [pull.at(steps) for steps in (0, 50, 100, 1_000)] == [2.0, 1.25, 0.5, 0.5]


def test_every_setting_reaches_sample_factory_and_comes_back(tmp_path: Path):
    config = TrainConfig.model_validate(
        {
            "preset": "small",
            "learning_rate": 1e-5,
            "discount": 0.9,
            "returns": "gae",
            "gae_lambda": 0.8,
            "rollout": 16,
            "batch_size": 640,
            "games": {"num_games": 20, "seed": 3},
            "num_workers": 3,
            "num_groups": 2,
            "ppo_clip_ratio": 0.2,
            "entropy_coefficient": 0.01,
            "max_policy_lag": 77,
            "save_every_s": 5,
        }
    )
    args = sample_factory_args(config, tmp_path, steps=12_345, start=2)
    said = {
        "learning_rate": 1e-5,
        "gamma": 0.9,
        "with_vtrace": False,
        "gae_lambda": 0.8,
        "rollout": 16,
        "recurrence": 16,
        "batch_size": 640,
        "num_workers": 3,
        "num_envs_per_worker": 2,
        "worker_num_splits": 2,
        "seed": 3,
        "ppo_clip_ratio": 0.2,
        "exploration_loss_coeff": 0.01,
        "max_policy_lag": 77,
        "save_every_sec": 5,
        "train_for_env_steps": 12_345,
        "batched_sampling": True,
        "device": "cpu",
        "with_wandb": False,
        "rnn_size": 256,
        "maestro_start": 2,
    }
    assert {name: args[name] for name in said} == said
    assert config_of(args) == config


def test_v_trace_does_not_normalise_returns_which_sample_factory_refuses(tmp_path: Path):
    args = sample_factory_args(TrainConfig.model_validate({"returns": "vtrace"}), tmp_path, 1)
    assert args.with_vtrace
    assert not args.normalize_returns
