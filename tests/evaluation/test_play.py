"""Workers: the same results as one process, whatever happens to them."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maestro.content import shipped_root
from maestro.errors import EngineError, PolicyFileError
from maestro.evaluation.games import Setup
from maestro.evaluation.play import Outcome, Workers, play_here
from maestro.options.load import sign_folder

ROOTS = (shipped_root(),)
SLOW = """
import os, signal, time
from maestro.envs.corridor import ReferencePolicy

def first(mark):
    # Atomic: two processes that ask at the same moment must not both be the first.
    try:
        os.mkdir(mark)
    except FileExistsError:
        return False
    return True

class Slow(ReferencePolicy):
    def __init__(self):
        self.seeds = {}
    def reset(self, index, seed):
        self.seeds[index] = seed
    def act(self, world, skills):
        time.sleep(0.01)
        {extra}
        return super().act(world, skills)

def make_skill_policy(num_games):
    return Slow()
"""
HASTY = """
class Policy:
    def select_skill(self, state, finished, startable):
        return "opener"
"""


def setup(policy: str = "reference", num_games: int = 2) -> Setup:
    return Setup("locked_door", policy, 0, num_games, ROOTS)


def slow_policy(folder: Path, extra: str = "pass") -> str:
    path = folder / "slow.py"
    path.write_text(SLOW.replace("{extra}", extra))
    return str(path)


def by_number(outcomes: Iterator[Outcome]) -> dict[int, dict]:
    found: dict[int, dict] = {}
    for outcome in outcomes:
        assert outcome.record.episode not in found
        found[outcome.record.episode] = outcome.record.deterministic()
    return found


def test_workers_give_what_one_process_gives():
    expected = by_number(play_here(setup("random"), range(30)))
    steps: list[int] = []
    with Workers(setup("random", num_games=3), 2) as workers:
        assert by_number(workers.play(range(30), on_steps=steps.append)) == expected
    assert sum(steps) == sum(record["steps"] for record in expected.values())


def two_tasks(folder: Path, num_games: int) -> tuple[Setup, Setup]:
    """The corridor's task, and one with another policy over skills and another fallback."""
    task = folder / "meta_policies" / "other_door"
    shutil.copytree(ROOTS[0] / "meta_policies" / "locked_door", task)
    toml = (task / "task.toml").read_text().replace('"locked_door"', '"other_door"')
    (task / "task.toml").write_text(toml.replace('fallback = "eastwalker"', 'fallback = "keyfinder"'))
    (task / "policy.py").write_text(HASTY)
    sign_folder(task, "test")
    roots = (folder, *ROOTS)
    return (
        Setup("locked_door", "random", 0, num_games, roots),
        Setup("other_door", "random", 0, num_games, roots),
    )


def outcomes_by_part(outcomes: Iterator[Outcome], num_parts: int) -> list[dict[int, Any]]:
    found: list[dict[int, Any]] = [{} for _ in range(num_parts)]
    for outcome in outcomes:
        assert outcome.file is not None
        assert outcome.record.episode not in found[outcome.part]
        found[outcome.part][outcome.record.episode] = outcome.record.deterministic(), outcome.file.target
    return found


def test_tasks_played_beside_each_other_go_as_they_go_alone(tmp_path: Path):
    setups = two_tasks(tmp_path, num_games=3)
    numbers = [3, 1, 8, 2, 5], [2, 3, 9, 4]
    alone = [outcomes_by_part(play_here(one, mine), 1)[0] for one, mine in zip(setups, numbers, strict=True)]
    assert outcomes_by_part(play_here(setups, *numbers), 2) == alone
    with Workers(setups, 2) as workers:
        assert outcomes_by_part(workers.play(*numbers), 2) == alone
    first, second = alone
    assert {target for _, target in second.values()} == {"other_door"}
    refused = [record["skills"]["opener"]["refused"] for record, _ in second.values()]
    assert all(refused), "the other policy asks for what cannot start"
    assert all(not record["skills"]["opener"]["refused"] for record, _ in first.values())


def test_tasks_are_begun_in_turn(tmp_path: Path):
    setups = two_tasks(tmp_path, num_games=1)
    order = [(one.part, one.record.episode) for one in play_here(setups, [4, 5, 6], [7, 8])]
    assert order == [(0, 4), (1, 7), (0, 5), (1, 8), (0, 6)]


def test_setups_that_are_no_company_are_refused(tmp_path: Path):
    first, second = two_tasks(tmp_path, num_games=2)
    with pytest.raises(ValueError, match="beside each other"):
        list(play_here((first, replace(second, seed=1)), [0], [0]))
    with pytest.raises(ValueError, match="2 setups, and episodes of 1"):
        list(play_here((first, second), [0]))


def test_workers_are_gone_afterwards():
    with Workers(setup(), 2) as workers:
        by_number(workers.play(range(4)))
        ids = workers.process_ids
        assert ids
    for process_id in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process_id, 0)


def test_no_more_workers_are_started_than_there_are_episodes():
    with Workers(setup(), 8) as workers:
        by_number(workers.play(range(1)))
        assert len(workers.process_ids) == 1


DIES_ONCE = "len(self.seeds) == 2 and first({mark!r}) and {die}"


