"""Run folders: resumption, locks, damaged files, missing permission and full disks."""

import json
import multiprocessing
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from maestro.errors import RecordError, RunError
from maestro.runs import Run, check_config, read_config, runs_root
from maestro.versions import versions


@pytest.fixture
def run(tmp_path):
    with Run("first", config={"episodes": 3}, root=tmp_path) as run:
        yield run


def test_root_is_the_flag_then_the_variable_then_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("MAESTRO_RUNS", raising=False)
    assert runs_root() == Path("runs")
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path))
    assert runs_root() == tmp_path
    assert runs_root(tmp_path / "flag") == tmp_path / "flag"


def test_a_new_run_saves_its_config_and_versions(run):
    saved = read_config(run.folder)
    assert saved["config"] == {"episodes": 3}
    assert saved["versions"] == versions()
    assert saved["versions"]["numpy"] == np.__version__
    assert not run.continued
    assert len(run.read_records("sessions")) == 1


def test_other_users_may_read_results_as_the_umask_says(run):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((run.folder / "config.json").stat().st_mode) == 0o666 & ~mask


def test_records_come_back_in_order_and_as_plain_data(run, tmp_path):
    run.append_record(
        "episodes", {"index": np.int64(1), "depths": np.array([1, 2]), "where": Path("/a"), "é": "ü"}
    )
    run.append_record("episodes", {"index": 2, "names": frozenset({"b", "a"})})
    expected = [{"index": 1, "depths": [1, 2], "where": "/a", "é": "ü"}, {"index": 2, "names": ["a", "b"]}]
    assert run.read_records("episodes") == expected
    assert run.read_records("other") == []


def test_opening_again_continues(tmp_path):
    for index in range(2):
        with Run(
            "again", config={"episodes": 3, "workers": index}, root=tmp_path, may_differ=["workers"]
        ) as run:
            assert run.continued == bool(index)
            run.append_record("episodes", {"index": index})
    assert [record["index"] for record in run.read_records("episodes")] == [0, 1]
    assert len(run.read_records("sessions")) == 2


def test_another_configuration_is_refused_and_the_run_is_unlocked(tmp_path):
    Run("one", config={"seed": 1}, root=tmp_path).close()
    for _ in range(2):  # the second time would say "another process" if the first had kept the lock
        with pytest.raises(RunError, match="seed = 1, and now seed = 2.*another name"):
            Run("one", config={"seed": 2}, root=tmp_path)


def test_a_setting_in_a_table_is_named_and_may_differ_by_itself(tmp_path):
    tables = [{"games": {"num": num, "seed": seed}, "pull": pull} for num, seed, pull in
              ((1, 0, None), (2, 0, {"steps": 5}), (2, 1, None))]  # fmt: skip
    differ = ["games.num", "pull"]
    Run("one", config=tables[0], root=tmp_path, may_differ=differ).close()
    Run("one", config=tables[1], root=tmp_path, may_differ=differ).close()
    with pytest.raises(RunError, match=r"games\.seed = 0, and now games\.seed = 1"):
        Run("one", config=tables[2], root=tmp_path, may_differ=differ)


def test_a_table_within_a_table_may_differ_and_no_other_whose_name_begins_alike(tmp_path):
    def begin(**games):
        Run("one", config={"games": games}, root=tmp_path, may_differ=["games.guide"]).close()

    begin(guide={"skills": ["opener"], "share": 1.0}, guides=1)
    begin(guide={"skills": []}, guides=1)
    begin(guides=1)
    with pytest.raises(RunError, match=r"games\.guides = 1, and now games\.guides = 2"):
        begin(guides=2)


def test_a_configuration_is_compared_without_opening_the_run(tmp_path):
    check_config(tmp_path / "one", {"seed": 1})
    assert not (tmp_path / "one").exists()
    Run("one", config={"seed": 1, "path": Path("a"), "many": [1] * 500}, root=tmp_path).close()
    sessions = (tmp_path / "one" / "sessions.jsonl").read_bytes()
    check_config(tmp_path / "one", {"seed": 2, "path": Path("a"), "many": [1] * 500}, ["seed"])
    with pytest.raises(RunError, match="many = ") as caught:
        check_config(tmp_path / "one", {"seed": 1, "path": Path("a"), "many": []})
    assert len(str(caught.value)) < 600 and "..., and now many = []" in str(caught.value)
    assert (tmp_path / "one" / "sessions.jsonl").read_bytes() == sessions


def test_a_run_of_another_command_is_called_that(tmp_path):
    Run("one", config={"games": {"seed": 1, "num": 2}, "rollout": 3, "steps": 4}, root=tmp_path).close()
    with pytest.raises(
        RunError, match=r"of another command: its settings are 'games\.num, games\.seed, rollout"
    ):
        Run("one", config={"target": "door", "episodes": 3, "steps": 4, "world": "x"}, root=tmp_path)


def test_a_damaged_config_costs_nothing_else(tmp_path):
    Run("one", config={"seed": 1}, root=tmp_path).close()
    path = tmp_path / "one" / "config.json"
    path.write_text(path.read_text()[:20])
    with pytest.raises(RunError, match="damaged.*everything else in the folder is as it was"):
        Run("one", config={"seed": 1}, root=tmp_path)
    with pytest.raises(RunError, match="there is no run here"):
        read_config(path)


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a b"])
def test_bad_names_are_refused(name, tmp_path):
    with pytest.raises(RunError, match="no name for a run"):
        Run(name, config={}, root=tmp_path)


