"""Recorded replies: written, read, found, missed, renewed."""

from __future__ import annotations

import os
import shutil
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import maestro.content
import maestro.llm.replay
from maestro.errors import ChatError, ContentError, RecordError, SpecError
from maestro.llm import Reply, ReplyFailed, Request, Sampling, Usage, load_chat_model
from maestro.llm.exchange import exchange_of, read_exchange, write_exchange
from maestro.llm.messages import TokenLogprob
from maestro.llm.replay import nearest, read_folders

SHARED = "You write code.\n" + "\n".join(f"Rule {n} says this and that." for n in range(40))


def question(text: str, **sampling) -> Request:
    return Request(
        ({"role": "system", "content": SHARED}, {"role": "user", "content": text}),
        Sampling(**sampling),
        text.split()[0],
    )


def follow_up(request: Request, said: str, text: str) -> Request:
    more = ({"role": "assistant", "content": said}, {"role": "user", "content": text})
    return Request((*request.messages, *more), request.sampling, request.label)


@pytest.fixture
def recorded(serve, fake, tmp_path):
    """A folder with the replies to the questions alpha, beta, and what followed alpha."""
    server = serve([fake.answer("reply one"), fake.answer("reply two"), fake.answer("reply three")])
    with load_chat_model(server.spec, record=tmp_path, author="the tests") as model:
        ask: Any = model.ask
        alpha = question("alpha task: reach the mines")
        assert ask(alpha).text == "reply one"
        assert ask(follow_up(alpha, "reply one", "Line 3 is wrong.")).text == "reply two"
        assert ask(question("beta task: sell things", temperature=0.7, seed=2)).text == "reply three"
    return tmp_path


def test_what_was_recorded_is_replayed(recorded, open_model):
    model = open_model(f"replay:{recorded}")
    alpha = question("alpha task: reach the mines")
    reply = model.ask(alpha)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.model, reply.author) == ("reply one", "m", "the tests")
    assert reply.usage == Usage(10, 2)
    assert reply.server.startswith("replay:alpha-")
    assert model.ask(follow_up(alpha, "reply one", "Line 3 is wrong.")).text == "reply two"
    assert model.ask(question("beta task: sell things", temperature=0.7, seed=2)).text == "reply three"
    assert model.totals.completion_tokens == 6


def test_conversation_is_told_only_once(recorded):
    files = {path.name: path.read_text() for path in recorded.iterdir()}
    assert len(files) == 3
    (follow,) = [text for text in files.values() if "Line 3 is wrong." in text]
    assert "continues: alpha-" in follow
    assert "Rule 7" not in follow


def test_recording_again_changes_no_name_and_failures_are_not_kept(serve, fake, tmp_path):
    server = serve([fake.answer("one"), fake.status(400), fake.answer("two")])
    with load_chat_model(server.spec, record=tmp_path) as model:
        outcomes = [model.ask(question("alpha")) for _ in range(3)]
    assert [type(outcome) for outcome in outcomes] == [Reply, ReplyFailed, Reply]
    (path,) = tmp_path.iterdir()
    assert read_exchange(path).text == "two"
    assert read_exchange(path).author == "m"


@pytest.mark.parametrize("name", ["label", "text", "sampling"])
def test_miss_names_the_nearest_question_and_what_differs(name, recorded, open_model):
    model = open_model(f"replay:{recorded}")
    asked = {
        "label": question("alpha task: reach the Mines"),
        "text": Request(question("alpha task: reach the Mines").messages),
        "sampling": question("beta task: sell things", temperature=0.7, seed=3),
    }[name]
    outcome = model.ask(asked)
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "not_recorded"
    assert "MAESTRO_REPLAY=renew" in str(outcome.to_error())
    if name == "sampling":
        assert "beta-" in outcome.what
        assert "seed=3" in outcome.what
        assert "seed=2" in outcome.what
    else:
        assert "alpha-" in outcome.what
        assert (
            "message 2, line 1 is 'alpha task: reach the Mines' here, 'alpha task: reach the mines' there"
            in outcome.what
        )


