"""The judgement store: nothing that was added is lost, and stores merge by key in any order."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from maestro.errors import StoreError
from maestro.preferences.judgements import Failure, Judgement, make_context, question_key
from maestro.preferences.pairs import Preference
from maestro.preferences.store import JudgementStore

CONTEXT = make_context({"preference": "p", "model": "m"}, about={"skill": "merchant"})


def judgement(number: int, verdict: Preference = Preference.FIRST, **fields) -> Judgement:
    first, second = number.to_bytes(16, "big"), (number + 1).to_bytes(16, "big")
    return Judgement(question_key(CONTEXT.digest, first, second), first, second, verdict, **fields)


def contents(path) -> list[tuple]:
    with sqlite3.connect(path) as db:
        return db.execute("SELECT key, verdict, reply FROM judgements ORDER BY key").fetchall()


def test_answers_are_found_again(tmp_path):
    with JudgementStore(tmp_path / "deep" / "s.sqlite") as store:
        store.add(
            CONTEXT,
            [judgement(n, p_first=0.75, p_second=0.125, prompt_tokens=10, model="m-1") for n in range(1200)],
        )
    with JudgementStore(tmp_path / "deep" / "s.sqlite") as store:
        keys = [judgement(n).key for n in range(1300)]
        found = store.verdicts(keys)
        assert len(found) == store.count() == 1200
        assert found[keys[7]] == (Preference.FIRST, 0.75, 0.125)
        assert store.spent(CONTEXT) == (1200, 12_000, 0)
        assert store.models(CONTEXT) == ["m-1"]


def test_the_first_answer_stays(tmp_path):
    with JudgementStore(tmp_path / "s") as store:
        store.add(CONTEXT, [judgement(1, Preference.TIE)])
        store.add(CONTEXT, [judgement(1, Preference.SECOND)])
        assert store.verdicts([judgement(1).key])[judgement(1).key].preference is Preference.TIE


def test_what_a_question_depends_on_is_its_address():
    base = {"preference": "p", "model": "m", "templates": {"system": "s"}, "sampling": {"temperature": 0.0}}
    changed = [
        {**base, "preference": "p "}, {**base, "model": "n"}, {**base, "templates": {"system": "t"}},
        {**base, "sampling": {"temperature": 0.1}},
    ]  # fmt: skip
    digests = {make_context(identity, about={}).digest for identity in (base, *changed)}
    assert len(digests) == 5
    assert make_context(dict(reversed(base.items())), about={"skill": "x"}).digest in digests
    a, b = b"a" * 16, b"b" * 16
    assert question_key(CONTEXT.digest, a, b) != question_key(CONTEXT.digest, b, a)


def test_stores_merge_to_the_same_in_any_order(tmp_path):
    answers = {
        "a": [judgement(n) for n in range(5)],
        "b": [judgement(n, Preference.SECOND, reply="later") for n in range(3, 8)],
        "c": [judgement(4, Preference.UNPARSED), judgement(9, Preference.UNPARSED)],
        "d": [judgement(9, Preference.TIE)],
    }
    for name, given in answers.items():
        with JudgementStore(tmp_path / name) as store:
            store.add(CONTEXT, given, [(b"x" * 16, "caption")])
    results = []
    for number, order in enumerate(itertools.permutations(answers)):
        with JudgementStore(tmp_path / f"merged{number}") as store:
            assert store.merge([tmp_path / name for name in order]) == 9
            assert store.merge([tmp_path / name for name in order]) == 0
        results.append(contents(tmp_path / f"merged{number}"))
    assert all(result == results[0] for result in results)
    by_key = {key: (verdict, reply) for key, verdict, reply in results[0]}
    assert by_key[judgement(4).key] == (0, "")
    assert by_key[judgement(9).key][0] == Preference.TIE


def test_a_newer_store_is_refused(tmp_path):
    JudgementStore(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s") as db:
        db.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreError, match=r"version 2.*Expected: version 1"):
        JudgementStore(tmp_path / "s")
    with JudgementStore(tmp_path / "mine") as store, pytest.raises(StoreError, match="version 2"):
        store.merge([tmp_path / "s"])


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "text").write_bytes(b"hello, this is a long text and no database" * 200)
    with pytest.raises(StoreError, match="no store of judgements, or a damaged one"):
        JudgementStore(tmp_path / "text")
    with sqlite3.connect(tmp_path / "other") as db:
        db.execute("CREATE TABLE t (a)")
    with pytest.raises(StoreError, match="no store of judgements"):
        JudgementStore(tmp_path / "other")
    with JudgementStore(tmp_path / "s") as store, pytest.raises(StoreError, match="there is no such store"):
        store.merge([tmp_path / "absent"])


def test_a_damaged_store_is_named(tmp_path):
    with JudgementStore(tmp_path / "s") as store:
        store.add(CONTEXT, [judgement(n, reply="r" * 500) for n in range(500)])
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray((tmp_path / "s").read_bytes())
    data[4096:-4096] = b"\xff" * (len(data) - 8192)
    (tmp_path / "s").write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):  # noqa: SIM117
        with JudgementStore(tmp_path / "s") as store:
            store.verdicts([judgement(n).key for n in range(500)])


def test_one_process_at_a_time_asks_the_same_questions(tmp_path):
    other = make_context({"preference": "q"}, about={})
    with (
        JudgementStore(tmp_path / "s") as one,
        JudgementStore(tmp_path / "s") as two,
        one.working_on(CONTEXT, "1of1"),
    ):
        with pytest.raises(StoreError, match="another process is asking"), two.working_on(CONTEXT, "1of1"):
            pass
        with two.working_on(other, "1of1"):
            pass
        with pytest.raises(StoreError, match="another process is asking"), two.working_on(CONTEXT, "1of2"):
            pass
    with (
        JudgementStore(tmp_path / "s") as one,
        JudgementStore(tmp_path / "s") as two,
        one.working_on(CONTEXT, "1of2"),
    ):
        with two.working_on(CONTEXT, "2of2"):  # shards side by side, but neither twice nor beside the whole
            pass
        for part in ("1of2", "1of1"):
            with pytest.raises(StoreError, match="another process is asking"), two.working_on(CONTEXT, part):
                pass
    with JudgementStore(tmp_path / "s") as one, one.working_on(CONTEXT, "1of1"):
        pass


def test_failures_are_no_answers(tmp_path):
    with JudgementStore(tmp_path / "s") as store:
        failed = Failure(*judgement(1)[:3], "refused", "too long", "there")
        store.add_failures(CONTEXT, [failed])
        store.add_failures(CONTEXT, [failed])
        assert store.count() == 0
        assert store.verdicts([failed.key]) == {}
        assert store.reply(failed.key) == "refused: too long"


def test_export_spells_everything_out(tmp_path):
    with JudgementStore(tmp_path / "s") as store:
        one = judgement(1, Preference.SECOND, p_first=0.25, p_second=0.5, reply="2", model="m")
        store.add(CONTEXT, [one, judgement(5)], [(one.first, "first\x00 ÿ"), (one.second, "second")])
        assert store.export(tmp_path / "s.parquet") == 2
    rows = {row["key"]: row for row in pq.read_table(tmp_path / "s.parquet").to_pylist()}
    row = rows[one.key.hex().upper()]
    assert (row["first"], row["second"], row["verdict"], row["p_first"]) == ("first\x00 ÿ", "second", 1, 0.25)
    assert '"skill": "merchant"' in row["context"]


_ADD_AND_SAY = """
import sys
sys.path.insert(0, {here!r})
import test_store
from maestro.preferences.store import JudgementStore
with JudgementStore({path!r}) as store:
    for number in range(100_000):
        store.add(test_store.CONTEXT, [test_store.judgement(number)])
        print(number, flush=True)
