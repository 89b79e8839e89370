"""A group of games tells the supervisor what generated code did wrong, and leaves failing engines to another start."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maestro.errors import EngineError, GeneratedCodeError, MaestroError
from maestro.learner.config import TrainConfig
from maestro.learner.environment import SkillEnvironment
from maestro.learner.faults import read_fault


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SkillEnvironment:
    monkeypatch.setattr("maestro.learner.environment.name_process", lambda kind: None)
    games = {"world": "corridor", "num_games": 2, "pay": {"intrinsic_scale": 0}}
    return SkillEnvironment(TrainConfig.model_validate({"games": games}), tmp_path, 0)


@pytest.mark.parametrize("what", ["reset", "step"])
@pytest.mark.parametrize(
    ("error", "told"),
    [(GeneratedCodeError("policy.py:3 raised", hint="mend the code"), True), (EngineError("it died"), False)],
)
def test_what_another_start_would_meet_again_is_told(
    environment: SkillEnvironment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    error: MaestroError,
    told: bool,
):
    def fail(*_: object) -> None:
        raise error

    environment.reset()
    monkeypatch.setattr(environment._games, what, fail)
    with pytest.raises(type(error)):
        environment.reset() if what == "reset" else environment.step(np.zeros(2, np.int64))
    assert read_fault(tmp_path) == ("policy.py:3 raised. Next: mend the code." if told else None)