def test_renewing_keeps_replies_when_a_prompt_changes(recorded, open_model, monkeypatch):
    before = sorted(path.name for path in recorded.iterdir())
    monkeypatch.setenv("MAESTRO_REPLAY", "renew")
    changed = [{"role": "system", "content": SHARED.replace("Rule 7 says", "Rule seven now says")}]
    model = open_model(f"replay:{recorded}")
    alpha = question("alpha task: reach the mines")
    alpha = Request((*changed, *alpha.messages[1:]), alpha.sampling, alpha.label)
    beta = question("beta task: sell things", temperature=0.7, seed=2)
    beta = Request((*changed, *beta.messages[1:]), beta.sampling, beta.label)
    follow = follow_up(alpha, "reply one", "Line 3 is wrong.")
    assert [model.ask(asked).text for asked in (beta, alpha, follow)] == [
        "reply three",
        "reply one",
        "reply two",
    ]
    monkeypatch.delenv("MAESTRO_REPLAY")
    fresh = open_model(f"replay:{recorded}")
    assert [fresh.ask(asked).text for asked in (alpha, follow, beta)] == [
        "reply one",
        "reply two",
        "reply three",
    ]
    assert sorted(path.name for path in recorded.iterdir()) == before
    assert all("Rule 7 says" not in path.read_text() for path in recorded.iterdir())


def test_one_reply_is_not_renewed_for_two_questions(recorded, open_model):
    model = open_model(f"replay:{recorded}", on_miss="renew")
    assert isinstance(model.ask(question("alpha task: reach the mine")), Reply)
    outcome = model.ask(question("alpha task: reach a mine"))
    assert isinstance(outcome, ReplyFailed)
    assert "already answered another question" in outcome.what


def test_quite_another_question_renews_nothing(recorded, open_model):
    model = open_model(f"replay:{recorded}", on_miss="renew")
    outcome = model.ask(Request(({"role": "user", "content": "What is the capital of France?"},)))
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "not_recorded"


def test_a_question_never_takes_the_reply_of_another_label(recorded, open_model):
    """Prompts of one kind share most of their text; only the label says that the question is another one."""
    before = {path: path.read_text() for path in recorded.iterdir()}
    model = open_model(f"replay:{recorded}", on_miss="renew")
    outcome = model.ask(question("gamma task: reach the mines"))
    assert isinstance(outcome, ReplyFailed)
    assert "no recorded reply has this label" in outcome.what
    assert {path: path.read_text() for path in recorded.iterdir()} == before


@pytest.fixture
def packaged(recorded, tmp_path_factory, monkeypatch):
    """What was recorded, as it ships inside an installed package."""
    shipped = tmp_path_factory.mktemp("site-packages") / "maestro" / "_content"
    shutil.copytree(recorded, shipped / "prompts" / "replies" / "codegen")
    for module in (maestro.content, maestro.llm.replay):
        monkeypatch.setattr(module, "shipped_root", lambda: shipped)
    return shipped


def test_what_ships_in_a_package_is_renewed_in_a_folder_of_ones_own(
    packaged, tmp_path_factory, open_model, monkeypatch
):
    before = {path: path.read_text() for path in packaged.rglob("*.md")}
    mine = tmp_path_factory.mktemp("mine")
    (mine / "skills").mkdir()
    monkeypatch.setenv("MAESTRO_CONTENT", str(mine))
    model = open_model("replay", on_miss="renew")
    alpha = question("alpha task: reach the mine")
    follow = follow_up(alpha, "reply one", "Line 3 is wrong.")
    assert [model.ask(asked).text for asked in (alpha, follow)] == ["reply one", "reply two"]
    assert {path: path.read_text() for path in packaged.rglob("*.md")} == before
    fresh = open_model("replay")
    assert [fresh.ask(asked).text for asked in (alpha, follow)] == ["reply one", "reply two"]
    renewed = sorted((mine / "prompts" / "replies" / "codegen").iterdir())
    assert {path.name for path in renewed} < {path.name for path in before}
    assert ["continues: " in path.read_text() for path in renewed].count(True) == 1