"""


def test_a_killed_process_loses_nothing_that_was_added(tmp_path):
    code = _ADD_AND_SAY.format(here=os.path.dirname(__file__), path=str(tmp_path / "s"))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = [next(process.stdout) for _ in range(300)]
    process.send_signal(signal.SIGKILL)
    said += process.stdout.readlines()
    process.wait()
    last = int(said[-1] if said[-1].endswith("\n") else said[-2])
    with JudgementStore(tmp_path / "s") as store:
        assert last + 1 <= store.count() <= last + 2


_FILL = """
import resource, signal, sys
sys.path.insert(0, {here!r})
import test_store
from maestro.preferences.store import JudgementStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
with JudgementStore({path!r}) as store:
    for number in range(100_000):
        store.add(test_store.CONTEXT, [test_store.judgement(number, reply="r" * 100)])
        print(number, flush=True)
"""


def test_a_full_disk_is_said_and_costs_nothing_that_was_added(tmp_path):
    code = _FILL.format(here=os.path.dirname(__file__), path=str(tmp_path / "s"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "StoreError" in done.stderr
    assert "it continues" in done.stderr
    added = len(done.stdout.splitlines())
    assert added > 30
    with JudgementStore(tmp_path / "s") as store:
        assert added <= store.count() <= added + 1
        store.add(CONTEXT, [judgement(1_000_000)])
