"""The policy network: shapes, equal results of its three ways through time, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from maestro.errors import ConfigError
from maestro.learner.network import FEATURES, PRESETS, ArraySpec, NetworkConfig, PolicyNetwork
from maestro.rewards.threads import one_thread

SKILLS, ACTIONS = 3, 7
MAP = {"chars": ArraySpec((12, 12), "uint8"), "colors": ArraySpec((12, 12), "uint8")}
SPECS = {
    "paper": {
        **MAP,
        "message": ArraySpec((256,), "uint8"),
        "message_id": ArraySpec((1,), "int64"),
        "vector": ArraySpec((20,), "float32"),
    },
    "compass": {
        **MAP,
        "words": ArraySpec((16,), "int16"),
        "vector": ArraySpec((30,), "float32"),
        "compass": ArraySpec((6, 10), "float32"),
    },
}
SMALL = NetworkConfig(
    core_size=16, hidden=24, head=16, crop_features=16, vector_layers=(16,), precision="float32"
)


@pytest.fixture(autouse=True)
def on_one_thread() -> Iterator[None]:
    """Threads that share a processor with other work would wait for one another at every layer."""
    with one_thread():
        yield


def make(config: NetworkConfig, features: str = "compass") -> PolicyNetwork:
    torch.manual_seed(1)
    network = PolicyNetwork(config, SPECS[features], SKILLS, ACTIONS)
    with torch.no_grad():
        network.logits.weight.mul_(100)  # so that differences are seen
    return network


def observe(network: PolicyNetwork, *lead: int, seed: int = 0) -> dict[str, torch.Tensor]:
    random = np.random.default_rng(seed)
    arrays = {}
    for name, (shape, dtype) in network.specs.items():
        if np.dtype(dtype).kind == "f":
            arrays[name] = random.normal(size=(*lead, *shape)).astype(dtype)
        else:
            arrays[name] = random.integers(
                0, {"colors": 16, "words": 4096}.get(name, 120), (*lead, *shape)
            ).astype(dtype)
    if "message" in arrays:
        texts = random.integers(0, 2**62, 5)
        arrays["message"][..., 30:] = 0
        flat = arrays["message"].reshape(-1, 256)
        which = random.integers(0, 5, len(flat))
        flat[:] = flat[:5][which] if len(flat) >= 5 else flat[which % len(flat)]
        if len(flat) < 5:
            which %= len(flat)
        arrays["message_id"] = texts[which].reshape(*lead, 1)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_gives_logits_values_and_a_state(preset: str) -> None:
    network = make(PRESETS[preset], FEATURES[preset])
    observation = observe(network, 4)
    logits, values, state = network.step(observation, torch.zeros(4, network.state_size))
    assert (logits.shape, values.shape, state.shape) == ((4, ACTIONS), (4,), (4, network.state_size))
    assert logits.dtype == values.dtype == state.dtype == torch.float32
    assert network.encode(observation).shape == (4, network.encoded_size)


@pytest.mark.parametrize("core", ["gru", "lstm", "none"])
@pytest.mark.parametrize("skip", [True, False])
def test_unrolling_equals_stepping_with_states_zeroed_where_episodes_begin(core: str, skip: bool) -> None:
    network = make(SMALL.model_copy(update={"core": core, "skip": skip}))
    length, batch = 9, 5
    observation = observe(network, length, batch)
    fresh = torch.from_numpy(np.random.default_rng(3).random((length, batch)) < 0.3)
    start = torch.randn(batch, network.state_size)
    logits, values, last = network.unroll(observation, start, fresh)
    state = start
    for at in range(length):
        state = state * (~fresh[at]).float()[:, None]
        one, value, state = network.step({name: x[at] for name, x in observation.items()}, state)
        torch.testing.assert_close(one, logits[at], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(value, values[at], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(state, last, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("core", ["gru", "lstm"])
def test_packed_sequences_equal_stepping_and_torchs_own_layer(core: str) -> None:
    network = make(SMALL.model_copy(update={"core": core}))
    lengths = [2, 7, 1, 7, 4]  # not sorted: the states' rows follow the sequences as they were given
    sequences = [torch.randn(length, network.encoded_size) for length in lengths]
    state = torch.randn(len(lengths), network.state_size)
    packed = pack_sequence(sequences, enforce_sorted=False)
    y, last = network.recur(packed, state)
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(y)
    for row, sequence in enumerate(sequences):
        running = state[row : row + 1]
        for at, x in enumerate(sequence):
            one, running = network.recur(x[None], running)
            torch.testing.assert_close(one[0], outputs[at, row], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(running[0], last[row], atol=1e-5, rtol=1e-5)
    assert network.core is not None
    theirs, their_last = network.core._packed_by_torch(packed, state)
    torch.testing.assert_close(theirs.data, y.data[:, : network.config.core_size], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(their_last, last, atol=1e-5, rtol=1e-5)


def test_gradients_reach_every_weight() -> None:
    for preset in PRESETS:
        network = make(PRESETS[preset], FEATURES[preset])
        fresh = torch.zeros(3, 6, dtype=torch.bool)
        logits, values, _ = network.unroll(observe(network, 3, 6), torch.zeros(6, network.state_size), fresh)
        (logits.square().sum() + values.square().sum()).backward()
        idle = [
            name
            for name, weight in network.named_parameters()
            if weight.grad is None or not weight.grad.any()
        ]
        assert idle == []


def test_a_message_is_read_by_its_text_wherever_it_stands() -> None:
    network = make(PRESETS["paper"].model_copy(update={"precision": "float32"}), "paper")
    observation = observe(network, 12)
    together = network.encode(observation)
    for row in range(12):
        alone = network.encode({name: x[row : row + 1] for name, x in observation.items()})
        torch.testing.assert_close(alone[0], together[row], atol=1e-4, rtol=1e-4)


def test_bfloat16_products_stay_near_float32_ones() -> None:
    exact = make(SMALL)
    rough = make(SMALL.model_copy(update={"precision": "bfloat16"}))
    observation = observe(exact, 10, 6)
    fresh = torch.zeros(10, 6, dtype=torch.bool)
    start = torch.zeros(6, exact.state_size)
    one, other = exact.unroll(observation, start, fresh)[0], rough.unroll(observation, start, fresh)[0]
    assert one.dtype == other.dtype == torch.float32
    assert (one - other).abs().max() < 0.05 * one.abs().max()


def test_a_world_of_plain_numbers_needs_no_crop_and_no_words() -> None:
    network = PolicyNetwork(PRESETS["small"], {"vector": ArraySpec((14,), "float32")}, 3, 4)
    observation = {"vector": torch.randn(2, 14), "option": torch.randn(2, 8)}
    logits, _, _ = network.step(observation, torch.zeros(2, network.state_size))
    assert logits.shape == (2, 4)


def test_features_of_another_preset_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="small.*compass"):
        PolicyNetwork(PRESETS["small"], SPECS["paper"], SKILLS, ACTIONS)


def test_an_option_array_of_other_skills_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"\(8,\)"):
        PolicyNetwork(SMALL, {**SPECS["compass"], "option": ArraySpec((12,), "float32")}, SKILLS, ACTIONS)


def test_the_running_skill_changes_what_is_done() -> None:
    network = make(SMALL)
    observation = observe(network, 1)
    logits = []
    for skill in range(SKILLS):
        observation["option"][:] = 0
        observation["option"][0, skill] = 1
        logits.append(network.step(observation, torch.zeros(1, network.state_size))[0])
    assert all((logits[0] - other).abs().max() > 1e-3 for other in logits[1:])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_row_of_a_frozen_network_depends_on_nothing_beside_it(preset: str) -> None:
    network = make(PRESETS[preset], FEATURES[preset]).freeze_for_acting()
    observation, state = observe(network, 16), torch.randn(16, network.state_size)
    logits, _, last = network.step(observation, state)
    random = np.random.default_rng(0)
    for _ in range(10):
        rows = torch.from_numpy(random.permutation(16))
        rows[9:] = rows[0]
        other, _, other_last = network.step({name: x[rows] for name, x in observation.items()}, state[rows])
        assert torch.equal(other, logits[rows])
        assert torch.equal(other_last, last[rows])


def test_remembered_messages_are_read_as_before() -> None:
    network = make(PRESETS["paper"].model_copy(update={"precision": "float32"}), "paper")
    observation, state = observe(network, 12), torch.zeros(12, network.state_size)
    before = network.step(observation, state)[0]
    network.freeze_for_acting()
    for _ in range(2):
        torch.testing.assert_close(network.step(observation, state)[0], before, atol=1e-4, rtol=1e-4)
