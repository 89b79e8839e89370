"""One typed configuration in, sample-factory's arguments out; nothing else knows their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.utils.attr_dict import AttrDict

from maestro.learner.config import TrainConfig

ENVIRONMENT = "maestro_skills"
"""The name under which sample-factory knows our games."""
NEVER_S = 10**9


def sample_factory_args(config: TrainConfig, folder: Path, steps: int, start: int = 0) -> AttrDict:
    """Translate; `folder` is the run's, `steps` the environment steps at which training ends.

    `start` counts how often training was begun before: each time other dungeons are played.

    Everything sample-factory would take from its own defaults and that matters is said here, so that another version's
    defaults change nothing.
    """
    argv = [f"--env={ENVIRONMENT}", f"--train_dir={folder}", "--experiment=learner"]
    parser, _ = parse_sf_args(argv)
    args = AttrDict(vars(parse_full_cfg(parser, argv)))
    args.update(_playing(config))
    args.update(_learning(config))
    args.update(
        train_for_env_steps=steps,
        save_every_sec=config.save_every_s,
        keep_checkpoints=config.keep_checkpoints,
        save_best_every_sec=NEVER_S,
        save_best_after=1 << 62,
        save_milestones_sec=-1,  # by steps, not by time: see algorithm.py
        restart_behavior="resume",
        with_wandb=False,
        with_pbt=False,
        heartbeat_reporting_interval=NEVER_S,  # the supervisor looks after the processes
        experiment_summaries_interval=10,
        stats_avg=100,
        maestro=config.model_dump_json(),
        maestro_folder=str(folder),
        maestro_start=start,
    )
    return args


def config_of(args: Any) -> TrainConfig:
    """Read the configuration back that travels with sample-factory's arguments."""
    return TrainConfig.model_validate_json(args.maestro)


def _playing(config: TrainConfig) -> dict[str, Any]:
    return {
        "batched_sampling": True,
        "num_workers": config.num_workers,
        "num_envs_per_worker": config.num_groups,
        "worker_num_splits": config.num_groups,
        "num_policies": 1,
        "policy_workers_per_policy": 1,
        "async_rl": True,
        "serial_mode": False,
        "rollout": config.rollout,
        "recurrence": config.rollout,
        "max_policy_lag": config.max_policy_lag,
        "device": config.device,
        "env_gpu_observations": False,
        "env_gpu_actions": False,
        "env_frameskip": 1,
        "decorrelate_experience_max_seconds": 0,
        "decorrelate_envs_on_one_worker": False,
        "set_workers_cpu_affinity": False,  # it would nail the one worker of a small machine to the learner's core
        "seed": config.games.seed,
        "reward_scale": 1.0,  # rewards are made on the world's side
        "reward_clip": 1_000.0,
    }


def _learning(config: TrainConfig) -> dict[str, Any]:
    network = config.network
    vtrace = config.returns == "vtrace"
    return {
        "use_rnn": network.core != "none",
        "rnn_type": network.core if network.core != "none" else "gru",
        "rnn_size": network.core_size,
        "rnn_num_layers": 1,
        "actor_critic_share_weights": True,
        "normalize_input": False,
        "obs_scale": 1.0,
        "obs_subtract_mean": 0.0,
        "batch_size": config.batch,
        "num_batches_per_epoch": config.minibatches,
        "num_batches_to_accumulate": config.batches_ahead,
        "num_epochs": config.ppo_epochs,
        "optimizer": "adam",
        "learning_rate": config.learning_rate,
        "lr_schedule": "constant",
        "adam_eps": config.adam_eps,
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "gamma": config.discount,
        "with_vtrace": vtrace,
        "vtrace_rho": 1.0,
        "vtrace_c": 1.0,
        "gae_lambda": config.gae_lambda,
        "normalize_returns": not vtrace,  # sample-factory cannot normalise V-trace's targets
        "value_bootstrap": True,
        "ppo_clip_ratio": config.ppo_clip_ratio,
        "ppo_clip_value": config.ppo_clip_value,
        "exploration_loss": "entropy",
        "exploration_loss_coeff": config.entropy_coefficient,
        "value_loss_coeff": config.value_coefficient,
        "kl_loss_coeff": 0.0,
        "max_grad_norm": config.max_gradient_norm,
    }
