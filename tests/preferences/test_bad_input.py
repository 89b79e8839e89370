"""What goes wrong in practice, made to happen: with whole commands, in processes of their own where it matters."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from maestro.cli import main
from maestro.content import Content
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.store import JudgementStore
from maestro.preferences.transitions import shard_paths

MAESTRO = [sys.executable, "-m", "maestro"]
LIMITED = """
import resource, signal, sys
from maestro.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""
"""A command for which the disk is full once a file has so many bytes."""


def annotate(data: Path, *words: str, skill: str = "descender") -> list[str]:
    flags = [word for word in words if "=" not in word]
    return ["annotate", "--skill", skill, *flags, "--config", f"data={data}", *(w for w in words if "=" in w)]


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_a_preference_edited_after_half_of_the_answers_is_another_question(dataset, tmp_path, judge):
    server = judge()
    skill = tmp_path / "mine" / "skills" / "descender" / "skill.toml"
    skill.parent.mkdir(parents=True)
    text = (Content.find().skill("descender").folder / "skill.toml").read_text()

    def ask(preference_change: tuple[str, str] = ("", ""), stop_after: int | None = None) -> tuple[int, int]:
        """Annotate under the text as it then is; stop as Ctrl-C does. Gives (answered, known)."""
        skill.write_text(text.replace(*preference_change) if preference_change[0] else text)
        job = Job("descender", dataset, 100, "llm", server.spec, options=JobOptions())
        answered = 0

        def watch(progress) -> None:
            nonlocal answered
            answered = progress.answered
            if stop_after is not None and answered >= stop_after:
                raise KeyboardInterrupt

        with (
            Annotation(Content.find(tmp_path / "mine"), job) as annotation,
            JudgementStore(tmp_path / "s") as store,
        ):
            try:
                progress = annotation.ask(store, on_progress=watch)
            except KeyboardInterrupt:
                return answered, 0
            return progress.answered, progress.known

    half, _ = ask(stop_after=80)
    assert 80 <= half < 150
    changed, known = ask(("Going up is bad.", "Going up is very bad."))
    assert known == 0
    assert changed > 180
    rest, known = ask()  # the old text again: its half is still there
    assert known >= half  # a question that is drawn twice is known twice
    assert rest == changed - half


