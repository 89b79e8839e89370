"""What is to be written: one job is one module, with its contract, its prompt and the place where it belongs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen.contract import Contract, Parameter, RequiredFunction
from codegen.merge import helper_names
from codegen.repair import Message
from maestro.content import Content, SkillContent, TaskContent, TrainingContent
from maestro.envs.scenario import Scenarios, load_scenarios
from maestro.options.load import contract_for, load_policy
from maestro.prompts import Prompts


@dataclass(frozen=True)
class Job:
    """One module to be written."""

    label: str
    """"goldenexit", "merchant/initiation"; how people and recordings name it."""
    file_name: str
    item: SkillContent | TrainingContent
    contract: Contract
    template: str
    variables: Mapping[str, Any]
    """Everything a template may use, of which each takes what it names."""
    helpers: str | None = None
    """Source of the training policy, whose methods may be called."""

    @property
    def world(self) -> str:
        """Name the world."""
        return self.item.spec.world

    @property
    def scenarios(self) -> Scenarios:
        """Find what the module is tried on."""
        return load_scenarios(self.world)

    def messages(self, prompts: Prompts) -> tuple[Message, Message]:
        """Render what a model is sent first."""
        return (
            Message("system", render(prompts, "codegen/system.j2", self.variables)),
            Message("user", render(prompts, self.template, self.variables)),
        )

    @property
    def skills_sha256(self) -> str:
        """Hash what the model is told about the skills."""
        told = [[s.name, s.description, s.max_turns, s.max_steps] for s in self.variables["skills"]]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def render(prompts: Prompts, template: str, variables: Mapping[str, Any]) -> str:
    """Fill a template in with those of the variables that it names."""
    named = prompts.variables(template)
    return prompts.render(template, **{key: value for key, value in variables.items() if key in named})


def prompt_hash(messages: Sequence[Message]) -> str:
    """Hash the first messages."""
    return hashlib.sha256(json.dumps([[m.role, m.content] for m in messages]).encode()).hexdigest()


def skill_jobs(content: Content, name: str) -> list[Job]:
    """Ask for the initiation and the termination of a skill; raises UnknownNameError."""
    skill = content.skill(name)
    return [_skill_job(content, skill, "initiation"), _skill_job(content, skill, "termination")]


def _skill_job(content: Content, skill: SkillContent, kind: Any) -> Job:
    contract = contract_for(skill.spec.world, kind, content.skills(skill.spec.world))
    variables = _variables(content, contract, skill.spec.world) | {"skill": skill.spec}
    return Job(f"{skill.name}/{kind}", f"{kind}.py", skill, contract, f"codegen/{kind}.j2", variables)


def training_job(content: Content, world: str) -> Job:
    """Ask for the policy over skills used in training, with the helpers that the world wants of it."""
    training = content.training(world)
    contract = contract_for(world, "policy", content.skills(world))
    helpers = load_scenarios(world).HELPERS
    variables = _variables(content, contract, world) | {"task": training.spec, "helpers": helpers}
    contract = replace(
        contract, functions=(*contract.functions, *(_helper(contract, each.name) for each in helpers))
    )
    return Job(training.name, "policy.py", training, contract, "codegen/training.j2", variables)


def task_job(content: Content, name: str) -> Job:
    """Ask for the policy over skills of a task, which may call the helpers of its world's training policy."""
    task = content.task(name)
    world = task.spec.world
    contract = contract_for(world, "policy", content.skills(world))
    variables = _variables(content, contract, world) | {"task": task.spec}
    source, methods = _given(content, contract, world)
    variables |= {"given_source": source, "given_methods": methods}
    return Job(task.name, "policy.py", task, contract, "codegen/task.j2", variables, source or None)


def worlds(content: Content) -> list[str]:
    """List the worlds that have tasks."""
    return sorted({task.spec.world for task in content.tasks().values()})


def is_task(job: Job) -> bool:
    """Tell whether the module is the policy of a task, which real games can measure."""
    return isinstance(job.item, TaskContent)


def _given(content: Content, contract: Contract, world: str) -> tuple[str, tuple[str, ...]]:
    """Read the training policy, if its world wants helpers of it; raises GeneratedCodeError for one that may not run."""
    wanted = [helper.name for helper in load_scenarios(world).HELPERS]
    if not wanted:
        return "", ()
    source = load_policy(content.training(world), content.skills(world)).module.path.read_text(
        encoding="utf-8"
    )
    there = helper_names(source, contract)
    methods = tuple(name for name in wanted if name in there)
    return (source, methods) if methods else ("", ())


def _variables(content: Content, contract: Contract, world: str) -> dict[str, Any]:
    scenarios = load_scenarios(world)
    return {
        "world": scenarios.TITLE,
        "facts": scenarios.FACTS,
        "fields": contract.state_fields,
        "state_name": contract.state_name,
        "skills": [skill.spec for skill in content.skills(world).values()],
        "signatures": [each.signature(contract.class_name is not None) for each in contract.functions],
        "modules": sorted(contract.imports),
        "builtins": sorted(contract.builtins),
        "max_lines": contract.max_lines,
    }


def _helper(contract: Contract, name: str) -> RequiredFunction:
    """Ask for a method with the parameters of `select_skill`."""
    select = contract.required("select_skill")
    parameters: tuple[Parameter, ...] = select.parameters if select else ()
    return RequiredFunction(name, parameters, "skill")
