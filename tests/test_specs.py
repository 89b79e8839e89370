"""Hand-written files: what they may hold, and how mistakes in them are answered."""

import pydantic
import pytest

from maestro.errors import SpecError
from maestro.learner.guide import GuideConfig
from maestro.specs import SkillSpec, TaskSpec, load_toml, parse

TASK = """
name = "minetown"
instruction = "Reach Minetown."
fallback = "discoverer"

[success]
true = "minetown_reached"
compatible = "minetown_overview"

[published]
value = 7.2
stderr = 0.5
unit = "percent"
source = "arXiv 2412.08542"
"""
SKILL = """
name = "descender"
description = "Goes down."
preference = "Down is good."

[reward]
quantile = 0.95
"""


def load(tmp_path, text, model=TaskSpec):
    path = tmp_path / "task.toml"
    path.write_text(text)
    return load_toml(path, model)


def test_a_task_with_its_defaults(tmp_path):
    task = load(tmp_path, TASK)
    assert (task.world, task.max_steps, task.kind) == ("nethack", 10_000, "rate")
    assert task.success.true == "minetown_reached"
    assert task.published is not None
    assert task.published.value == 7.2
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        task.max_steps = 3


def test_a_skill_with_its_defaults(tmp_path):
    skill = load(tmp_path, SKILL, SkillSpec)
    assert (skill.reward.quantile, skill.reward.count_exponent, skill.reward.count_memory) == (0.95, 3.0, 20)
    assert (skill.index, skill.max_turns, skill.max_steps) == (None, None, None)


def test_none_remembers_the_whole_episode(tmp_path):
    assert load(tmp_path, SKILL + 'count_memory = "none"', SkillSpec).reward.count_memory is None


def test_whole_numbers_are_numbers(tmp_path):
    assert load(tmp_path, SKILL + "count_exponent = 2", SkillSpec).reward.count_exponent == 2.0


# what is replaced in TASK, by what, and what the message has to say
MISTAKES = [
    ('fallback = "', 'falback = "', "falback: unknown key 'falback' = 'discoverer'.*did you mean 'fallback'"),
    ("stderr", "std_err", "published.std_err: unknown key.*did you mean 'stderr'"),
    ("[published]", "[publishd]", "publishd: unknown key.*did you mean 'published'"),
    ('fallback = "discoverer"\n', "", "fallback: the key is missing.*Expected: text.*Next: add it"),
    ('true = "minetown_reached"\n', "", "success.true: the key is missing.*Expected: text"),
    ("[success]", "[published2]", "published2: unknown key"),
    ('"Reach Minetown."', "7", "instruction: the value is 7. Expected: text"),
    ('"Reach Minetown."', '" "', "instruction: the value is ' '. Expected: .*at least 1 character"),
    ('"discoverer"', '"The Discoverer"', "fallback: 'The Discoverer' is no name.*lower-case letter"),
    ("7.2", '"7.2"', "published.value: the value is '7.2'. Expected: .*number"),
    ('"percent"', '"count"', "published.unit is 'count', but a task of kind 'rate' needs 'percent'"),
    ('"percent"', '"%"', "published.unit: the value is '%'. Expected: 'percent' or 'count'"),
    ("7.2", "inf", "published.value: the value is inf. Expected: a finite number"),
    ("7.2", "nan", "published.value: the value is nan. Expected: a finite number"),
    ("fallback", "max_steps = 0\nfallback", "max_steps: the value is 0. Expected: greater than 0"),
    ("fallback", "max_steps = 1.5\nfallback", "max_steps: the value is 1.5. Expected: .*whole number"),
    ("fallback", "max_steps = true\nfallback", "max_steps: the value is True. Expected: .*whole number"),
    ("fallback", "published = 3\nfallback", "not valid TOML"),
    ('"minetown"', "minetown", "not valid TOML: .*line 2"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_names_file_key_value_and_expectation(tmp_path, old, new, message):
    assert old in TASK
    with pytest.raises(SpecError, match=message) as caught:
        load(tmp_path, TASK.replace(old, new, 1))
    assert str(caught.value).startswith(str(tmp_path / "task.toml"))
    assert "pydantic" not in str(caught.value)


def test_a_list_is_asked_for_in_the_authors_words():
    with pytest.raises(
        SpecError, match=r"--config: skills: the value is 'opener'. Expected: a list, such as"
    ):
        parse({"skills": "opener"}, GuideConfig, where="--config")


def test_a_table_where_a_value_is_wanted_and_the_reverse(tmp_path):
    with pytest.raises(
        SpecError, match=r"reward: the value is 3. Expected: a table with quantile, certainty, threshold"
    ):
        load(tmp_path, SKILL.replace("[reward]\nquantile = 0.95", "reward = 3"), SkillSpec)


def test_several_mistakes_are_counted_and_the_misspelt_key_comes_first(tmp_path):
    with pytest.raises(SpecError, match="falback: unknown key.*and 1 more in this file"):
        load(tmp_path, TASK.replace("fallback", "falback"))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match="does not exist.*one task"):
        load_toml(tmp_path / "none.toml", TaskSpec)
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        load_toml(tmp_path, TaskSpec)
    (tmp_path / "latin.toml").write_bytes("name = 'é'".encode("latin-1"))
    with pytest.raises(SpecError, match="not UTF-8"):
        load_toml(tmp_path / "latin.toml", TaskSpec)
