"""Annotating: every question once, whatever happens in between, and nothing made up where there is no answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maestro.content import Content
from maestro.errors import AnnotationError, ConfigError, DatasetError, StoreError, UnknownNameError
from maestro.preferences.job import Annotation, Job, JobOptions
from maestro.preferences.pairs import Preference
from maestro.preferences.questions import Shard, parse_shard
from maestro.preferences.store import JudgementStore, Verdict
from maestro.preferences.summary import combine
from maestro.preferences.verdicts import NOT_ASKED, read_verdicts

QUICK = {"timeout_s": 5.0, "total_s": 10.0, "backoff_s": 0.01, "max_backoff_s": 0.05}


def job(
    data: Path,
    annotator: str = "rules",
    *,
    skill: str = "descender",
    pairs: int = 100,
    llm: str = "",
    **options,
) -> Job:
    reasoning = options.pop("reasoning", "none")
    options["llm_settings"] = {**QUICK, **options.get("llm_settings", {})} if llm else {}
    return Job(skill, data, pairs, annotator, llm or "replay", reasoning, JobOptions(**options))


def work(
    job: Job, store: Path, out: Path | None = None, *, content: Content | None = None, **how: Any
) -> dict[str, Any]:
    """Do a job; the report, with the progress under "progress"."""
    with Annotation(content or Content.find(), job) as annotation, JudgementStore(store) as judgements:
        progress = annotation.ask(judgements, **how)
        report = annotation.conclude(judgements, out) if out else {}
        return {**report, "progress": progress}


def rows(folder: Path) -> list[dict[str, Any]]:
    return read_verdicts(folder / "verdicts.parquet")[0].to_pylist()


def test_rules_annotate_and_say_so(dataset, tmp_path):
    report = work(job(dataset), tmp_path / "s", tmp_path / "out")
    assert (report["annotator"], report["model"], report["order_disagreement"]) == ("rules", None, None)
    assert report["agreement_with_rules"] == 1.0
    assert report["verdicts"]["first"] > 10 < report["verdicts"]["second"]
    assert report["verdicts"]["unparsed"] == 0
    assert report["strata"]["stairs_down"]["drawn"] > 20
    table, info = read_verdicts(tmp_path / "out" / "verdicts.parquet")
    assert info["annotator"] == "rules"
    assert table.num_rows == 100
    for row in table.to_pylist():
        deeper = [row[side] % 7 == 0 for side in ("first", "second")]
        assert Preference(row["preference"]) is {(1, 0): Preference.FIRST, (0, 1): Preference.SECOND}.get(
            (int(deeper[0]), int(deeper[1])), Preference.TIE
        )
        assert row["p_first"] == {0: 1.0, 1: 0.0, 2: 0.5}[row["preference"]]
        assert row["backward"] == NOT_ASKED


def test_motifs_files_are_named_and_coded_as_they_know_them(dataset, tmp_path):
    work(job(dataset), tmp_path / "s", tmp_path / "a")
    codes = np.load(tmp_path / "a" / "rules_descender_default.npy")
    assert codes.dtype == np.int32
    assert codes.tolist() == [row["preference"] for row in rows(tmp_path / "a")]
    work(job(dataset, skill="stairs", prompt="reworded"), tmp_path / "s", tmp_path / "b")
    assert np.load(tmp_path / "b" / "rules_msg_minbl_stairs_reworded.npy").dtype == np.int8


def test_a_model_is_asked_both_orders_once_each(dataset, tmp_path, judge):
    server = judge()
    report = work(job(dataset, "llm", llm=server.spec), tmp_path / "s", tmp_path / "out")
    counts = server.counts()
    canaries, asked = [n for n in counts.values() if n > 1], len(counts) - 1
    assert not canaries
    assert report["progress"].answered == asked <= 200
    assert report["order_disagreement"] == 0.0
    assert 0.4 < report["shown_first_preferred"] < 0.6
    assert report["soft_labels"] == 100
    for row in rows(tmp_path / "out"):
        assert row["forward"] == row["backward"] == row["preference"]
        assert row["p_first"] == pytest.approx({0: 0.925, 1: 0.075, 2: 0.5}[row["preference"]], abs=0.01)
    again = work(job(dataset, "llm", llm=server.spec), tmp_path / "s", tmp_path / "out2")
    assert again["progress"].answered == 0
    assert server.counts() == counts  # not even the canary
    assert (tmp_path / "out" / "verdicts.parquet").read_bytes() == (
        tmp_path / "out2" / "verdicts.parquet"
    ).read_bytes()


def test_a_changed_preference_is_another_question(dataset, tmp_path, judge):
    server = judge()
    work(job(dataset, "llm", llm=server.spec, pairs=30), tmp_path / "s")
    mine = tmp_path / "mine" / "skills" / "descender"
    mine.mkdir(parents=True)
    theirs = Content.find().skill("descender").folder / "skill.toml"
    (mine / "skill.toml").write_text(theirs.read_text().replace("Going up is bad.", "Going up is very bad."))
    changed = Content.find(tmp_path / "mine")
    before = sum(server.counts().values())
    report = work(job(dataset, "llm", llm=server.spec, pairs=30), tmp_path / "s", content=changed)
    assert report["progress"].known == report["progress"].unparsed == 0
    assert sum(server.counts().values()) == before + report["progress"].answered + 1


@pytest.mark.parametrize(
    "change", [{"reasoning": "brief"}, {"prompt": "reworded"}, {"seed": 1}, {"soft_labels": False}]
)
def test_whatever_the_answer_depends_on_is_part_of_the_question(dataset, judge, change):
    def digest(**options):
        with Annotation(
            Content.find(), job(dataset, "llm", llm="openai:m@http://a", **options)
        ) as annotation:
            return annotation.context.digest

    assert digest() == digest()
    assert digest(**change) != digest()


def test_where_a_model_is_served_is_no_part_of_the_question(dataset):
    digests = set()
    for spec in ("openai:m@http://a", "openai:m@http://b,http://c", "openai:n@http://a"):
        with Annotation(Content.find(), job(dataset, "llm", llm=spec)) as annotation:
            digests.add(annotation.context.digest)
    assert len(digests) == 2


def test_identical_captions_are_a_tie_and_never_asked(tmp_path, judge, helpers):
    same = [
        helpers.make_row(n, message="You see it.", caption=f"{n}", previous_message="x") for n in range(6)
    ]
    data = helpers.write_dataset(tmp_path / "data", same)
    server = judge()
    report = work(
        job(data, "llm", llm=server.spec, prompt="reworded", pairs=50), tmp_path / "s", tmp_path / "out"
    )
    assert report["identical"] == report["verdicts"]["tie"] == 50
    assert server.counts() == {}
    assert {(r["preference"], r["p_first"], r["forward"]) for r in rows(tmp_path / "out")} == {
        (2, 0.5, NOT_ASKED)
    }


@pytest.mark.parametrize("reasoning", ["brief", "full"])
def test_reasoning_comes_first_and_is_kept(dataset, tmp_path, judge, reasoning):
    server = judge()
    spec = job(dataset, "llm", llm=server.spec, pairs=20, reasoning=reasoning)
    report = work(spec, tmp_path / "s", tmp_path / "out")
    assert report["verdicts"]["unparsed"] == 0
    assert sum(server.counts().values()) == 2 * report["progress"].answered + 1
    with JudgementStore(tmp_path / "s") as store:
        texts = store._db.execute("SELECT DISTINCT reasoning FROM judgements").fetchall()
    assert texts == [("Both are moments of a game.",)]


def test_an_answer_that_is_none_is_asked_for_once_more(dataset, tmp_path, judge):
    server = judge("--mode", "mends")
    report = work(job(dataset, "llm", llm=server.spec, pairs=20), tmp_path / "s", tmp_path / "out")
    assert report["verdicts"]["unparsed"] == 0
    assert sum(server.counts().values()) == 2 * report["progress"].answered + 1


def test_too_many_useless_answers_fail_and_show_one(dataset, tmp_path, judge):
    server = judge("--mode", "gibberish")
    spec = job(dataset, "llm", llm=server.spec, pairs=1000)
    with pytest.raises(
        AnnotationError, match=r"got no answer that can be used \(100\.0%\): 'perhaps \| perhaps'"
    ):
        work(spec, tmp_path / "s", tmp_path / "out")
    assert sum(server.counts().values()) < 700  # it did not go on to the end
    assert not (tmp_path / "out").exists()
    with pytest.raises(AnnotationError, match="no answer that can be used"):  # giving it again does not help
        work(spec, tmp_path / "s", tmp_path / "out")
    mended = judge()
    again = job(dataset, "llm", llm=mended.spec, pairs=1000, retry_unparsed=True)
    assert work(again, tmp_path / "s", tmp_path / "out")["verdicts"]["unparsed"] == 0


def test_some_useless_answers_are_a_state_of_their_own(dataset, tmp_path, judge):
    server = judge("--mode", "half")
    spec = job(dataset, "llm", llm=server.spec, pairs=60, max_unparsed=1.0)
    report = work(spec, tmp_path / "s", tmp_path / "out")
    unparsed = [row for row in rows(tmp_path / "out") if row["preference"] == Preference.UNPARSED]
    assert 20 < report["verdicts"]["unparsed"] == len(unparsed) < 60
    assert all(row["p_first"] is None for row in unparsed)
    assert report["examples"]["unparsed"]
    assert work(spec, tmp_path / "s")["progress"].answered == 0  # unparsed is an answer too
    strict = job(dataset, "llm", llm=server.spec, pairs=60)
    with pytest.raises(
        AnnotationError, match="no answer that can be used"
    ):  # also where nothing is left to ask
        work(strict, tmp_path / "s", tmp_path / "strict")
    assert not (tmp_path / "strict").exists()


def test_a_refused_prompt_costs_only_itself_and_is_tried_again(dataset, tmp_path, judge):
    server = judge("--mode", "refuse-some")
    spec = job(dataset, "llm", llm=server.spec, pairs=150)
    first = work(spec, tmp_path / "s", tmp_path / "out")
    failed = first["progress"].failed
    assert 0 < failed < 20
    assert first["unanswered"] == first["verdicts"]["unparsed"] > 0
    again = work(spec, tmp_path / "s", tmp_path / "out")["progress"]
    assert (again.answered, again.failed) == (0, failed)


def test_a_server_that_changes_its_model_is_found_out(dataset, tmp_path, judge):
    server = judge("--mode", "other-model")
    for any_model in (False, True):
        spec = job(dataset, "llm", llm=server.spec, llm_settings={"any_model": any_model, "max_in_flight": 4})
        with pytest.raises(AnnotationError, match="another"):
            work(spec, tmp_path / "s")
    with JudgementStore(tmp_path / "s") as store:
        assert store.count() > 30
        assert {model for (model,) in store._db.execute("SELECT DISTINCT model FROM judgements")} == {"m"}


def test_a_dead_server_ends_the_run_and_keeps_the_answers(dataset, tmp_path, judge):
    spec = job(
        dataset,
        "llm",
        llm="openai:m@http://127.0.0.1:9/v1",
        llm_settings={"max_retries": 0},
        constrained=False,
    )
    with pytest.raises(AnnotationError, match="no answer|refused|Connect"):
        work(spec, tmp_path / "s")


def test_a_server_that_ignores_choices_is_refused(dataset, tmp_path, judge):
    server = judge("--mode", "ignores-choices")
    spec = job(dataset, "llm", llm=server.spec, pairs=20)
    with pytest.raises(AnnotationError, match=r"choose between two words.*constrained=false"):
        work(spec, tmp_path / "s")
    free = job(dataset, "llm", llm=server.spec, pairs=20, constrained=False)
    report = work(free, tmp_path / "s", tmp_path / "out")
    assert report["verdicts"]["unparsed"] == 0
    assert report["soft_labels"] == 0


def test_the_cost_limit_holds_over_sessions(dataset, tmp_path, judge):
    server = judge()
    spec = job(
        dataset,
        "llm",
        llm=server.spec,
        llm_settings={"price_prompt": 100.0, "price_completion": 0.0, "max_in_flight": 4},
    )
    first = work(spec, tmp_path / "s", max_cost=1.0)["progress"]  # a question takes 100 tokens: a cent
    assert "cost limit" in first.stopped
    assert 95 <= first.answered <= 100
    assert first.cost == pytest.approx(first.answered / 100)
    assert work(spec, tmp_path / "s", max_cost=1.0)["progress"].answered <= 100 - first.answered
    rest = work(spec, tmp_path / "s", max_cost=10.0)["progress"]
    assert not rest.stopped
    with pytest.raises(ConfigError, match="prices are not known"):
        work(job(dataset, "llm", llm=server.spec), tmp_path / "s", max_cost=1.0)


@pytest.mark.parametrize("how", [{}, {"workers": 1}])
def test_a_guess_that_was_too_high_does_not_end_a_run_before_its_limit(dataset, tmp_path, judge, how):
    prices = {"price_prompt": 100.0, "price_completion": 0.0, "max_in_flight": 64}
    spec = job(dataset, "llm", llm=judge().spec, llm_settings=prices)
    progress = work(spec, tmp_path / "s", max_cost=1.0, **how)["progress"]
    assert 95 <= progress.answered <= 100  # a cent each; four were guessed
    assert progress.stopped == f"the cost limit of 1 is reached ({progress.cost:.4g} spent)"


def test_several_servers_share_the_questions(dataset, tmp_path, judge):
    one, two = judge(), judge()
    report = work(job(dataset, "llm", llm=f"{one.spec},{two.spec.partition('@')[2]}"), tmp_path / "s")
    counts = [sum(server.counts().values()) for server in (one, two)]
    assert min(counts) > 50
    assert sum(counts) == report["progress"].answered + 2


def test_shards_merge_to_what_one_run_gives(dataset, tmp_path, judge):
    server = judge()
    spec = job(dataset, "llm", llm=server.spec)
    work(spec, tmp_path / "whole", tmp_path / "out")
    before = sum(server.counts().values())
    for number in range(3):
        work(spec, tmp_path / f"shard{number}", shard=Shard(number, 3))
    assert sum(server.counts().values()) == 2 * before + 2  # and two more canaries
    names = [tmp_path / f"shard{number}" for number in range(3)]
    random.Random(1).shuffle(names)
    with JudgementStore(tmp_path / "all") as store:
        store.merge(names)
    merged = work(spec, tmp_path / "all", tmp_path / "out2")
    assert merged["progress"].answered == 0
    assert (tmp_path / "out" / "verdicts.parquet").read_bytes() == (
        tmp_path / "out2" / "verdicts.parquet"
    ).read_bytes()


@pytest.mark.parametrize("annotator", ["rules", "random"])
def test_workers_give_what_one_process_gives(dataset, tmp_path, annotator):
    spec = job(dataset, annotator, pairs=600)
    work(spec, tmp_path / "one", tmp_path / "out")
    work(spec, tmp_path / "two", tmp_path / "out2", workers=2)
    assert (tmp_path / "out" / "verdicts.parquet").read_bytes() == (
        tmp_path / "out2" / "verdicts.parquet"
    ).read_bytes()


def test_chance_disagrees_with_itself_half_of_the_time(dataset, tmp_path):
    report = work(job(dataset, "random", pairs=2000), tmp_path / "s", tmp_path / "out")
    assert 0.4 < report["order_disagreement"] < 0.6
    assert report["verdicts"]["tie"] == pytest.approx(report["order_disagreement"] * 2000, abs=1)
    assert 0.3 < report["agreement_with_rules"] < 0.7


def test_two_processes_do_not_ask_the_same(dataset, tmp_path):
    spec = job(dataset)
    with (
        Annotation(Content.find(), spec) as annotation,
        JudgementStore(tmp_path / "s") as store,
        store.working_on(annotation.context, "1of1"),
        pytest.raises(StoreError, match="another process is asking"),
    ):
        work(spec, tmp_path / "s")


def test_what_does_not_exist_or_fit_is_named(dataset, tmp_path, helpers):
    content = Content.find()
    with pytest.raises(UnknownNameError, match=r"unknown skill or goal 'decender'.*'descender'"):
        Annotation(content, job(dataset, skill="decender"))
    with pytest.raises(UnknownNameError, match="unknown annotator 'rule'"):
        Annotation(content, job(dataset, "rule"))
    with pytest.raises(AnnotationError, match="no preference rules"):
        Annotation(content, job(dataset, skill="zeroknowledge"))
    with pytest.raises(DatasetError, match="transitions of nethack, but 'opener' belongs to corridor"):
        Annotation(content, job(dataset, skill="opener"))
    with pytest.raises(ConfigError, match="'3/2' is no share"):
        parse_shard("3/2")
    assert parse_shard("2/2") == Shard(1, 2)


def test_a_skill_whose_events_never_occurred_is_all_ties(dataset, tmp_path):
    report = work(job(dataset, skill="merchant"), tmp_path / "s", tmp_path / "out")
    assert report["verdicts"] == {"first": 0, "second": 0, "tie": 100, "unparsed": 0}


def test_any_byte_can_be_asked_about(tmp_path, judge, helpers):
    rows = [
        helpers.make_row(b, message=f"x{bytes([b]).decode('latin-1')}y" * (1 + b % 3)) for b in range(256)
    ]
    data = helpers.write_dataset(tmp_path / "data", rows)
    server = judge()
    report = work(job(data, "llm", llm=server.spec, pairs=300), tmp_path / "s", tmp_path / "out")
    assert report["verdicts"]["unparsed"] == 0


FIRST, SECOND, TIE, UNPARSED = (Verdict(preference, None, None) for preference in Preference)


@pytest.mark.parametrize(
    ("forward", "backward", "preference", "p_first"),
    [
        (FIRST, SECOND, 0, 1.0),
        (SECOND, FIRST, 1, 0.0),
        (FIRST, FIRST, 2, 0.5),
        (TIE, TIE, 2, 0.5),
        (FIRST, TIE, 2, 0.5),
        (UNPARSED, SECOND, 3, None),
        (FIRST, UNPARSED, 3, None),
        (None, SECOND, 3, None),
        (Verdict(Preference.FIRST, 0.75, 0.125), Verdict(Preference.SECOND, 0.25, 0.5), 0, 0.71875),
        (Verdict(Preference.FIRST, 0.9, 0.05), Verdict(Preference.FIRST, 0.6, 0.2), 2, 0.5),
        (Verdict(Preference.TIE, 0.3, 0.2), Verdict(Preference.TIE, 0.2, 0.2), 2, 0.525),
    ],
)
def test_two_orders_make_one_verdict(forward, backward, preference, p_first):
    combined = combine(forward, backward, both=True)
    assert combined.preference == preference
    assert combined.p_first == pytest.approx(p_first)
