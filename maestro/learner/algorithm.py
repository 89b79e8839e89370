"""sample-factory's APPO with what skills need: a safe start, a pull towards a teacher, milestones, no NaN in silence.

sample-factory itself is not changed: its runner makes the learner in a method of its own, which is overridden here.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from sample_factory.algo.learning.learner import Learner
from sample_factory.algo.learning.learner_worker import LearnerWorker
from sample_factory.algo.runners.runner_parallel import ParallelRunner
from sample_factory.algo.utils.action_distributions import get_action_distribution
from sample_factory.algo.utils.torch_utils import masked_select

from maestro.errors import CheckpointError, MaestroError, TrainingError
from maestro.learner.arguments import config_of
from maestro.learner.checkpoint import checkpoint_folder, find_checkpoints, newest, sync, write_checkpoint
from maestro.learner.faults import read_fault, report_fault
from maestro.learner.network import PolicyNetwork
from maestro.learner.policy_file import load_policy
from maestro.learner.processes import LEARNER, name_process

_MOST_WEIGHT = 1e6


class SkillLearner(Learner):
    """The learner of one run."""

    def init(self) -> Any:
        """Make the model; begin with a checkpoint, else with the policy of `init`, else with chance.

        What it begins with is a checkpoint, too, of 0 steps: sample-factory's first comes minutes later, and probes want it.
        """
        name_process(LEARNER)
        self.config = config_of(self.cfg)
        torch.set_num_threads(self.config.learner_threads)
        self.run_folder = Path(self.cfg.maestro_folder)
        self._teacher: PolicyNetwork | None = None
        self._teacher_says: tuple[torch.Tensor, torch.Tensor] | None = None
        self._pull = 0.0
        self._pull_kl = 0.0
        try:
            data = super().init()
            self._take_up_policy()
            if self.train_step == 0:
                self.save()
        except Exception as error:
            self._report(error)
            raise
        if self.config.pull is not None:
            self.kl_loss_func = self._pull_loss
        self._last_milestone = self.env_steps // self.config.milestone_steps
        return data

    def load_from_checkpoint(self, policy_id: int, load_progress: bool = True) -> None:
        """Load the newest whole checkpoint; raises CheckpointError where there are some and none can be read."""
        found = newest(self.run_folder, self.device)  # type: ignore[arg-type]
        if found is None:
            return
        try:
            self._load_state(found[1], load_progress=load_progress)
            self.curr_lr = (
                self.cfg.learning_rate
            )  # it may have been changed since, and its schedule is constant
        except (RuntimeError, KeyError, ValueError) as error:
            raise CheckpointError(
                f"the checkpoint is of another network: {str(error).splitlines()[0]}",
                where=str(found[0].path),
                expected="the network of the run's configuration",
                hint="give another --run for another network",
            ) from error

    def _take_up_policy(self) -> None:
        """Begin with the weights of `init` where no checkpoint was loaded, and keep a copy to pull towards."""
        if self.config.init is None:
            return
        began = self.train_step > 0
        if began and self.config.pull is None:
            return
        teacher = load_policy(self.config.init).network
        mine: PolicyNetwork = self.actor_critic.network  # type: ignore[union-attr]
        if not began:
            try:
                mine.load_state_dict(teacher.state_dict())
            except RuntimeError as error:
                raise TrainingError(
                    f"its network is another one: {str(error).splitlines()[0]}",
                    where=str(self.config.init),
                    expected="a policy made with the same network and features",
                    hint="give the same --preset as the policy was made with",
                ) from error
        if self.config.pull is not None:
            self._teacher = teacher.to(self.device).eval().requires_grad_(False)

    def _calculate_losses(self, mb: Any, num_invalids: int) -> Any:
        """Ask the teacher before sample-factory computes the losses, among which the pull is."""
        if self._teacher is not None:
            self._pull = self.config.pull.at(self.env_steps)  # type: ignore[union-attr]
            if self._pull > 0:
                self._teacher_says = self._ask_teacher(mb)
        return super()._calculate_losses(mb, num_invalids)

    @torch.no_grad()
    def _ask_teacher(self, mb: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return rows of the batch, those of some of its trajectories, and the teacher's logits for them.

        Its memory begins with the policy's own: the policy began as its copy, and the pull has faded when it has moved far.
        """
        T = self.cfg.recurrence
        rows = torch.arange(len(mb.dones_cpu)).view(-1, T)
        asked = max(1, round(self.config.pull.share * len(rows)))  # type: ignore[union-attr]
        rows = rows[torch.randperm(len(rows))[:asked]]
        fresh = torch.zeros(T, asked, dtype=torch.bool)
        fresh[1:] = mb.dones_cpu[rows].bool().T[:-1]
        rows = rows.to(self.device)
        observation = {name: x[rows.T] for name, x in mb.normalized_obs.items()}
        logits, _, _ = self._teacher.unroll(  # type: ignore[union-attr]
            observation, mb.rnn_states[rows[:, 0]], fresh.to(self.device)
        )
        return rows.flatten(), logits.transpose(0, 1).flatten(0, 1)

    def _pull_loss(
        self, action_space: Any, action_logits: Any, distribution: Any, valids: Any, num_invalids: int
    ) -> tuple[None, Any]:
        """Return (None, pull * KL(teacher || policy)); sample-factory computes its own statistics for the None."""
        if self._teacher_says is None or self._pull <= 0:
            return None, 0.0
        rows, logits = self._teacher_says
        teacher = get_action_distribution(action_space, raw_logits=logits)
        policy = get_action_distribution(action_space, raw_logits=distribution.raw_logits[rows])
        divergence = masked_select(teacher.kl_divergence(policy), valids[rows], num_invalids).mean()
        self._teacher_says = None
        self._pull_kl = float(divergence.detach())
        return None, self._pull * divergence

    def train(self, batch: Any) -> dict | None:
        """Take one batch; raises TrainingError, with the last good checkpoint kept, when a weight or loss is no number."""
        try:
            stats = super().train(batch)
        except Exception as error:
            self._report(error)
            raise
        if not self._is_sound(everything=self.train_step % 50 == 0):
            what = f"the policy stopped being a number, or as good as that, at {self.env_steps:,} steps"
            error = TrainingError(
                what,
                where=str(self.run_folder),
                expected=f"finite losses, and weights below {_MOST_WEIGHT:,.0f}",
                hint="a smaller learning_rate; the same command goes on from the last good checkpoint",
            )
            report_fault(self.run_folder, str(error))
            self.is_initialized = (
                False  # so that nothing is saved any more: the last checkpoint is the good one
            )
            raise error
        done = self.env_steps // self.config.milestone_steps
        if done > self._last_milestone:
            self._last_milestone = done
            self.save_milestone()
        return stats

    def save(self) -> bool:
        """Write a checkpoint, unless the weights have run away: the last one is the good one then."""
        if not self._is_sound(everything=True):
            return False
        with self._reported():
            saved = super().save()
            if saved:  # it has its name already, and is on the disk when this returns
                sync(find_checkpoints(self.run_folder)[-1].path)
        return saved

    def save_milestone(self) -> None:
        """Write a checkpoint that is kept for ever; sample-factory's own would be half there if it were interrupted."""
        content = self._get_checkpoint_dict()
        if content is None:
            return
        name = f"checkpoint_{self.train_step:09d}_{self.env_steps}.pth"
        with self._reported():
            write_checkpoint(checkpoint_folder(self.run_folder) / "milestones" / name, content)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Report that a checkpoint cannot be written."""
        try:
            yield
        except Exception as error:
            self._report(error, "the checkpoint cannot be written, and the one before is kept: ")
            raise

    def _report(self, error: Exception, what: str = "") -> None:
        """Leave word of a fault: sample-factory would write it into its log, and wait for ever."""
        if read_fault(self.run_folder) is not None:
            return  # of the same fault, where it came from
        told = str(error) if isinstance(error, MaestroError) else f"{type(error).__name__}: {error}"
        try:
            report_fault(self.run_folder, what + told)
        except OSError:  # a full disk takes no word either: the supervisor sees that this process is gone
            traceback.print_exc()
            os._exit(1)

    def _is_sound(self, everything: bool) -> bool:
        """Look at the critic's bias, through which any NaN of a loss has passed, or at all weights.

        Weights can be finite, and so large that the next policy is no number.
        """
        network = self.actor_critic.network  # type: ignore[union-attr]
        weights = network.parameters() if everything else [network.value.bias]
        return all(bool((weight.detach().abs() < _MOST_WEIGHT).all()) for weight in weights)

    def _record_summaries(self, train_loop_vars: Any) -> Any:
        """Add the pull to what sample-factory records, and give it the advantages that it forgets with V-trace."""
        train_loop_vars.mb.setdefault("advantages", train_loop_vars.adv)
        stats = super()._record_summaries(train_loop_vars)
        if self._teacher is not None:
            stats.pull = self._pull
            if self._pull > 0:  # else the teacher is no longer asked, and nobody knows
                stats.pull_kl = self._pull_kl
        return stats


class SkillLearnerWorker(LearnerWorker):
    """sample-factory's learner process with our learner in it."""

    def __init__(
        self, event_loop: Any, cfg: Any, env_info: Any, buffer_mgr: Any, batcher: Any, policy_id: int
    ):
        super().__init__(event_loop, cfg, env_info, buffer_mgr, batcher, policy_id)
        self.learner = SkillLearner(cfg, env_info, buffer_mgr.policy_versions, policy_id, self.param_server)


class SkillRunner(ParallelRunner):
    """sample-factory's runner with our learner."""

    def _make_learner(self, event_loop: Any, policy_id: int, batcher: Any) -> LearnerWorker:
        return SkillLearnerWorker(event_loop, self.cfg, self.env_info, self.buffer_mgr, batcher, policy_id)