def test_two_processes_annotate_one_skill_at_once(dataset, runs, judge, capsys):
    server = judge("--delay", "0.1")
    llm = ["--annotator", "llm", "--llm", server.spec, "llm_settings.max_in_flight=8"]
    words = annotate(dataset, *llm, "pairs=150")
    first = subprocess.Popen([*MAESTRO, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while len(server.counts()) < 20:
        assert first.poll() is None
        time.sleep(0.05)
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "another process is asking these questions" in said
    assert "shard=1/2" in said
    assert main(annotate(dataset, "pairs=100")) == 0  # other questions may go into the same store meanwhile
    assert first.wait(timeout=120) == 0
    assert sum(n - 1 for n in server.counts().values()) == 0  # no question came twice
    report = json.loads((runs / "annotate-descender-m" / "report.json").read_text())
    assert report["unanswered"] == 0


def test_a_disk_that_fills_while_answers_are_kept_costs_none_of_them(tmp_path, helpers, runs):
    dataset = helpers.write_dataset(tmp_path / "large", helpers.mixed_rows(400))
    words = annotate(dataset, "--annotator", "random", "pairs=20000")
    whole = annotate(
        dataset, "--annotator", "random", "pairs=20000", f"store={runs}/whole", f"run={runs}/whole-out"
    )
    assert main(whole) == 0
    full = subprocess.run([sys.executable, "-c", LIMITED, "1000000", *words], capture_output=True, text=True)
    assert full.returncode == 1
    assert "full" in full.stderr
    assert "it continues" in full.stderr
    assert "Traceback" not in full.stderr
    with JudgementStore(runs / "judgements.sqlite") as store:
        kept = store.count()
    done = subprocess.run([*MAESTRO, *words, "--json"], capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["known_before"] >= kept > 0
    assert (runs / "annotate-descender-random" / "verdicts.parquet").read_bytes() == (
        runs / "whole-out" / "verdicts.parquet"
    ).read_bytes()


def test_a_disk_that_fills_while_verdicts_are_written_leaves_the_old_ones(dataset, runs):
    assert main(annotate(dataset, "pairs=100")) == 0
    folder = runs / "annotate-descender-rules"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "config.json"}
    with JudgementStore(runs / "judgements.sqlite") as store:
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    words = annotate(dataset, "pairs=5000", f"store={runs}/judgements.sqlite")
    main(annotate(dataset, "pairs=5000", f"run={runs}/elsewhere"))  # so that the store has every answer
    full = subprocess.run([sys.executable, "-c", LIMITED, "6000", *words], capture_output=True, text=True)
    assert full.returncode == 1, full.stderr
    assert "Traceback" not in full.stderr
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "config.json"}
    assert after == before


IN_A_SMALL_DISK = """
set -eu
mount -t tmpfs -o size=300k tmpfs {disk}
export MAESTRO_RUNS={disk}
collect="{maestro} collect --skill keyfinder --steps 12000 --config workers=0 episode_steps=300"
if $collect 2>{out}/said; then echo "it was not full" >&2; exit 1; fi
mount -o remount,size=64m {disk}
$collect
cp -r {disk}/collect-corridor {out}/broken
"""


@pytest.mark.skipif(
    not shutil.which("unshare")
    or subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True
    ).returncode,
    reason="no disk may be mounted here",
)
def test_a_real_disk_that_is_full_costs_a_collection_nothing_but_time(tmp_path, runs):
    disk = tmp_path / "disk"
    disk.mkdir()
    script = IN_A_SMALL_DISK.format(disk=disk, out=tmp_path, maestro=" ".join(MAESTRO))
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "said").read_text()
    assert "No space left on device" in said
    assert "Traceback" not in said
    settings = ["--config", "workers=0", "episode_steps=300"]
    assert main(["collect", "--skill", "keyfinder", "--steps", "12000", *settings]) == 0
    for path in shard_paths(runs / "collect-corridor"):
        assert path.read_bytes() == (tmp_path / "broken" / path.name).read_bytes()


def test_data_that_are_damaged_foreign_or_empty_are_named_by_the_commands(dataset, tmp_path, helpers, capsys):
    cut = tmp_path / "cut"
    shutil.copytree(dataset, cut)
    (path,) = shard_paths(cut)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    lacking = tmp_path / "lacking"
    shutil.copytree(dataset, lacking)
    (path,) = shard_paths(lacking)
    pq.write_table(pq.read_table(path).drop_columns(["message"]), path)
    empty = helpers.write_dataset(tmp_path / "empty", [])
    for folder, said in (
        (cut, "the shard is damaged"),
        (lacking, "column 'message' is missing"),
        (empty, "is empty"),
    ):
        assert main(annotate(folder)) == 1
        error = capsys.readouterr().err
        assert said in error
        assert "Next: " in error


def test_a_store_of_a_newer_version_is_named_by_the_command(dataset, tmp_path, capsys):
    with JudgementStore(tmp_path / "s") as store:
        store._db.execute("PRAGMA user_version = 99")
    assert main(annotate(dataset, f"store={tmp_path / 's'}")) == 1
    assert "the store has version 99" in capsys.readouterr().err


def test_a_skill_that_never_ran_and_whose_events_never_occurred_is_told(dataset, capsys):
    assert main(annotate(dataset, "pairs=100", skill="merchant")) == 0
    out = capsys.readouterr().out
    assert "merchant never ran" in out
    assert "No pair is decided" in out


def test_a_model_that_goes_by_the_place_is_told(dataset, judge, capsys):
    server = judge("--mode", "always-first")
    assert main(annotate(dataset, "--annotator", "llm", "--llm", server.spec, "pairs=20")) == 0
    out = capsys.readouterr().out
    assert "the model goes by the place of a caption" in out
    assert re.search(r"order disagreement +100.0%", out)
    assert re.search(r"shown first preferred +100.0%", out)
