"""Our network in sample-factory's clothes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from sample_factory.algo.utils.action_distributions import get_action_distribution
from sample_factory.algo.utils.tensor_dict import TensorDict
from sample_factory.model.actor_critic import ActorCritic
from sample_factory.model.model_utils import model_device

from maestro.learner.arguments import config_of
from maestro.learner.faults import report_fault
from maestro.learner.network import ArraySpec, PolicyNetwork
from maestro.learner.processes import INFERENCE, name_process


class SkillActorCritic(ActorCritic):
    """Gives sample-factory the three parts it calls (head, core, tail); all weights are in `network`."""

    def __init__(self, obs_space: spaces.Dict, action_space: spaces.Discrete, args: Any) -> None:
        super().__init__(obs_space, action_space, args)
        name_process(INFERENCE, unless_named=True)  # the learner makes one, too, and has its name by then
        specs = {name: ArraySpec(tuple(box.shape), str(box.dtype)) for name, box in obs_space.items()}  # type: ignore[union-attr]
        self._run_folder = Path(args.maestro_folder)
        num_skills = (specs["option"].shape[0] - 2) // 2
        self.network = PolicyNetwork(config_of(args).network, specs, num_skills, int(action_space.n))
        self._types = {name: torch.from_numpy(np.zeros(1, spec.dtype)).dtype for name, spec in specs.items()}

    def device_for_input_tensor(self, input_tensor_name: str) -> torch.device:
        """Say where all observations go."""
        return model_device(self)

    def type_for_input_tensor(self, input_tensor_name: str) -> torch.dtype:
        """Leave every observation the type it has: codes are looked up, not multiplied."""
        return self._types[input_tensor_name]

    def forward_head(self, normalized_obs_dict: dict[str, torch.Tensor]) -> torch.Tensor:
        """Encode observations (B, ...) to (B, H)."""
        return self.network.encode(normalized_obs_dict)

    def forward_core(self, head_output: Any, rnn_states: torch.Tensor) -> tuple[Any, torch.Tensor]:
        """Advance the memory by one step, or along a packed sequence."""
        if self.network.state_size == 0:
            return head_output, rnn_states
        return self.network.recur(head_output, rnn_states)

    def forward_tail(self, core_output: torch.Tensor, values_only: bool, sample_actions: bool) -> TensorDict:
        """Give values, and unless only those are wanted the action distribution."""
        logits, values = self.network.heads(core_output)
        result = TensorDict(values=values)
        if values_only:
            return result
        result["action_logits"] = logits
        self.last_action_distribution = get_action_distribution(self.action_space, raw_logits=logits)
        self._maybe_sample_actions(sample_actions, result)
        return result

    def forward(
        self,
        normalized_obs_dict: dict[str, torch.Tensor],
        rnn_states: torch.Tensor,
        values_only: bool = False,
    ) -> TensorDict:
        """Choose actions for one step."""
        x = self.forward_head(normalized_obs_dict)
        x, new_rnn_states = self.forward_core(x, rnn_states)
        try:
            result = self.forward_tail(x, values_only, sample_actions=True)
        except (RuntimeError, ValueError) as error:
            # This process would die, and the learner wait for ever for what it should have played.
            report_fault(self._run_folder, f"the policy stopped being a number: {error}")
            raise
        result["new_rnn_states"] = new_rnn_states
        return result


def make_actor_critic(args: Any, obs_space: Any, action_space: Any) -> SkillActorCritic:
    """Make the model; sample-factory's factory for it."""
    return SkillActorCritic(obs_space, action_space, args)
