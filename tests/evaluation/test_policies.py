"""`--policy`: names, files of the user's own, and what is wrong with what is neither."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from maestro.content import Content, shipped_root
from maestro.envs.corridor import RandomPolicy, ReferencePolicy
from maestro.errors import PolicyFileError
from maestro.evaluation.policies import default_policy, make_policy, policy_identity

OWN = """
class Mine:
    name = "mine"
    def __init__(self, num_games): self.num_games = num_games
    def reset(self, index, seed): pass
    def act(self, world, skills): return [-1 if skill is None else 0 for skill in skills]

def make_skill_policy(num_games):
    return Mine(num_games)
"""


def test_the_named_policies_are_the_worlds_own():
    assert isinstance(make_policy("reference", "corridor", 2), ReferencePolicy)
    assert isinstance(make_policy("random", "corridor", 2), RandomPolicy)


def test_a_file_of_ones_own_is_loaded_and_told_the_number_of_games(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    policy = make_policy(str(path), "corridor", 3)
    assert policy.name == "mine"
    assert vars(policy)["num_games"] == 3


def test_a_changed_file_is_another_policy(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    before = policy_identity(str(path))
    path.write_text(OWN + "\n")
    assert policy_identity(str(path)) != before


@pytest.mark.parametrize(("typed", "meant"), [("refrence", "'reference'"), ("randm", "'random'")])
def test_a_misspelt_name_is_suggested(typed: str, meant: str):
    with pytest.raises(PolicyFileError, match=f"did you mean {meant}"):
        policy_identity(typed)


def test_a_misspelt_file_is_suggested(tmp_path: Path):
    (tmp_path / "walker.py").write_text(OWN)
    with pytest.raises(PolicyFileError, match=r"did you mean '.*walker\.py'"):
        policy_identity(str(tmp_path / "waker.py"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x = 1", "no make_skill_policy"),
        ("1 / 0", "raised ZeroDivisionError"),
        ("def f(:", "raised SyntaxError"),
    ],
)
def test_a_file_that_is_no_policy_says_why(source: str, text: str, tmp_path: Path):
    path = tmp_path / "bad.py"
    path.write_text(source)
    with pytest.raises(PolicyFileError, match=text):
        make_policy(str(path), "corridor", 1)


def test_a_folder_or_another_file_is_refused(tmp_path: Path):
    with pytest.raises(PolicyFileError, match="a folder"):
        policy_identity(str(tmp_path))
    (tmp_path / "policy.safetensors").write_bytes(b"")
    with pytest.raises(PolicyFileError, match="not a Python file"):
        policy_identity(str(tmp_path / "policy.safetensors"))


def test_the_trained_policy_plays_by_default_where_it_knows_all_skills(tmp_path: Path):
    assert default_policy("nethack", Content.find()) == "trained"
    assert default_policy("corridor", Content.find()) == "reference"
    skill = tmp_path / "skills" / "dancer"
    shutil.copytree(shipped_root() / "skills" / "descender", skill)
    path = skill / "skill.toml"
    path.write_text(path.read_text().replace("descender", "dancer").replace("index = 1", ""))
    assert default_policy("nethack", Content.find(tmp_path)) == "reference"


@pytest.mark.parametrize("text", ["", "[]", '{"skills": [1]}'])
def test_a_broken_card_is_left_to_the_loader_to_tell(text: str, tmp_path: Path):
    card = tmp_path / "skills" / "policy" / "card.json"
    card.parent.mkdir(parents=True)
    card.write_text(text)
    assert default_policy("nethack", Content.find(tmp_path)) == "trained"
