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


def make_crew(games: GamesConfig = GAMES, workers: int = 1) -> Crew:
    one = make_games(GAMES, 0)
    num_weights = len(flat_weights(PolicyNetwork(SMALL, one.specs, 3, 4)))
    setup = DemoSetup(games, SMALL, 10, DaggerConfig(), 0)
    return Crew(setup, one.specs, num_weights, workers=workers, num_slots=4, first_group=0)


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