def test_a_reply_of_ones_own_is_not_overwritten_by_a_renewed_one(
    packaged, tmp_path_factory, open_model, monkeypatch
):
    mine = tmp_path_factory.mktemp("mine")
    name = next(p.name for p in packaged.rglob("beta-*.md"))
    own = mine / "prompts" / "replies" / "codegen" / name
    own.parent.mkdir(parents=True)
    own.write_text("---\nauthor: me\n---\n<!-- user -->\nhi\n<!-- reply -->\nmine\n")
    before = own.read_text()
    monkeypatch.setenv("MAESTRO_CONTENT", str(mine))
    model = open_model("replay", on_miss="renew")
    assert model.ask(question("beta task: sell things", temperature=0.7, seed=9)).text == "reply three"
    assert own.read_text() == before
    assert len(list(own.parent.iterdir())) == 2


def test_without_a_folder_of_ones_own_what_ships_in_a_package_is_not_renewed(
    packaged, open_model, monkeypatch
):
    monkeypatch.delenv("MAESTRO_CONTENT", raising=False)
    before = {path: path.read_text() for path in packaged.rglob("*.md")}
    for spec in ("replay", f"replay:{packaged / 'prompts' / 'replies'}"):
        outcome = open_model(spec, on_miss="renew").ask(question("alpha task: reach the mine"))
        assert isinstance(outcome, ReplyFailed)
        assert "MAESTRO_CONTENT" in str(outcome.to_error())
    assert {path: path.read_text() for path in packaged.rglob("*.md")} == before


def test_special_lines_decide_which_question_is_nearest(tmp_path):
    exchanges = [
        exchange_of(
            question(f"task {n}\nthe goal of task {n}"),
            _reply("x"),
            tmp_path / f"{n}.md",
            author="t",
            recorded="",
        )
        for n in range(20)
    ]
    changed = SHARED.replace("says", "tells")  # every shared line is another one now
    asked = Request(
        ({"role": "system", "content": changed}, {"role": "user", "content": "the goal of task 13"})
    )
    assert nearest(asked, exchanges).exchange.path.name == "13.md"


def test_earlier_folder_counts_and_readme_is_no_reply(tmp_path):
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "README.md").write_text("# Not a reply")
        (folder / "deep").mkdir()
        (folder / "deep" / "1.md").write_text(
            f"---\nauthor: {name}\n---\n<!-- user -->\nhi\n<!-- reply -->\n{name}\n"
        )
    from maestro.llm.replay import ReplayModel, Settings

    with ReplayModel("replay", [tmp_path / "b", tmp_path / "a"], Settings()) as model:
        assert model.complete([{"role": "user", "content": "hi"}]).text == "b"
        assert len(model.exchanges) == 2


def test_default_is_replay_of_what_ships(open_model, monkeypatch, tmp_path):
    replies = tmp_path / "prompts" / "replies"
    replies.mkdir(parents=True)
    (replies / "hi.md").write_text("---\nauthor: me\n---\n<!-- user -->\nhi there\n<!-- reply -->\nhello\n")
    monkeypatch.setenv("MAESTRO_CONTENT", str(tmp_path))
    with load_chat_model() as model:
        assert model.spec == "replay"
        assert model.complete([{"role": "user", "content": "hi there"}]).text == "hello"
        assert not model.live


def test_choices_are_checked_in_replay_too(tmp_path, open_model):
    (tmp_path / "1.md").write_text(
        '---\nauthor: me\nsampling: {"choices": ["a", "b"]}\n---\n<!-- user -->\nhi\n<!-- reply -->\nneither\n'
    )
    with pytest.raises(ChatError, match="none of a, b"):
        open_model(f"replay:{tmp_path}").complete([{"role": "user", "content": "hi"}], choices=["a", "b"])


# The files -------------------------------------------------------------------------------------------------------

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40) | st.sampled_from(
    [
        "<!-- reply -->",
        "\\<!-- user -->",
        "a\n<!-- system -->\nb",
        "\n\n",
        "---\n",
        "---",
        "a\r\nb",
        "\ufeff",
        "\x0c\x85\u2028",
    ]
)
messages = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), text), min_size=1, max_size=4)
logprobs = st.none() | st.tuples(
    st.builds(TokenLogprob, text, st.floats(-99, 0), st.dictionaries(text, st.floats(-99, 0), max_size=3))
)


def _reply(text: str, logprobs=None, finish="stop") -> Reply:
    return Reply(text, logprobs, Usage(1, 2), "m", "s", finish)


