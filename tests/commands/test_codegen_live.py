"""`maestro codegen` with a model that answers now: repair, the model's own verdict, budgets, attacks, real games."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from maestro.cli import main
from maestro.content import Content, shipped_root
from maestro.evaluation.episode import Ending
from maestro.llm.messages import ReplyFailed
from maestro.options.load import load_policy

SHIPPED = shipped_root()
GOOD = (SHIPPED / "meta_policies" / "locked_door" / "policy.py").read_text()
TEST = "\n\ndef test_it():\n    print(Policy().select_skill(State(), None, frozenset({'keyfinder'})))\n"
LAZY = "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'eastwalker'\n"


def block(source: str) -> str:
    return f"I think first.\n\n```python\n{source.strip()}\n```\n"


def policy(root: Path) -> Path:
    return root / "content" / "meta_policies" / "locked_door" / "policy.py"


# --- a model that answers now ------------------------------------------------------------------------------------


def test_faults_go_back_and_the_judge_has_a_word(place: Path, say):
    model = say(
        "I am sorry.",
        block(GOOD.replace("state.num_keys", "state.keys") + TEST),
        block(GOOD),
        block(GOOD + TEST.replace("print(", "assert not (")),
        block(LAZY + TEST),
        block(GOOD + TEST),
        block(GOOD + TEST),
        verdicts=("no", "yes"),
    )
    assert main(["codegen", "--task", "locked_door", "--attempts", "9", "--code-seed", "3"]) == 0
    asked = [request for request in model.requests if not request.sampling.choices]
    last = [request.messages[-1]["content"] for request in asked]
    assert "There is no fenced block" in last[1]
    assert "'keys' is not a field" in last[2] and "The line is `if state.keys == 0:`" in last[2]
    assert "There is no unit test" in last[3]
    assert "test_it failed: AssertionError" in last[4] and "Your unit test gave this" not in last[1]
    assert "the key was not found" in last[5] and "position" in last[5]
    assert "not sound" in last[6]
    assert {request.sampling.seed for request in asked} == {3}
    judged = [request for request in model.requests if request.sampling.choices]
    assert [len(request.messages) for request in judged] == [2, 2]
    assert "Reached in 16 of 16 simulated games" in judged[0].messages[1]["content"]
    assert load_policy(Content.find(place / "content").task("locked_door").with_code_seed(3)).provenance.author == "tiny-llama"  # fmt: skip


def test_a_model_that_never_gets_it_right_fails_with_reasons_and_keeps_the_old_file(
    place: Path, say, capsys: pytest.CaptureFixture[str]
):
    assert main(["codegen", "--task", "locked_door"]) == 0
    before = {path: path.read_bytes() for path in policy(place).parent.iterdir()}
    say(block(LAZY + TEST))
    capsys.readouterr()
    assert main(["codegen", "--task", "locked_door", "--attempts", "3"]) == 1
    out = capsys.readouterr().out
    assert "attempt 3 of 3" in out and "attempt 4" not in out
    assert "FAILED: all 3 attempts were used" in out
    assert "what was there is kept" in out
    assert {path: path.read_bytes() for path in policy(place).parent.iterdir()} == before
    failed = place / "content" / "transcripts" / "locked_door.failed.jsonl"
    assert sum('"kind": "reply"' in line for line in failed.open()) == 3


def test_budgets_of_tokens_and_time_end_the_conversation(
    place: Path, say, capsys: pytest.CaptureFixture[str]
):
    settings = place / "mine" / "prompts" / "codegen"
    settings.mkdir(parents=True)
    for line, reason in (
        ("max_total_tokens = 400", "450 of 400 tokens were used"),
        ("max_seconds = 0.000001", "0 of 0 seconds were used"),
    ):
        say(block(LAZY + TEST))
        (settings / "settings.toml").write_text(f"{line}\nsimulated_games = 2\n")
        assert main(["codegen", "--task", "locked_door", "--content", "mine"]) == 1
        assert reason in capsys.readouterr().out


def test_settings_are_held_to_their_types(place: Path, capsys: pytest.CaptureFixture[str]):
    settings = place / "mine" / "prompts" / "codegen"
    settings.mkdir(parents=True)
    (settings / "settings.toml").write_text("attemps = 3\n")
    assert main(["codegen", "--task", "locked_door", "--content", "mine"]) == 1
    assert "did you mean 'attempts'" in capsys.readouterr().err


def test_a_server_that_fails_is_named_and_nothing_is_written(
    place: Path, say, capsys: pytest.CaptureFixture[str]
):
    say(block(LAZY + TEST), ReplyFailed("unreachable", "the connection failed", "http://dead:1"))
    assert main(["codegen", "--task", "locked_door", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False and answer["written"] == []
    assert "http://dead:1: the connection failed" in answer["modules"][0]["reasons"][0]
    assert len(answer["modules"][0]["attempts"]) == 1


@pytest.mark.parametrize(
    ("verdict", "free", "fault"),
    [
        (ReplyFailed("timeout", "no complete answer within 120 s", "http://s"), "", "no complete answer within 120 s"),
        (" **Yes.**\n", "", ""),
        ("I am", "<think>Let me see.</think>\n\nYes.", ""),
        ("I am", "I am not sure.", "it answers neither yes nor no"),
        ("I am", ReplyFailed("refused", "the prompt is too long", "http://s"), "the prompt is too long"),
    ],
)  # fmt: skip
def test_a_judge_that_cannot_be_asked_costs_no_good_candidate(
    place: Path, say, verdict: str | ReplyFailed, free: str | ReplyFailed, fault: str, capsys
):
    model = say(block(GOOD + TEST), free, verdicts=(verdict,))
    assert main(["codegen", "--task", "locked_door"]) == 0
    out = capsys.readouterr().out
    assert ("the judge could not be asked: " in out) == bool(fault)
    assert fault in out and "max_tokens in prompts" not in out
    transcript = [json.loads(line) for line in policy(place).with_name("transcript.jsonl").open()]
    (judgement,) = [entry for entry in transcript if entry["kind"] == "judgement"]
    assert judgement["accepted"] is True and fault in judgement["content"]
    asked = 2 + bool(free)
    assert len(model.requests) == asked
    if free:
        assert model.requests[-1].sampling.choices is None
        assert model.requests[-1].sampling.max_tokens > 8
    if isinstance(verdict, str) and isinstance(free, str):  # the useless answer was paid for as well
        assert model.totals.prompt_tokens == 100 * asked


@pytest.mark.parametrize(("verdict", "free"), [(" *No*.", ""), ("I am", "No. It never opens the door.")])
def test_a_no_in_other_words_is_a_no(place: Path, say, verdict: str, free: str, capsys):
    say(block(GOOD + TEST), *([free] if free else []), block(GOOD + TEST), verdicts=(verdict, "yes"))
    assert main(["codegen", "--task", "locked_door"]) == 0
    out = capsys.readouterr().out
    assert "attempt 1 of 5: judged unsound" in out and "attempt 2 of 5: good" in out


@pytest.mark.parametrize(
    "attack",
    [
        "import os\nos.system('touch pwned')\n" + GOOD,
        GOOD.replace("        if", "        open('pwned', 'w').close()\n        if", 1),
        "x = ().__class__.__base__.__subclasses__()\n" + GOOD,
    ],
)
def test_a_hostile_reply_is_refused_before_it_runs(
    place: Path, say, attack: str, capsys: pytest.CaptureFixture[str]
):
    say(block(attack + TEST))
    assert main(["codegen", "--task", "locked_door", "--attempts", "1"]) == 1
    assert "breaks rules and was not run" in capsys.readouterr().out
    assert not list(place.rglob("pwned"))


def test_of_several_good_candidates_the_best_in_real_games_is_kept(
    place: Path, say, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import maestro.commands._codegen.real_games as real_games

    versions = [f"# version {number}\n{GOOD}" for number in range(3)]
    scores = iter([0.25, 0.75, 0.5])
    monkeypatch.setattr(real_games, "_mean", lambda records, test: score[0])
    score = [0.0]
    played = real_games.RealGames._play

    def play(self, candidate):
        score[0] = next(scores)
        return played(self, candidate)

    monkeypatch.setattr(real_games.RealGames, "_play", play)
    model = say(*(block(version + TEST) for version in versions))
    assert main(["codegen", "--task", "locked_door", "--attempts", "3", "--check-games", "2"]) == 0
    assert policy(place).read_text() == versions[1]
    assert "success in real games 0.75" in capsys.readouterr().out
    said = model.requests[-1].messages[-1]["content"]
    assert "success was 0.75 on average" in said and "game 1: success 1, ended: success" in said


def test_code_that_fails_in_real_games_only_is_not_good(
    place: Path, say, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import maestro.commands._codegen.real_games as real_games

    played = real_games.RealGames._play

    def play(self, candidate):
        error = Ending(by="error", cause="KeyError: 'rare'")
        return [record.model_copy(update={"ended": error}) for record in played(self, candidate)]

    monkeypatch.setattr(real_games.RealGames, "_play", play)
    say(block(GOOD + TEST))
    assert main(["codegen", "--task", "locked_door", "--attempts", "2", "--check-games", "2"]) == 1
    assert "in 2 of 2 real games: KeyError: 'rare'" in capsys.readouterr().out
    assert not policy(place).exists()


def test_helpers_of_the_training_policy_are_merged_into_a_tasks_policy(place: Path, say):
    source = (SHIPPED / "meta_policies" / "delphi" / "policy.py").read_text()
    call = "return self.reach_dungeons_of_doom(state, None, frozenset())"
    source = source.replace('if state.dungeon == "Gnomish Mines":\n            return "ascender"', f'if state.dungeon == "Gnomish Mines":\n            {call}')  # fmt: skip
    assert call in source
    model = say(block(source + TEST.replace("keyfinder", "discoverer")))
    assert main(["codegen", "--task", "delphi", "--attempts", "1"]) == 0
    assert "You may call its methods `self.reach_gnomish_mines`" in model.requests[0].messages[1]["content"]
    written = (place / "content" / "meta_policies" / "delphi" / "policy.py").read_text()
    for name in ("reach_dungeons_of_doom", "alternate", "explore"):  # the last two are needed by the first
        assert written.count(f"def {name}(") == 1
    assert "def reach_gnomish_mines(" not in written
    assert "self.bursts = 0  # spells of exploring" in written
    load_policy(Content.find(place / "content").task("delphi"))


def test_a_training_policy_without_the_helpers_is_refused(
    place: Path, say, capsys: pytest.CaptureFixture[str]
):
    say(block(LAZY.replace("eastwalker", "discoverer") + TEST.replace("keyfinder", "discoverer")))
    assert main(["codegen", "--training", "--attempts", "1"]) == 1
    out = capsys.readouterr().out
    assert "there is no function reach_gnomish_mines" in out and "reach_dungeons_of_doom" in out


# --- over HTTP ---------------------------------------------------------------------------------------------------


@pytest.fixture
def fake() -> ModuleType:
    path = Path(__file__).parent.parent / "llm" / "fake_server.py"
    spec = importlib.util.spec_from_file_location("maestro_tests_fake_server", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_server_is_asked_repairs_and_judges(
    place: Path, fake: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("MAESTRO_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    settings = place / "mine" / "prompts" / "codegen"
    settings.mkdir(parents=True)
    (settings / "settings.toml").write_text('simulated_games = 4\nrecord = "kept"\n')
    bad = block(GOOD.replace("'keyfinder'", "'keys'").replace('"keyfinder"', '"keys"') + TEST)
    replies = [fake.status(500), fake.answer(bad), fake.answer(block(GOOD + TEST)), fake.choose(0)]
    with fake.FakeServer(replies) as server:
        assert main(["codegen", "--task", "locked_door", "--llm", server.spec, "--content", "mine", "--code-seed", "5"]) == 0  # fmt: skip
        asked = [request.body for request in server.requests if request.method == "POST"]
    out = capsys.readouterr().out
    assert "attempt 1 of 5: breaks rules" in out and "'keys' is not a skill" in out
    assert "attempt 2 of 5: good: 4 of 4 simulated games reach the goal" in out and "tokens" in out
    assert [body.get("seed") for body in asked[:3]] == [5, 5, 5]
    folder = place / "mine" / "meta_policies" / "locked_door" / "seed5"
    assert (
        load_policy(Content.find(place / "mine").task("locked_door").with_code_seed(5)).provenance.author
        == "m"
    )
    assert not any("sk-abc" in path.read_text() for path in place.rglob("*") if path.is_file())
    assert '"kind": "judgement"' in (folder / "transcript.jsonl").read_text()

    # what was recorded answers again without the server, but for the judge, which recordings are not asked to be
    command = [
        "codegen",
        "--task",
        "locked_door",
        "--content",
        "mine",
        "--code-seed",
        "5",
        "--llm",
        "replay:kept",
    ]
    assert main(command) == 0
    assert "attempt 2 of 5: good" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ("status:401", "the key in MAESTRO_API_KEY is not accepted"),
        ("status:400", "settings.toml"),
        ("garbage", "not"),
    ],
)
def test_a_server_that_refuses_is_explained_without_the_key(
    place: Path, fake: ModuleType, behaviour: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setenv("MAESTRO_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    answers = {
        "garbage": fake.body(b'{"choices": ['),
        "status:401": fake.status(401),
        "status:400": fake.status(400),
    }
    with fake.FakeServer(answers[behaviour]) as server:
        assert main(["codegen", "--task", "locked_door", "--llm", server.spec]) == 1
    out = capsys.readouterr().out
    assert text in out and "sk-abc" not in out
    assert not policy(place).exists()
    assert not any("sk-abc" in path.read_text() for path in place.rglob("*.jsonl"))


def test_ctrl_c_while_a_server_thinks_ends_at_once(place: Path, fake: ModuleType):
    with fake.FakeServer(fake.stall) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "maestro", "codegen", "--task", "locked_door", "--llm", server.spec],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        begun = time.monotonic()
        while not server.requests and time.monotonic() - begun < 60:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "stopped" in errors and "Traceback" not in errors
    assert not policy(place).exists()