@pytest.mark.parametrize("die", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)"])
def test_a_dead_workers_episodes_are_played_again(die: str, tmp_path: Path):
    expected = by_number(play_here(setup(), range(12)))
    policy = slow_policy(tmp_path, DIES_ONCE.format(mark=str(tmp_path / "died"), die=die))
    with Workers(setup(policy), 2) as workers:
        outcomes = list(workers.play(range(12)))
        assert workers.num_deaths == 1
    assert by_number(iter(outcomes)) == expected
    assert sorted(outcome.record.attempts for outcome in outcomes) == [1] * 10 + [2] * 2
    assert all(outcome.file is not None for outcome in outcomes)


def test_a_worker_killed_from_outside_is_replaced(tmp_path: Path):
    with Workers(setup(slow_policy(tmp_path)), 1) as workers:
        found = {}
        for outcome in workers.play(range(4)):
            if not found:
                os.kill(workers.process_ids[0], signal.SIGKILL)
            found[outcome.record.episode] = outcome.record.deterministic()
        assert workers.num_deaths == 1
    assert found == by_number(play_here(setup(), range(4)))


def test_an_episode_that_kills_its_worker_is_given_up_and_no_other(tmp_path: Path):
    guilty = by_number(play_here(setup(), [3]))[3]["seeds"][2]
    policy = slow_policy(
        tmp_path, f"if {guilty} in self.seeds.values(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    with Workers(setup(policy, num_games=4), 1) as workers:
        outcomes = {outcome.record.episode: outcome for outcome in workers.play(range(8))}
    by = {number: outcome.record.ended.by for number, outcome in outcomes.items()}
    assert by == {number: "failed" if number == 3 else "success" for number in range(8)}
    assert outcomes[3].file is None
    assert outcomes[3].record.success == {"true": None, "compatible": None}
    assert "killed by SIGKILL" in outcomes[3].record.ended.cause
    assert outcomes[3].record.attempts == 3


def test_an_exception_in_a_worker_is_reported_with_its_episode(tmp_path: Path):
    policy = slow_policy(tmp_path, "raise IndexError('off the map')")
    with Workers(setup(policy, num_games=1), 1) as workers:
        (outcome,) = workers.play([0])
    assert "IndexError: off the map (slow.py:" in outcome.record.ended.cause


def test_a_worker_that_hangs_is_killed(tmp_path: Path):
    with Workers(setup(slow_policy(tmp_path, "time.sleep(60)"), num_games=1), 1, stall_s=0.5) as workers:
        (outcome,) = workers.play([0])
    assert "no step in 0 s" in outcome.record.ended.cause


def test_a_fault_of_the_setup_reaches_the_parent(tmp_path: Path):
    path = tmp_path / "bad.py"
    path.write_text("1 / 0")
    with pytest.raises(PolicyFileError, match="ZeroDivisionError"), Workers(setup(str(path)), 2) as workers:
        by_number(workers.play(range(4)))


def test_a_worker_that_dies_while_it_starts_stops_the_evaluation(tmp_path: Path):
    path = tmp_path / "bad.py"
    path.write_text("import os\nos._exit(7)")
    with pytest.raises(EngineError, match="exit code 7"), Workers(setup(str(path)), 1) as workers:
        by_number(workers.play(range(4)))


def test_temporary_files_of_killed_workers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    policy = slow_policy(
        tmp_path, "import tempfile; tempfile.mkdtemp(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    with Workers(setup(policy, num_games=1), 1) as workers:
        by_number(workers.play([0]))
        assert list(tmp_path.glob("maestro-eval-*/*"))
    assert not list(tmp_path.glob("maestro-eval-*"))


def test_an_idle_worker_that_takes_over_a_dead_ones_episode_is_not_taken_for_stuck(tmp_path: Path):
    policy = slow_policy(tmp_path, "time.sleep(0.02)")
    with Workers(setup(policy, num_games=1), 2) as workers:
        found = {}
        for outcome in workers.play([0, 1]):
            found[outcome.record.episode] = outcome.record
            busy = [worker for worker in workers._workers if worker.held]
            for worker in workers._workers:
                if not worker.held:
                    worker.last_heard -= 1_000.0  # it has had nothing to say for long
            for worker in busy:
                os.kill(worker.process.pid or 0, signal.SIGKILL)
        assert workers.num_deaths == 1
    assert sorted(record.attempts for record in found.values()) == [1, 2]
    assert {record.ended.by for record in found.values()} == {"success"}


def test_time_in_which_everything_stood_still_kills_nobody(tmp_path: Path):
    with Workers(setup(slow_policy(tmp_path), num_games=2), 2) as workers:
        for _ in workers.play(range(8)):
            workers._listened -= 1_000.0
            for worker in workers._workers:
                worker.last_heard -= 1_000.0
        assert workers.num_deaths == 0


def test_a_policy_that_fails_in_every_episode_stops_the_evaluation(tmp_path: Path):
    policy = slow_policy(tmp_path, "raise IndexError('off the map')")
    with Workers(setup(policy, num_games=2), 1) as workers:
        with pytest.raises(
            EngineError, match=r"before any episode ended: IndexError: off the map.*--workers 0"
        ):
            list(workers.play(range(20)))
        assert workers.num_deaths < 20
