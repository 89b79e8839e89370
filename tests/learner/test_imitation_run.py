"""An imitation in its run folder: what is on the disk, and how it goes on from there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from maestro.errors import CheckpointError, ConfigError, PolicyFileError, RunError, TrainingError
from maestro.learner.cloning import ImitateConfig, Learner
from maestro.learner.demonstrations import flat_weights, put_weights
from maestro.learner.imitation_run import (
    CHECKPOINT,
    MAY_DIFFER,
    METHOD,
    POLICY,
    PREVIOUS,
    load_checkpoint,
    own_steps,
    recorded,
    run_imitation,
    save_checkpoint,
)
from maestro.learner.policy_file import load_card, load_policy
from maestro.runs import Run

SETTINGS = {
    "games": {"world": "corridor", "num_games": 8, "pay": {"intrinsic_scale": 0}},
    "network": {"core_size": 16, "vector_layers": [16], "hidden": 16, "head": 0},
    "kept": 2,
    "steps": 2_560,
}
BLOCK = 8 * 32


@pytest.fixture(autouse=True)
def one_thread():
    """Compute with one thread: two that share a busy processor wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def imitate(root, on_report=lambda report: None, **said):
    config = ImitateConfig.model_validate({**SETTINGS, **said})
    with Run("it", config=config.model_dump(mode="json"), root=root, may_differ=MAY_DIFFER) as run:
        return run_imitation(config, run, on_report, report_every_s=0.0)


def test_it_leaves_a_policy_and_goes_on_exactly_where_it_was(tmp_path):
    seen = []
    card = imitate(tmp_path, seen.append)
    folder = tmp_path / "it"
    assert card.steps == 2_560 and "imitation" in card.method
    assert [report.steps for report in seen] == list(range(BLOCK, 2_560 + 1, BLOCK))
    assert load_policy(folder / POLICY).card.steps == 2_560
    assert len(card.curves["imitation"]) == 10
    assert card.training["imitation"]["games"]["world"] == "corridor"
    before = load_checkpoint(folder)
    seen.clear()
    card = imitate(tmp_path, seen.append, steps=3_072)
    assert [report.steps for report in seen] == [2_560 + BLOCK, 3_072]
    assert seen[-1].updates > before["learner"]["updates"]
    assert card.steps == 3_072
    assert imitate(tmp_path, steps=3_072).steps == 3_072  # nothing is left to do
    with pytest.raises(RunError, match="learning_rate"):
        imitate(tmp_path, learning_rate=0.5)


def test_it_begins_with_a_policy_and_tells_so(tmp_path):
    imitate(tmp_path / "first", temperature=0.5)
    init = tmp_path / "first" / "it" / POLICY
    card = imitate(tmp_path / "second", init=init, steps=BLOCK, temperature=0.5, learning_rate=1e-9)
    assert card.steps == 2_560 + BLOCK
    assert own_steps(tmp_path / "second" / "it") == BLOCK and own_steps(tmp_path / "first" / "it") == 2_560
    assert own_steps(tmp_path) == 0
    assert card.method == f"{METHOD}, then {METHOD} (256 labelled steps)"
    assert list(card.training) == ["imitation", "imitation from step 2560"]
    assert card.training["imitation from step 2560"]["init"] == "init"
    before, after = load_policy(init).network, load_policy(tmp_path / "second" / "it" / POLICY).network
    for old, new in zip(before.parameters(), after.parameters(), strict=True):
        assert torch.allclose(old, new, atol=1e-5)
    shutil.rmtree(init)
    assert imitate(
        tmp_path / "second", init=init, steps=2 * BLOCK, temperature=0.5, learning_rate=1e-9
    ).steps == (2_560 + 2 * BLOCK)  # it stands alone


def test_it_begins_with_the_policy_named_last_and_goes_on_from_its_own_alone(tmp_path):
    """A start that is killed before its first checkpoint leaves the copy of what it would have begun with."""
    settings = {"steps": BLOCK, "learning_rate": 1e-9}
    for seed in (1, 2):
        imitate(tmp_path / f"{seed}", games={**SETTINGS["games"], "seed": seed}, seed=seed, **settings)
    one, two = (tmp_path / f"{seed}" / "it" / POLICY for seed in (1, 2))
    assert load_card(one).weights_sha256 != load_card(two).weights_sha256
    for name, init in (("policy", two), ("chance", None)):
        left = tmp_path / name / "it" / "init"
        shutil.copytree(one, left)
        card = imitate(tmp_path / name, init=init, **settings)
        assert (left.exists(), card.steps) == ((True, 2 * BLOCK) if init else (False, BLOCK))
        if init is None:
            assert card.method == METHOD and list(card.training) == ["imitation"]
            with pytest.raises(ConfigError, match="the run began with chance"):
                imitate(tmp_path / name, init=one, **settings | {"steps": 2 * BLOCK})
        else:
            assert load_card(left).weights_sha256 == load_card(two).weights_sha256
            with pytest.raises(ConfigError, match="the run began with another policy"):
                imitate(tmp_path / name, init=one, **settings | {"steps": 2 * BLOCK})
            assert imitate(tmp_path / name, init=two, **settings | {"steps": 2 * BLOCK}).steps == 3 * BLOCK


