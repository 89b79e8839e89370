"""Policy files: what is written is what is read, half-written and foreign ones are refused, changed skills are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from maestro.content import Content, SkillContent, shipped_root
from maestro.envs import make_features, make_world
from maestro.envs.world import World
from maestro.errors import PolicyFileError
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork
from maestro.learner.policy_file import (
    CARD,
    PolicyCard,
    describe,
    find_policy,
    load_card,
    load_policy,
    policy_sha256,
    save_policy,
)

TINY = NetworkConfig(core_size=8, hidden=8, head=0, vector_layers=(8,), precision="float32")


@pytest.fixture
def world() -> World:
    return make_world("corridor", 2)


@pytest.fixture
def skills() -> list[SkillContent]:
    return list(Content((shipped_root(),)).skills("corridor").values())


def network_for(world: World, num_skills: int, seed: int = 0) -> PolicyNetwork:
    torch.manual_seed(seed)
    specs = {
        name: ArraySpec(array.shape[1:], str(array.dtype))
        for name, array in make_features(world, "compass").arrays.items()
    }
    return PolicyNetwork(TINY, specs, num_skills, len(world.action_names))


def save(folder: Path, world: World, skills: list[SkillContent], **more: Any) -> PolicyNetwork:
    network = network_for(world, len(skills))
    card = describe(world, make_features(world, "compass"), skills)
    half = more.pop("half", False)
    save_policy(folder, network, card | {"method": "by chance", "steps": 12, **more}, half=half)
    return network


def load(folder: Path, world: World, skills: list[SkillContent]):
    return load_policy(folder, world=world, features=make_features(world, "compass"), skills=skills)


def edit_card(folder: Path, **changes: Any) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps(card | changes))


def weights_of(folder: Path) -> Path:
    (path,) = folder.glob("*.safetensors")
    return path


def test_a_policy_comes_back_as_it_was(tmp_path: Path, world: World, skills: list[SkillContent]):
    network = save(tmp_path, world, skills, curves={"return": [0.1, 0.2]})
    loaded = load(tmp_path, world, skills)
    assert loaded.notes == ()
    assert (loaded.card.steps, loaded.card.curves) == (12, {"return": [0.1, 0.2]})
    assert [skill.name for skill in loaded.card.skills] == [skill.name for skill in skills]
    for (name, mine), theirs in zip(
        network.state_dict().items(), loaded.network.state_dict().values(), strict=True
    ):
        assert torch.equal(mine, theirs), name
    assert not loaded.network.training


def test_half_the_bytes_lose_next_to_nothing(tmp_path: Path, world: World, skills: list[SkillContent]):
    network = save(tmp_path / "half", world, skills, half=True)
    save(tmp_path / "whole", world, skills)
    loaded = load(tmp_path / "half", world, skills)
    assert loaded.card.stored == "float16"
    assert weights_of(tmp_path / "half").stat().st_size < 0.7 * weights_of(tmp_path / "whole").stat().st_size
    x = torch.randn(5, network.recurred_size)
    torch.testing.assert_close(network.heads(x)[0], loaded.network.heads(x)[0], atol=1e-3, rtol=1e-2)


def test_a_new_policy_takes_the_place_of_the_old_one(
    tmp_path: Path, world: World, skills: list[SkillContent]
):
    save(tmp_path, world, skills)
    before = policy_sha256(tmp_path)
    card = describe(world, make_features(world, "compass"), skills) | {"method": "again", "steps": 13}
    save_policy(tmp_path, network_for(world, len(skills), seed=1), card)
    assert policy_sha256(tmp_path) != before
    assert load(tmp_path, world, skills).card.steps == 13
    assert len(list(tmp_path.iterdir())) == 2


def test_weights_that_are_no_numbers_are_not_written(
    tmp_path: Path, world: World, skills: list[SkillContent]
):
    save(tmp_path, world, skills)
    before = policy_sha256(tmp_path)
    network = network_for(world, len(skills))
    with torch.no_grad():
        network.value.weight[0, 0] = float("nan")
    card = describe(world, make_features(world, "compass"), skills) | {"method": "", "steps": 0}
    with pytest.raises(PolicyFileError, match=r"value\.weight.*not finite.*earlier checkpoint"):
        save_policy(tmp_path, network, card)
    assert policy_sha256(tmp_path) == before


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_half_written_weights_are_refused(
    share: float, tmp_path: Path, world: World, skills: list[SkillContent]
):
    save(tmp_path, world, skills)
    path = weights_of(tmp_path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(PolicyFileError, match=r"damaged.*sha256.*again"):
        load_policy(tmp_path)


def test_one_flipped_bit_is_found(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    path = weights_of(tmp_path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(PolicyFileError, match="damaged"):
        load_policy(tmp_path)


def test_missing_weights_are_named(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    name = weights_of(tmp_path).name
    weights_of(tmp_path).unlink()
    with pytest.raises(PolicyFileError, match=name):
        load_policy(tmp_path)


def test_a_missing_folder_names_the_commands_that_make_one(tmp_path: Path):
    with pytest.raises(PolicyFileError, match=r"maestro export --run.*maestro hub pull"):
        load_policy(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", "[]", '"card"', '{"version": 1}', '{"version": 2}', "\x00\x01"])
def test_a_card_that_is_none_is_refused(text: str, tmp_path: Path):
    (tmp_path / CARD).write_text(text)
    with pytest.raises(PolicyFileError, match=r"card\.json"):
        load_card(tmp_path)


def test_a_card_with_another_network_does_not_fit_its_weights(
    tmp_path: Path, world: World, skills: list[SkillContent]
):
    save(tmp_path, world, skills)
    edit_card(tmp_path, architecture=TINY.model_copy(update={"core_size": 9}).model_dump())
    with pytest.raises(PolicyFileError, match="do not fit the card's network"):
        load_policy(tmp_path)


def test_a_policy_of_another_world_is_refused(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    edit_card(tmp_path, world="nethack")
    with pytest.raises(PolicyFileError, match=r"made for the world 'nethack'.*'corridor'.*train-policy"):
        load(tmp_path, world, skills)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["west", "east", "open", "dance"], "does not know wait; the world has no dance"),
        (["east", "west", "open", "wait"], "order is another"),
    ],
)
def test_a_policy_of_other_actions_is_refused(
    names: list[str], said: str, tmp_path: Path, world: World, skills: list[SkillContent]
):
    save(tmp_path, world, skills)
    edit_card(tmp_path, action_names=names)
    with pytest.raises(PolicyFileError, match=said):
        load(tmp_path, world, skills)


def test_features_of_another_version_are_refused(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    features = json.loads((tmp_path / CARD).read_text())["features"]
    edit_card(tmp_path, features=features | {"version": 0})
    with pytest.raises(PolicyFileError, match=r"'compass' of version 0.*version 1"):
        load(tmp_path, world, skills)


def test_a_world_of_another_size_is_refused(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    with pytest.raises(PolicyFileError, match=r"`vector`.*same options"):
        load(tmp_path, make_world("corridor", 2, length=20), skills)


def test_a_skill_it_never_learnt_is_refused_by_name(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills[:-1])
    with pytest.raises(PolicyFileError, match=f"never learnt the skill {skills[-1].name}"):
        load(tmp_path, world, skills)


def test_a_skill_the_content_lost_is_told(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    (note,) = load(tmp_path, world, skills[1:]).notes
    assert skills[0].name in note


def test_a_changed_skill_is_named_with_what_changed(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path / "policy", world, skills)
    root = tmp_path / "content"
    changed = skills[1]
    shutil.copytree(changed.folder, root / "skills" / changed.name)
    with open(root / "skills" / changed.name / "termination.py", "a") as file:
        file.write("\n# another time\n")
    mine = list(Content((root, shipped_root())).skills("corridor").values())
    (note,) = load(tmp_path / "policy", world, mine).notes
    assert note == f"the skill {changed.name} has changed since its policy was trained: termination.py"


def test_the_contents_policy_is_found_for_its_world_only(
    tmp_path: Path, world: World, skills: list[SkillContent]
):
    content = Content((tmp_path,))
    with pytest.raises(PolicyFileError, match=r"no trained policy for the world 'corridor'.*maestro export"):
        find_policy(content, "corridor")
    save(tmp_path / "skills" / "policy", world, skills)
    assert find_policy(content, "corridor") == tmp_path / "skills" / "policy"
    with pytest.raises(PolicyFileError, match="only for corridor"):
        find_policy(content, "nethack")
    edit_card(tmp_path / "skills" / "policy", world="nethack")
    save(tmp_path / "skills" / "policy" / "corridor", world, skills)
    assert find_policy(content, "corridor") == tmp_path / "skills" / "policy" / "corridor"
    assert find_policy(content, "nethack") == tmp_path / "skills" / "policy"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, world: World, skills: list[SkillContent]):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolicyFileError, match="cannot be written"):
        save(tmp_path / "file", world, skills)


def test_the_card_says_what_it_is_made_of(tmp_path: Path, world: World, skills: list[SkillContent]):
    save(tmp_path, world, skills)
    card: PolicyCard = load_card(tmp_path)
    assert set(card.skills[0].sha256) == {"skill.toml", "initiation.py", "termination.py"}
    assert card.features.arrays["vector"][1] == "float32"
    assert card.num_parameters == sum(
        weight.numel() for weight in network_for(world, len(skills)).parameters()
    )
