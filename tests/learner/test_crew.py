"""Processes that fill slots: replaced when they die, heard when they fail."""

import os
import signal

import psutil
import pytest

from maestro.errors import EngineError, UnknownNameError
from maestro.learner.crew import MAX_DEATHS, Crew
from maestro.learner.demonstrations import DaggerConfig, DemoSetup, flat_weights, make_games
from maestro.learner.games import GamesConfig
from maestro.learner.network import NetworkConfig, PolicyNetwork
from maestro.learner.payment import PayConfig

SMALL = NetworkConfig(core_size=16, vector_layers=(16,), hidden=16, head=0)
GAMES = GamesConfig(world="corridor", num_games=4, pay=PayConfig(intrinsic_scale=0))


def make_crew(games: GamesConfig = GAMES, workers: int = 1, num_slots: int = 4) -> Crew:
    one = make_games(GAMES, 0)
    num_weights = len(flat_weights(PolicyNetwork(SMALL, one.specs, 3, 4)))
    setup = DemoSetup(games, SMALL, 10, DaggerConfig(), 0)
    return Crew(setup, one.specs, num_weights, workers=workers, num_slots=num_slots, first_group=0)


def test_a_killed_process_is_replaced_and_no_slot_is_lost():
    with make_crew() as crew:
        first = crew.next()
        assert first.is_first
        crew.release(first.slot)
        second = crew.next()
        assert not second.is_first
        crew.release(second.slot)
        (killed,) = crew.process_ids
        os.kill(killed, signal.SIGKILL)
        seen = []
        while not seen or not seen[-1].is_first:  # what it had filled before it died still counts
            seen.append(crew.next())
            assert crew.blocks(seen[-1].slot)["skill"].max() <= 2
            crew.release(seen[-1].slot)
        assert crew.process_ids != [killed] and crew.deaths == 1
        for _ in range(12):
            slot = crew.next().slot
            crew.release(slot)
        assert crew.next_group == 2
    assert not psutil.pid_exists(killed)


def test_workers_are_served_in_turn_and_one_can_be_left_out():
    with make_crew(workers=2, num_slots=6) as crew:
        seen = []
        while set(seen[-2:]) != {0, 1}:  # both have begun to play
            seen.append(crew.next().worker)
        for _ in range(3):
            all_ready(crew)
            assert crew.next().worker != seen[-1], "the worker with the lowest number starved the other"
            seen.append(1 - seen[-1])
        all_ready(crew)
        assert [crew.next(but=[seen[-1]]).worker, crew.next(but=[seen[-1]]).worker] == [1 - seen[-1]] * 2


def all_ready(crew: Crew) -> None:
    """Wait until every worker has a full slot to give."""
    for slot in range(6):
        if slot not in crew._free and not any(slot in member.slots for member in crew._members):
            crew.release(slot)
    crew._hand_out()
    assert all(member.connection.poll(60) for member in crew._members)


def test_processes_that_always_die_are_given_up(monkeypatch):
    with make_crew() as crew:
        hear = crew._hear

        def deadly(worker, member):
            os.kill(member.process.pid, signal.SIGKILL)
            member.process.join()
            while member.connection.poll():
                try:
                    member.connection.recv()
                except (EOFError, OSError):
                    break
            return hear(worker, member)

        monkeypatch.setattr(crew, "_hear", deadly)
        with pytest.raises(EngineError, match=f"{MAX_DEATHS} times in a row"):
            crew.next()


def test_a_fault_in_a_process_is_raised_here():
    with (
        make_crew(GAMES.model_copy(update={"features": "nonsense"})) as crew,
        pytest.raises(UnknownNameError, match="nonsense"),
    ):
        crew.next()
