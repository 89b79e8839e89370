"""What only the engine knows reaches no state, observation or caption: the agent sees what a player sees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import maestro.envs.nethack as nethack
from maestro.envs.nethack import make_reference_policy, make_world
from maestro.envs.nethack.tasks import SUCCESS_TESTS

FOLDER = Path(nethack.__file__).parent
KNOW_THE_ENGINE = {
    "engine", "layout", "belongings", "dealings", "situations", "counter_check",
    "tasks", "success_base", "success_true", "success_compatible",
}  # fmt: skip


def imports_of(path: Path, at_load_only: bool) -> set[str]:
    """Name the modules of the NetHack folder that a file imports, anywhere or when it is loaded."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if at_load_only else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("maestro.envs.nethack"):
            module = (node.module or "").removeprefix("maestro.envs.nethack").strip(".")
            found |= {module.split(".")[0]} if module else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.split(".")[3]
                for alias in node.names
                if alias.name.startswith("maestro.envs.nethack.")
            }
    return found


def test_only_tests_of_success_import_the_engine():
    files = [path for path in FOLDER.rglob("*.py") if path.stem not in KNOW_THE_ENGINE]
    assert len(files) > 8
    for path in files:
        guilty = imports_of(path, at_load_only=False) & KNOW_THE_ENGINE
        if path.stem == "batch":  # hands out a Truth on request, and does nothing else with it
            guilty -= {"engine"}
            assert "engine" not in imports_of(path, at_load_only=True)
            text = path.read_text()
            assert text.count("engine import Truth") == text.count("Truth(") == 1
        assert not guilty, f"{path.name} imports {guilty}"


def test_no_other_room_reads_the_engine():
    package = FOLDER.parents[1]
    files = [path for path in package.rglob("*.py") if package / "envs" not in path.parents]
    assert len(files) > 10
    for path in files:
        text = path.read_text()
        assert (
            "nethack.engine" not in text and "nethack import engine" not in text and ".truth(" not in text
        ), path


def play(disturb) -> list[tuple]:
    """Play two games; return everything an agent or annotator could be shown, step by step."""
    world, policy = make_world(2), make_reference_policy(2)
    for index in range(2):
        world.seed(index, 40 + index, 50)
        policy.reset(index, index)
    world.reset()
    starts, shown = list(world.states), []
    watch = disturb(world)
    for step in range(500):
        watch()
        skill = "descender" if step % 200 > 150 else "discoverer"
        world.step(policy.act(world, [None if game.is_over else skill for game in world.games]))
        captions = [world.caption(i, starts[i]) for i in range(2)]
        arrays = {name: array.tobytes() for name, array in world.observation.items()}
        shown.append((list(world.states), captions, arrays))
    world.close()
    return shown


def nothing(world):
    return lambda: None


def all_tests_watching(world):
    tests = [[test() for test in SUCCESS_TESTS.values()] for _ in range(2)]
    for index in range(2):
        for test in tests[index]:
            test.start(world, index)
    return lambda: [test.update(world, index) for index in range(2) for test in tests[index]]


def engine_falsified(world):
    """Give the engine's own counters and its table of named levels absurd values, again and again."""

    def falsify():
        for index in range(2):
            truth = world.truth(index)
            truth._read_kills.value += 1000
            truth._read_meals.value += 1000
            truth._special_levels = {
                name: place._replace(level=99) for name, place in truth.special_levels.items()
            }

    return falsify


@pytest.fixture(scope="module")
def plain():
    return play(nothing)


@pytest.mark.parametrize("disturb", [all_tests_watching, engine_falsified])
def test_states_observations_and_captions_do_not_depend_on_it(plain, disturb):
    watched = play(disturb)
    assert len(watched) == len(plain)
    for step, (seen, expected) in enumerate(zip(watched, plain, strict=True)):
        assert seen == expected, f"step {step}"


def test_the_play_above_had_something_to_leak(plain):
    states = plain[-1][0]
    assert min(state.turn for state in states) > 100 and sum(state.num_kills for state in states) > 0