def test_two_writers_are_refused_with_the_process_id(run, tmp_path):
    with pytest.raises(RunError, match=f"another process .id {os.getpid()}"):
        Run("first", config={"episodes": 3}, root=tmp_path)
    run.close()
    run.close()
    Run("first", config={"episodes": 3}, root=tmp_path).close()


WRITER = """
import sys, time
from pathlib import Path
from maestro.runs import Run
run = Run("killed", config={}, root=Path(sys.argv[1]))
index = 0
while True:
    run.append_record("episodes", {"index": index, "padding": "x" * 3000})
    index += 1
    print(index, flush=True)
"""


def test_kill_9_leaves_a_run_that_continues(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    confirmed = [int(writer.stdout.readline()) for _ in range(5)][-1]
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    with Run("killed", config={}, root=tmp_path) as run:
        records = run.read_records("episodes")
        assert [record["index"] for record in records] == list(range(len(records)))
        assert len(records) >= confirmed


def _hold(folder: Path) -> None:
    (folder / "child").touch()
    time.sleep(60)


def test_an_orphaned_worker_does_not_keep_the_run_locked(run, tmp_path):
    child = multiprocessing.get_context("fork").Process(target=_hold, args=(tmp_path,))
    child.start()
    try:
        while not (tmp_path / "child").exists():
            time.sleep(0.01)
        run.close()
        Run("first", config={"episodes": 3}, root=tmp_path).close()
    finally:
        child.kill()
        child.join()


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_half_written_last_line_is_dropped_wherever_it_broke(run, cut):
    run.append_record("episodes", {"index": 0})
    path = run.folder / "episodes.jsonl"
    line = json.dumps({"index": 1, "x": "é"}, ensure_ascii=False).encode()
    with open(path, "ab") as file:
        file.write(line[:cut])
    complete = cut >= len(line)
    assert len(run.read_records("episodes")) == 1 + complete
    run._repaired.clear()  # as a new process would have it
    run.append_record("episodes", {"index": 2})
    assert [record["index"] for record in run.read_records("episodes")] == [0, 1, 2] if complete else [0, 2]


def test_damage_in_the_middle_is_named(run):
    path = run.folder / "episodes.jsonl"
    path.write_text('{"index": 0}\n{"ind\n{"index": 2}\n')
    with pytest.raises(RecordError, match=r"episodes\.jsonl:2: the line is damaged"):
        run.read_records("episodes")


def test_nan_is_refused_because_json_has_none(run):
    with pytest.raises(RecordError, match="not plain data"):
        run.append_record("episodes", {"value": float("nan")})
    assert run.read_records("episodes") == []


def test_a_full_device_says_what_to_do(run):
    (run.folder / "episodes.jsonl").symlink_to("/dev/full")
    with pytest.raises(RecordError, match="disk.*full.*Next: free some space"):
        run.append_record("episodes", {"index": 0})


@contextmanager
def file_size_limit(num_bytes):
    """Make the kernel write only a part and then fail, as a disk does when it fills up."""
    previous = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, previous[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, previous)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_fills_in_mid_record_keeps_all_earlier_records(run):
    records = [{"index": index, "padding": "x" * 100} for index in range(10)]
    written = 0
    with file_size_limit(777), pytest.raises(RecordError, match="full"):
        for record in records:
            run.append_record("episodes", record)
            written += 1
    assert 0 < written < 10
    assert run.read_records("episodes") == records[:written]
    run.append_record("episodes", records[written])  # space was freed: go on
    assert run.read_records("episodes") == records[: written + 1]


def test_a_disk_that_fills_keeps_the_old_file(run):
    run.write_json("summary.json", {"mean": 1})
    with file_size_limit(10), pytest.raises(RecordError, match="full"):
        run.write_json("summary.json", {"mean": 2, "more": "x" * 100})
    assert json.loads((run.folder / "summary.json").read_text()) == {"mean": 1}
    assert not list(run.folder.glob(".summary*"))


@contextmanager
def as_nobody():
    """Give up root's right to write anywhere, where the tests run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_no_permission_to_make_the_run(tmp_path):
    tmp_path.chmod(0o555)
    try:
        with as_nobody(), pytest.raises(RunError, match="denied.*Next: choose another.*--run DIR"):
            Run("denied", config={}, root=tmp_path)
    finally:
        tmp_path.chmod(0o755)


def test_no_permission_to_append(run):
    path = run.folder / "episodes.jsonl"
    path.touch()
    path.chmod(0o444)
    with as_nobody(), pytest.raises(RecordError, match="denied"):
        run.append_record("episodes", {"index": 0})


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        Run("run", config={}, root=tmp_path / "taken")


def test_a_damaged_config_is_named(tmp_path):
    Run("one", config={}, root=tmp_path).close()
    (tmp_path / "one" / "config.json").write_text("{")
    with pytest.raises(RunError, match="config.json: the file is damaged"):
        Run("one", config={}, root=tmp_path)
    with pytest.raises(RunError, match="no run here"):
        read_config(tmp_path / "two")
