"""Prompts: exactly the variables they name, and what the shipped ones say."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from codegen.contract import Contract, StateField, initiation_contract, policy_contract, termination_contract
from maestro.content import Content, shipped_root
from maestro.envs.scenario import load_scenarios, state_facts
from maestro.errors import PromptError, UnknownNameError
from maestro.prompts import Prompts

CONTENT = Content.find()
PROMPTS = Prompts(CONTENT.prompt_folders())
TEMPLATES = [name for name in PROMPTS.names() if name.startswith("codegen/") and "/_" not in name]
ASKING = ["initiation", "termination", "training", "task"]


def contract_of(world: str, kind: str) -> Contract:
    make = {"initiation": initiation_contract, "termination": termination_contract}.get(kind, policy_contract)
    return make([StateField(*fact) for fact in state_facts(world)], tuple(CONTENT.skills(world)))


@functools.cache
def everything(world: str = "nethack", kind: str = "task") -> dict[str, Any]:
    """All variables that templates may use, as the command provides them."""
    scenarios, contract = load_scenarios(world), contract_of(world, kind)
    skills = CONTENT.skills(world)
    task = CONTENT.training(world) if kind == "training" else next(iter(CONTENT.tasks(world).values()))
    return {  # callers copy it
        "world": scenarios.TITLE,
        "facts": scenarios.FACTS,
        "helpers": scenarios.HELPERS,
        "fields": contract.state_fields,
        "state_name": contract.state_name,
        "skills": [skill.spec for skill in skills.values()],
        "skill": next(iter(skills.values())).spec,
        "task": task.spec,
        "signatures": [each.signature(contract.class_name is not None) for each in contract.functions],
        "modules": sorted(contract.imports),
        "builtins": sorted(contract.builtins),
        "max_lines": contract.max_lines,
        "given_methods": [helper.name for helper in scenarios.HELPERS],
        "given_source": "class Policy:\n    pass\n",
        "violations": ["policy.py:3:1: `while` is not allowed."],
        "problems": ["the goal was not reached"],
        "test_output": "1 descender\n",
        "trace": "1 place chosen\n",
        "attempts_left": 2,
        "summary": "Reached in 2 of 3.",
        "choices": ["yes", "no"],
    }


def render(name: str, variables: Mapping[str, Any]) -> str:
    return PROMPTS.render(name, **{key: variables[key] for key in PROMPTS.variables(name)})


def prompt(kind: str, world: str = "nethack", **changed: Any) -> str:
    return render(f"codegen/{kind}.j2", {**everything(world, kind), **changed})


def test_the_templates_that_are_needed_are_there():
    names = {name.removeprefix("codegen/").removesuffix(".j2") for name in TEMPLATES}
    assert names == {*ASKING, "system", "repair", "judge"}


@pytest.mark.parametrize("world", ["nethack", "corridor"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_renders_with_exactly_its_variables(name, world):
    text = render(name, everything(world, name.split("/")[1].removesuffix(".j2")))
    assert not re.search(r"\{\{|\}\}|\{%|%\}|\{#|Undefined", text)
    assert "\n\n\n" not in text
    assert not re.search(r"[^\n]\n## ", text), "a heading stands alone"
    assert text == text.strip("\n") + "\n"
    assert 300 < len(text) < 16_000


@pytest.mark.parametrize("name", TEMPLATES)
def test_one_variable_less_or_more_is_refused(name):
    needed = {key: everything()[key] for key in PROMPTS.variables(name)}
    with pytest.raises(PromptError, match="'colour' is given, but the template does not use it"):
        PROMPTS.render(name, **needed, colour="red")
    for variable in needed:
        with pytest.raises(PromptError, match=rf"\.j2:\d+: the variable '{variable}' is not given"):
            PROMPTS.render(name, **{key: value for key, value in needed.items() if key != variable})


@pytest.mark.parametrize("world", ["nethack", "corridor"])
@pytest.mark.parametrize("kind", ASKING)
def test_every_field_and_skill_has_one_row(kind, world):
    lines = prompt(kind, world).splitlines()
    for fact in state_facts(world):
        rows = [line for line in lines if line.startswith(f"| {fact.name} |")]
        assert len(rows) == 1
        assert fact.doc in rows[0]
        assert rows[0].count("|") == 4
    for skill in CONTENT.skills(world).values():
        rows = [line for line in lines if line.startswith(f"| {skill.name} |")]
        assert len(rows) == 1
        assert skill.spec.description.split("\n")[0] in rows[0]


def test_a_changed_field_changes_the_prompt():
    fields = list(everything()["fields"])
    fields[0] = replace(fields[0], doc="Days since the last full moon.")
    assert "| step | int | Days since the last full moon. |" in prompt("task", fields=fields)
    assert "| step |" not in prompt("task", fields=fields[1:])


def test_prompts_ask_for_what_the_contract_demands():
    for kind in ASKING:
        for signature in everything(kind=kind)["signatures"]:
            assert f"    {signature}\n" in prompt(kind)
        assert "Ask yourself the questions" in prompt(kind)
        assert "Strategy" in prompt(kind)
        assert "`test_`" in prompt(kind)
    assert "List the attributes" in prompt("task")
    for helper in load_scenarios("nethack").HELPERS:
        assert f"def {helper.name}(self, state, finished, startable)" in prompt("training")
        assert f"self.{helper.name}" in prompt("task")
    assert "There is a policy already" not in prompt("task", given_methods=(), given_source="")
    assert "further methods" not in prompt("training", "corridor")


def test_the_way_a_task_is_counted_is_said():
    assert "the more, the better" in prompt("task", task=CONTENT.task("transactions").spec)
    assert "whether this is done" in prompt("task", task=CONTENT.task("minetown").spec)


def test_a_repair_says_only_what_is_known():
    nothing: dict[str, Any] = {"violations": [], "problems": [], "test_output": "", "trace": ""}
    assert "No reason was recorded" in prompt("repair", **nothing)
    text = prompt("repair", **{**nothing, "violations": ["policy.py:3:1: a", "policy.py:4:1: b"]})
    assert "- policy.py:3:1: a\n- policy.py:4:1: b\n" in text
    assert "~~~" not in text
    assert "last attempt" in prompt("repair", attempts_left=1)
    assert "last attempt" not in text


def test_a_judge_is_asked_for_one_of_the_choices():
    assert prompt("judge").endswith("Answer with one word: yes or no.\n")
    assert "Of all games" not in prompt("judge", summary="")


def test_shipped_templates_name_no_skill_and_no_field():
    skills = set(CONTENT.skills())
    fields = {
        fact.name for world in ("nethack", "corridor") for fact in state_facts(world) if "_" in fact.name
    }
    for path in sorted((shipped_root() / "prompts" / "codegen").glob("*.j2")):
        words = set(re.findall(r"[a-z_]+", path.read_text()))
        assert not words & (skills | fields), path.name


# --- the renderer -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    def write(**templates: str) -> Prompts:
        for name, text in templates.items():
            (tmp_path / f"{name}.j2").write_text(text)
        return Prompts([tmp_path, *CONTENT.prompt_folders()])

    return write


def test_a_users_folder_comes_first_also_for_includes(folder, tmp_path):
    (tmp_path / "codegen").mkdir()
    (tmp_path / "codegen" / "_reply.j2").write_text("Answer in verse.\n")
    prompts = folder()
    needed = {key: everything()[key] for key in prompts.variables("codegen/task.j2")}
    assert "Answer in verse." in prompts.render("codegen/task.j2", **needed)
    assert prompts.sha256("codegen/task.j2") != PROMPTS.sha256("codegen/task.j2")
    assert prompts.sha256("codegen/judge.j2") == PROMPTS.sha256("codegen/judge.j2")
    assert prompts.path("codegen/_reply.j2") == tmp_path / "codegen" / "_reply.j2"


def test_variables_of_includes_are_variables_too(folder):
    prompts = folder(a="{% include 'b.j2' %}{% for x in xs %}{{ x }}{% endfor %}", b="{{ y }}\n\n\n\n!")
    assert prompts.variables("a.j2") == {"xs", "y"}
    assert prompts.render("a.j2", xs=[1, 2], y="why") == "why\n\n!12\n"
    with pytest.raises(PromptError, match=r"b\.j2:1: the variable 'y' is not given.*did you mean 'yy'"):
        prompts.render("a.j2", xs=[], yy=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n{{ x.colour }}\n", r"t\.j2:2: cannot be rendered: .*colour"),
        ("one\n\n{% if x %}\n", r"t\.j2:\d+: cannot be rendered: .*endif"),
        ("{{ x | shout }}\n", r"t\.j2:1: .*shout"),
        ("\n{{ x + [] }}\n", r"t\.j2:2: cannot be rendered: unsupported operand"),
        ("\n{{ x.__class__ }}\n", r"t\.j2:2: cannot be rendered: .*unsafe"),
        ("{% include x %}\n", r"t\.j2: an include is not named by a plain text"),
    ],
)
def test_faults_of_a_template_name_file_and_line(folder, text, expected):
    with pytest.raises(PromptError, match=expected):
        folder(t=text).render("t.j2", x=3)


def test_an_unknown_template_is_answered_with_a_suggestion():
    with pytest.raises(
        UnknownNameError, match=r"unknown prompt 'codegen/tsak.j2'.*did you mean 'codegen/task.j2'"
    ):
        PROMPTS.render("codegen/tsak.j2")


def test_a_template_that_is_no_text_is_named(tmp_path):
    (tmp_path / "t.j2").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PromptError, match="not UTF-8 text"):
        Prompts([tmp_path]).render("t.j2")
