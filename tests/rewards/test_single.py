"""The compiled reward model: the same numbers as torch's, for any architecture and any message."""

from __future__ import annotations

import random

import pytest
import torch

from maestro.content import Content
from maestro.rewards.encode import CHANGES, encode_messages
from maestro.rewards.files import SkillReward, load_card
from maestro.rewards.model import PRESETS, ModelConfig, RewardModel
from maestro.rewards.single import Recent, SingleReward

TINY = ModelConfig(embedding=3, channels=5, message_features=4, change_features=6, hidden=(7, 9))
ONLY_DEPTH = TINY.model_copy(update={"changes": ("depth",)})


def reward_of(config: ModelConfig, num_models: int) -> SkillReward:
    torch.manual_seed(0)
    folder = Content.find().reward_folder("merchant")
    assert folder is not None
    card = load_card(folder).model_copy(update={"mean": 0.3, "std": 0.02})
    return SkillReward(card, [RewardModel(config).double() for _ in range(num_models)])


@pytest.mark.parametrize(
    ("config", "num_models"),
    [(TINY, 1), (TINY, 3), (ONLY_DEPTH, 1), (PRESETS["small"], 1), (PRESETS["paper"], 2)],
)
def test_a_caption_by_itself_has_the_reward_that_torch_gives(config, num_models):
    reward, dice = reward_of(config, num_models), random.Random(1)
    single = SingleReward(reward)
    lengths = [*range(1, 40), 61, 62, 63, 80, 100, 150, 199, 230, 247, *range(250, 259), 400]
    messages = ["".join(chr(dice.randint(32, 255)) for _ in range(length)) for length in lengths]
    signs = [tuple(dice.choices((-1, 0, 1), k=len(CHANGES))) for _ in messages]
    told = reward(torch.from_numpy(encode_messages(messages)), torch.tensor(signs)).tolist()
    assert [single(*caption) for caption in zip(messages, signs, strict=True)] == pytest.approx(
        told, abs=1e-9
    )
    shuffled = list(range(len(messages)))
    dice.shuffle(shuffled)
    first = SingleReward(reward)
    assert {n: first(messages[n], signs[n]) for n in shuffled} == {
        n: single(messages[n], signs[n]) for n in shuffled
    }, "what was computed before changes nothing, not a bit"


def test_an_empty_message_has_the_reward_of_padding():
    reward = reward_of(TINY, 1)
    told = float(reward(torch.from_numpy(encode_messages([""])), torch.zeros(1, len(CHANGES)))[0])
    assert SingleReward(reward)("", (0,) * len(CHANGES)) == pytest.approx(told, abs=1e-9)


def test_recent_keeps_what_is_asked_for_and_forgets_the_rest():
    recent = Recent[int, str](10)
    recent.put(-1, "asked for")
    for number in range(1_000):
        recent.put(number, str(number))
        assert recent.get(-1) == "asked for"
        assert len(recent) <= 20
    assert recent.get(0) is None
    assert all(recent.get(number) == str(number) for number in range(992, 1_000))
