"""Where content is found, in which order, and how bad folders are answered."""

import os
import re

import pytest

from maestro.content import Content, shipped_root
from maestro.errors import ContentError, SpecError, UnknownNameError
from maestro.specs import NAME_PATTERN

SKILL = 'name = "{name}"\nworld = "corridor"\ndescription = "d"\npreference = "p"\n'
TASK = (
    'name = "{name}"\ninstruction = "i"\nworld = "corridor"\nfallback = "opener"\n'
    '[success]\ntrue = "door_opened"\ncompatible = "door_message"\n'
)


@pytest.fixture(autouse=True)
def _no_content_of_the_user(monkeypatch):
    monkeypatch.delenv("MAESTRO_CONTENT", raising=False)


def write(root, kind, name, text, file_name):
    folder = root / kind / name
    folder.mkdir(parents=True)
    (folder / file_name).write_text(text.format(name=name))
    return folder


def write_skill(root, name, more=""):
    return write(root, "skills", name, SKILL + more, "skill.toml")


def test_all_shipped_content_can_be_read():
    content = Content.find()
    assert content.roots == (shipped_root(),)
    assert list(content.skills("nethack")) == [
        "discoverer",
        "descender",
        "ascender",
        "worshipper",
        "merchant",
    ]
    assert list(content.skills("corridor")) == ["keyfinder", "eastwalker", "opener"]
    assert len(content.tasks("nethack")) == 9
    assert list(content.tasks("corridor")) == ["locked_door"]
    assert content.training().spec.world == "nethack"
    assert content.training("corridor").name == "corridor_training"
    assert content.training().name == "training"
    assert content.training("nethack", "deep_training").spec.max_steps == 10_000


def test_every_shipped_file_that_is_named_exists_and_fallbacks_are_skills():
    content = Content.find()
    for skill in content.skills().values():
        assert skill.initiation_path.is_file()
        assert skill.termination_path.is_file()
    for task in [*content.tasks().values(), content.training(), content.training("corridor")]:
        assert task.policy_path.is_file()
        assert task.spec.fallback in content.skills(task.spec.world)


def test_content_folders_are_no_packages_and_have_proper_names():
    for kind in ("skills", "prompts", "meta_policies"):
        for folder in (shipped_root() / kind).rglob("*"):
            assert folder.name != "__init__.py"
            assert not folder.is_dir() or re.match(NAME_PATTERN, folder.name) or folder.name == "__pycache__"


def test_user_folders_are_searched_first_and_add_to_what_ships(tmp_path, monkeypatch):
    write_skill(tmp_path / "flag", "opener", "max_steps = 1\n")
    write_skill(tmp_path / "one", "opener", "max_steps = 2\n")
    write_skill(tmp_path / "one", "juggler")
    write(tmp_path / "two", "meta_policies", "knock", TASK, "task.toml")
    monkeypatch.setenv("MAESTRO_CONTENT", os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two"), ""]))
    content = Content.find(tmp_path / "flag")
    assert content.skill("opener").spec.max_steps == 1
    assert content.skill("opener").folder == tmp_path / "flag" / "skills" / "opener"
    assert list(content.skills("corridor")) == ["keyfinder", "eastwalker", "juggler", "opener"]
    assert content.task("knock").policy_path == tmp_path / "two" / "meta_policies" / "knock" / "policy.py"
    assert Content.find().skill("opener").spec.max_steps == 2


def test_prompts_are_found_in_search_order(tmp_path):
    (tmp_path / "prompts").mkdir()
    assert Content.find(tmp_path).prompt_folders() == (tmp_path / "prompts", shipped_root() / "prompts")


def test_skills_with_an_index_come_first(tmp_path):
    for name, more in [("b", ""), ("a", ""), ("z", "index = 0\n"), ("y", "index = 3\n")]:
        write_skill(tmp_path, name, more)
    assert list(Content((tmp_path,)).skills()) == ["z", "y", "a", "b"]


def test_the_trained_policy_hidden_folders_and_files_are_no_skills(tmp_path):
    write_skill(tmp_path, "a")
    for name in ("policy", ".git", "__pycache__"):
        (tmp_path / "skills" / name).mkdir()
    (tmp_path / "skills" / "README.md").write_text("text")
    assert list(Content((tmp_path,)).skills()) == ["a"]


@pytest.mark.parametrize(
    ("name", "better"), [("Juggler", "juggler"), ("my-skill", "my_skill"), ("2fast", "x_2fast")]
)
def test_a_badly_named_folder_is_answered_with_the_rule_and_a_better_name(tmp_path, name, better):
    write_skill(tmp_path, name)
    with pytest.raises(ContentError, match=f"{name}' is not allowed.*lower-case letter.*'{better}'"):
        Content((tmp_path,)).skills()


def test_a_folder_whose_file_has_another_name(tmp_path):
    folder = write_skill(tmp_path, "juggler")
    (folder / "skill.toml").write_text(SKILL.format(name="jongleur"))
    with pytest.raises(ContentError, match="name = 'jongleur', but its folder is called 'juggler'"):
        Content((tmp_path,)).skills()


def test_a_folder_without_its_file(tmp_path):
    (tmp_path / "skills" / "empty").mkdir(parents=True)
    with pytest.raises(ContentError, match="the folder has no skill.toml.*Next: write"):
        Content((tmp_path,)).skills()
    (tmp_path / "meta_policies" / "empty").mkdir(parents=True)
    with pytest.raises(ContentError, match=r"the folder has no task.toml"):
        Content((tmp_path,)).tasks()


def test_an_index_that_is_taken(tmp_path):
    write_skill(tmp_path, "a", "index = 1\n")
    write_skill(tmp_path, "b", "index = 1\n")
    with pytest.raises(ContentError, match="index = 1 is already taken by the skill 'a'"):
        Content((tmp_path,)).skills()


def test_one_bad_file_is_named(tmp_path):
    write_skill(tmp_path, "a", 'colour = "red"\n')
    with pytest.raises(SpecError, match="a/skill.toml: colour: unknown key"):
        Content((tmp_path,)).skills()


def test_unknown_names_are_answered_with_suggestions():
    content = Content.find()
    with pytest.raises(UnknownNameError, match="unknown task 'minetwon'.*did you mean 'minetown'"):
        content.task("minetwon")
    with pytest.raises(UnknownNameError, match="unknown skill 'descend'.*did you mean 'descender'"):
        content.skill("descend")
    with pytest.raises(UnknownNameError, match="unknown world"):
        content.training("chess")
    with pytest.raises(UnknownNameError, match="did you mean 'deep_training'"):
        content.training("nethack", "deep_trainin")
    with pytest.raises(UnknownNameError, match="training policy of corridor"):
        content.training("corridor", "deep_training")


def test_named_folders_must_exist_and_hold_content(tmp_path, monkeypatch):
    with pytest.raises(ContentError, match="--content .*nowhere: the content folder does not exist"):
        Content.find(tmp_path / "nowhere")
    monkeypatch.setenv("MAESTRO_CONTENT", str(tmp_path))
    with pytest.raises(
        ContentError, match="MAESTRO_CONTENT .*: the folder holds no content.*skills, prompts"
    ):
        Content.find()