@settings(max_examples=150, deadline=None)
@given(
    messages,
    text,
    st.floats(0, 2),
    st.none() | st.integers(0, 2**63),
    logprobs,
    st.sampled_from(["stop", "length"]),
)
def test_any_exchange_survives_its_file(tmp_path_factory, said, reply, temperature, seed, logprobs, finish):
    request = Request(
        tuple({"role": role, "content": content} for role, content in said),
        Sampling(temperature, 5, seed),
        "a label",
    )
    path = tmp_path_factory.getbasetemp() / "exchange.md"
    exchange = exchange_of(
        request, _reply(reply, logprobs, finish), path, author="some one", recorded="today"
    )
    path.write_bytes(write_exchange(exchange).encode())
    again = read_exchange(path)
    assert again == exchange
    assert again.request.key == request.key
    follow = Request(
        (*request.messages, {"role": "assistant", "content": reply}, {"role": "user", "content": "more"})
    )
    child = exchange_of(follow, _reply("end"), path.with_name("child.md"), author="x", recorded="")
    child.path.write_bytes(write_exchange(child, exchange).encode())
    assert read_exchange(child.path, {path.name: exchange}).request == follow


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"hello", "no head"),
        (b"---\nauthor: me\n", "no head"),
        (b"---\nauthor: me\n---\n", "its marks are missing"),
        (b"---\nauthor: me\n---\n<!-- user -->\nhi\n", "its marks are user"),
        (b"---\nauthor: me\n---\n<!-- reply -->\nhi\n<!-- user -->\nx\n", "its marks are reply, user"),
        (b"---\nauthor: me\n---\n<!-- reply -->\nhi\n", "there are no messages"),
        (b"---\nauthor: me\n---\nhi\n<!-- user -->\na\n<!-- reply -->\nb\n", "before the first mark"),
        (b"---\n---\n<!-- user -->\na\n<!-- reply -->\nb\n", "who wrote the reply"),
        (b"---\nauthr: me\n---\n<!-- user -->\na\n<!-- reply -->\nb\n", "no line of a head"),
        (b"---\nauthor: me\nsampling: {\n---\n<!-- user -->\na\n<!-- reply -->\nb\n", "malformed"),
        (
            b'---\nauthor: me\nsampling: {"top_k": 3}\n---\n<!-- user -->\na\n<!-- reply -->\nb\n',
            "malformed|unexpected",
        ),
        (
            b'---\nauthor: me\nsampling: {"max_tokens": 0}\n---\n<!-- user -->\na\n<!-- reply -->\nb\n',
            "max_tokens 0",
        ),
        (b"---\nauthor: me\ncontinues: 2.md\n---\n<!-- user -->\na\n<!-- reply -->\nb\n", "not beside it"),
        (b"---\nauthor: me\ncontinues: 1.md\n---\n<!-- user -->\na\n<!-- reply -->\nb\n", "continues itself"),
        (b"---\nauthor: \xff\n---\n", "cannot be read"),
    ],
)
def test_malformed_files_are_named(source, said, tmp_path):
    (tmp_path / "1.md").write_bytes(source)
    with pytest.raises(ContentError, match=said) as raised:
        read_folders([tmp_path])
    assert "1.md" in str(raised.value)


def test_missing_folder_and_bad_mode(open_model, tmp_path, monkeypatch):
    with pytest.raises(ContentError, match="does not exist"):
        open_model(f"replay:{tmp_path / 'nowhere'}")
    with pytest.raises(ChatError, match="there are no recorded replies"):
        open_model(f"replay:{tmp_path}").complete([{"role": "user", "content": "hi"}])
    monkeypatch.setenv("MAESTRO_REPLAY", "always")
    with pytest.raises(SpecError, match="MAESTRO_REPLAY"):
        open_model(f"replay:{tmp_path}")


def test_folder_that_cannot_be_written(serve, fake, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with (
        pytest.raises(RecordError, match="cannot be made"),
        load_chat_model(serve(fake.answer()).spec, record=file / "x"),
    ):
        pass


def test_failing_disk_is_told_and_leaves_no_half_file(serve, fake, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with load_chat_model(serve(fake.answer()).spec, record=tmp_path) as model:
        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(RecordError, match="No space left"):
            model.ask(question("alpha"))
    assert list(tmp_path.iterdir()) == []