def test_steps_that_were_lost_and_taken_again_are_in_the_curve_once(tmp_path):
    def lose(report) -> None:
        record = json.loads((tmp_path / "it" / "metrics.jsonl").read_text().splitlines()[-1])
        if (
            record["steps"] == 4 * BLOCK
        ):  # three reports more, as if a start had come this far and been killed
            with open(tmp_path / "it" / "metrics.jsonl", "a") as file:
                for block in range(5, 8):
                    file.write(json.dumps({**record, "steps": block * BLOCK, "loss": 99.0}) + "\n")

    card = imitate(tmp_path, lose)
    curve = card.curves["imitation"]
    assert [point["steps"] for point in curve] == list(range(BLOCK, 2_560 + 1, BLOCK))
    assert all(point["loss"] < 99 for point in curve)


def test_a_policy_that_does_not_fit_is_no_beginning(tmp_path):
    imitate(tmp_path / "first", steps=BLOCK)
    init = tmp_path / "first" / "it" / POLICY
    wider = {**SETTINGS["network"], "core_size": 32}
    with pytest.raises(PolicyFileError, match="another network"):
        imitate(tmp_path / "second", init=init, network=wider)
    with pytest.raises(PolicyFileError):
        imitate(tmp_path / "third", init=tmp_path / "nothing")


def test_the_policy_is_surer_than_it_was_fitted_to(tmp_path):
    imitate(tmp_path, temperature=0.5)
    learner = load_checkpoint(tmp_path / "it")["learner"]
    mean = learner["mean_weights"].numpy()
    network = load_policy(tmp_path / "it" / POLICY).network
    exported = flat_weights(network)
    assert np.allclose(flat_weights(network.logits), 2 * _part(network, mean), rtol=1e-5)
    assert (exported == mean).mean() > 0.9  # nothing else is changed


def _part(network, flat):
    put_weights(network, flat)
    return flat_weights(network.logits)


def test_settings_added_since_do_not_stop_an_old_run(tmp_path):
    config = ImitateConfig.model_validate(SETTINGS)
    old = config.model_dump(mode="json")
    del old["games"]["horizon"], old["average"]
    with Run("it", config=old, root=tmp_path):
        pass
    folder = tmp_path / "it"
    assert recorded(config, folder) == old
    with Run("it", config=recorded(config, folder), root=tmp_path, may_differ=MAY_DIFFER):
        pass
    other = config.model_copy(update={"average": 0.5, "steps": 7})
    assert recorded(other, folder) == old | {"average": 0.5, "steps": 7}
    with pytest.raises(RunError, match="average"):
        Run("it", config=recorded(other, folder), root=tmp_path, may_differ=MAY_DIFFER)


def test_ctrl_c_keeps_what_was_learnt(tmp_path):
    def stop(report):
        if report.steps >= 5 * BLOCK:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imitate(tmp_path, stop)
    assert load_checkpoint(tmp_path / "it")["learner"]["steps"] == 5 * BLOCK
    assert load_policy(tmp_path / "it" / POLICY).card.steps == 5 * BLOCK


def test_a_damaged_checkpoint_is_passed_over_and_two_are_refused(tmp_path):
    save_checkpoint(tmp_path, {"learner": {"steps": 1}})
    save_checkpoint(tmp_path, {"learner": {"steps": 2}})
    assert load_checkpoint(tmp_path)["learner"]["steps"] == 2
    whole = (tmp_path / CHECKPOINT).read_bytes()
    (tmp_path / CHECKPOINT).write_bytes(whole[: len(whole) // 2])
    assert load_checkpoint(tmp_path)["learner"]["steps"] == 1
    (tmp_path / PREVIOUS).write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="no checkpoint can be read"):
        load_checkpoint(tmp_path)
    torch.save({"other": 1}, tmp_path / CHECKPOINT)
    with pytest.raises(CheckpointError, match="no checkpoint of an imitation"):
        load_checkpoint(tmp_path)


def test_no_number_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    imitate(tmp_path)
    kept = (tmp_path / "it" / CHECKPOINT).read_bytes()
    update = Learner.update

    def poisoned(self, block, state):
        return update(self, block, state * torch.nan)

    monkeypatch.setattr(Learner, "update", poisoned)
    with pytest.raises(TrainingError, match="nan"):
        imitate(tmp_path, steps=5_000)
    assert (tmp_path / "it" / CHECKPOINT).read_bytes() == kept


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_it_goes_on_and_leaves_no_process(tmp_path, how):
    words = ["games.num_games=8", "games.pay.intrinsic_scale=0", "save_every_s=0.2", "kept=2"]
    command = [
        sys.executable,
        "-m",
        "maestro",
        "imitate",
        "--world",
        "corridor",
        "--run",
        str(tmp_path / "it"),
    ]
    command += ["--steps", "1e9", "--json", "--config", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "it" / PREVIOUS).exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    process.send_signal(how)
    process.communicate(timeout=30)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    deadline = time.monotonic() + 10
    while _members(process.pid):
        assert time.monotonic() < deadline, _members(process.pid)
        time.sleep(0.1)
    steps = load_checkpoint(tmp_path / "it")["learner"]["steps"]
    assert steps > 0
    command[command.index("1e9")] = str(steps + BLOCK)
    again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(again.stdout)["steps"] == steps + BLOCK


def _members(session: int) -> list[int]:
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.Error):
            continue
    return found
