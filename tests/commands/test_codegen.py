"""`maestro codegen`: from a prompt to a validated file that plays, and everything that can go wrong on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import maestro.commands.codegen as command
from maestro.cli import main
from maestro.commands._codegen.settings import load_settings
from maestro.commands._codegen.talk import Talk
from maestro.content import Content, shipped_root
from maestro.errors import GeneratedCodeError, WorldError
from maestro.llm import load_chat_model
from maestro.options.load import load_options, load_policy
from maestro.options.provenance import OWN_AUTHOR
from maestro.prompts import Prompts

SHIPPED = shipped_root()
GOOD = (SHIPPED / "meta_policies" / "locked_door" / "policy.py").read_text()
TEST = "\n\ndef test_it():\n    print(Policy().select_skill(State(), None, frozenset({'keyfinder'})))\n"
LAZY = "class Policy:\n    def select_skill(self, state, finished, startable):\n        return 'eastwalker'\n"


def block(source: str) -> str:
    return f"I think first.\n\n```python\n{source.strip()}\n```\n"


def policy(root: Path) -> Path:
    return root / "content" / "meta_policies" / "locked_door" / "policy.py"


# --- offline, with the recorded replies -----------------------------------------------------------------------


def test_a_task_is_written_offline_in_an_empty_folder_and_plays(
    place: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["codegen", "--task", "locked_door"]) == 0
    out = capsys.readouterr().out
    assert "attempt 1 of 5: runs, but does not behave" in out
    assert "the key was not found" in out
    assert "attempt 2 of 5: good: 16 of 16 simulated games reach the goal" in out
    assert "Next: maestro eval --target locked_door --content content" in out
    assert policy(place).read_text() == GOOD

    content = Content.find(place / "content")
    provenance = load_policy(content.task("locked_door")).provenance
    assert provenance.author == OWN_AUTHOR
    assert provenance.origin["policy.py"].attempts == 2
    kinds = [json.loads(line)["kind"] for line in policy(place).with_name("transcript.jsonl").open()]
    assert kinds.count("reply") == kinds.count("attempt") == 2
    assert not (place / "content" / "transcripts").exists()
    assert main(["eval", "--target", "locked_door", "--content", "content", "--episodes", "3", "--workers", "0", "--json"]) == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)["success"]["true"]["mean"] == 1.0


@pytest.mark.parametrize("skill", ["keyfinder", "opener", "merchant"])
def test_a_skills_two_functions_are_written_together(place: Path, skill: str):
    assert main(["codegen", "--skill", skill]) == 0
    content = Content.find(place / "content")
    written = content.skill(skill)
    assert written.folder == place / "content" / "skills" / skill
    for name in ("initiation.py", "termination.py", "success.toml"):
        assert (written.folder / name).read_bytes() == (SHIPPED / "skills" / skill / name).read_bytes()
    load_options(content.skills(written.spec.world))
    assert content.skill(skill).spec == Content((SHIPPED,)).skill(skill).spec


@pytest.mark.parametrize("task", ["goldenexit", "delphi"])
def test_the_loop_of_repair_is_seen_offline(place: Path, task: str, capsys: pytest.CaptureFixture[str]):
    assert main(["codegen", "--task", task, "--json"]) == 0
    (module,) = json.loads(capsys.readouterr().out)["modules"]
    stages = {"goldenexit": ["validate", "check", "done"], "delphi": ["sandbox", "done"]}[task]
    assert [attempt["stage"] for attempt in module["attempts"]] == stages
    assert module["author"] == OWN_AUTHOR


def test_the_same_replies_give_the_same_bytes(place: Path):
    for root in ("one", "two"):
        assert main(["codegen", "--task", "locked_door", "--content", root]) == 0
    files = {path.relative_to("one") for path in Path("one").rglob("*") if path.is_file()}
    assert {path.name for path in files} == {"policy.py", "provenance.toml", "task.toml", "transcript.jsonl"}
    assert all(Path("one", file).read_bytes() == Path("two", file).read_bytes() for file in files)


@pytest.mark.slow
def test_everything_that_ships_is_written_again_byte_for_byte(
    place: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["codegen", "--all", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["written"]) == len(answer["modules"]) == 28
    for file in answer["written"]:
        assert Path(file).read_bytes() == (SHIPPED / Path(file).relative_to("content")).read_bytes()
    shipped = [*SHIPPED.glob("skills/*/*.py"), *SHIPPED.glob("meta_policies/*/policy.py")]
    written = {Path(file).relative_to("content") for file in answer["written"]}
    by_hand = {path.relative_to(SHIPPED) for path in shipped} - written
    curricula = ("deep_training", "trade_training")  # that nobody is asked for
    assert by_hand == {Path("meta_policies", name, "policy.py") for name in curricula}


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(Content((SHIPPED,)).tasks()))
def test_every_task_plays_real_games_with_what_was_written(
    place: Path, task: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["codegen", "--task", task, "--check-games", "2", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["modules"][0]["real_success"] >= 0
    assert "real games: success" in captured.err


def test_code_seeds_stand_side_by_side(place: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["codegen", "--task", "locked_door", "--code-seed", "42"]) == 0
    assert "--code-seed 42" in capsys.readouterr().out
    inner = policy(place).parent / "seed42" / "policy.py"
    assert inner.read_text() == GOOD
    task = Content.find(place / "content").task("locked_door")
    assert task.code_seeds == (42,)
    assert load_policy(task.with_code_seed(42)).provenance.origin["policy.py"].code_seed == 42
    load_policy(task)  # the one without a seed came along, for this folder is searched first
    eval_it = ["eval", "--target", "locked_door", "--content", "content", "--episodes", "2", "--workers", "0"]
    assert main([*eval_it, "--code-seed", "42"]) == 0
    assert main([*eval_it, "--code-seed", "41"]) == 1
    assert "no policy of code seed 41. Expected: one of 42" in capsys.readouterr().err
    assert main([*eval_it, "--code-seed", "all", "--run", "both"]) == 0
    told = [
        line.split()[:4] for line in capsys.readouterr().out.splitlines() if line.startswith("locked_door")
    ]
    assert [" ".join(words) for words in told] == [
        "locked_door own 2 100.0",
        "locked_door 42 2 100.0",
        "locked_door all 2 4",
    ]
    assert sorted(path.name for path in Path("both").iterdir()) == ["locked_door", "report.html"]
    assert main([*eval_it, "--code-seed", "own,42", "--run", "both", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["code_seeds"]["locked_door"]["episodes"] == 4
    assert list(answer["tasks"]["locked_door"]) == ["own", "42"]
    assert answer["success"]["locked_door"]["true"]["mean"] == pytest.approx(1.0)
    assert main([*eval_it, "--code-seed", "own;42"]) == 1
    assert 'Expected: numbers, "own"' in capsys.readouterr().err


def test_a_dry_run_prints_the_prompt_and_writes_nothing(place: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["codegen", "--task", "goldenexit", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("=== goldenexit: system ===")
    assert "25 kills" in out and "| num_kills | int |" in out and "`self.reach_gnomish_mines`" in out
    assert main(["codegen", "--skill", "merchant", "--dry-run", "--json"]) == 0
    prompts = json.loads(capsys.readouterr().out)
    assert list(prompts) == ["merchant/initiation", "merchant/termination"]
    assert not list(place.iterdir())


def test_a_changed_prompt_is_not_answered_by_an_old_reply(place: Path, capsys: pytest.CaptureFixture[str]):
    mine = place / "content" / "meta_policies" / "locked_door"
    mine.mkdir(parents=True)
    spec = (SHIPPED / "meta_policies" / "locked_door" / "task.toml").read_text()
    (mine / "task.toml").write_text(spec.replace("Fetch the key", "Fetch the golden key"))
    assert main(["codegen", "--task", "locked_door"]) == 1
    out = capsys.readouterr().out
    assert "no reply is recorded to this question" in out and "golden key" in out
    assert "transcripts/locked_door.failed.jsonl" in out
    assert sorted(path.name for path in mine.iterdir()) == ["task.toml"]


def test_a_piece_that_cannot_be_tried_does_not_keep_the_others_from_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def broken(content: Content):
        raise WorldError("the world has no scenarios")

    units = [broken, lambda content: command.skill_jobs(content, "opener")]
    monkeypatch.setattr(command, "_units", lambda config, content: units)
    assert main(["codegen", "--all"]) == 1
    out = capsys.readouterr().out
    assert "FAILED: the world has no scenarios" in out
    assert "2 of 2 modules are good. 1 could not be tried." in out
    assert (place / "content" / "skills" / "opener" / "termination.py").is_file()


def test_every_module_that_ships_has_a_recorded_reply_by_the_projects_own_hand():
    content = Content((SHIPPED,))
    prompts, settings = Prompts(content.prompt_folders()), load_settings(content)
    units = command._units(command.Config(all=True), content)
    with load_chat_model(f"replay:{SHIPPED / 'prompts' / 'replies'}") as model:
        for job in [job for unit in units for job in unit(content)]:
            talk = Talk(model, job, prompts, settings, attempts=5)
            # fails after a change of prompts or State; docs/guides/codegen.md says how replies are renewed
            assert "```python" in talk.complete(job.messages(prompts)).text
            assert talk.authors == [OWN_AUTHOR]


# --- wrong inputs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "0 things were named to be written"),
        (["--task", "buc", "--all"], "2 things were named"),
        (["--task", "goldenexi"], "did you mean 'goldenexit'"),
        (["--skill", "merchan"], "did you mean 'merchant'"),
        (["--task", "buc", "--attempts", "0"], "--attempts: the value is 0. Expected: at least 1"),
        (["--task", "buc", "--check-games", "-1"], "--check-games"),
        (["--task", "buc", "--code-seed", "-1"], "--code-seed"),
        (["--skill", "merchant", "--check-games", "2"], "real games measure the policy of a task"),
        (["--task", "buc", "--llm", "repay"], "did you mean 'replay'"),
        (["--task", "buc", "--llm", "replay:nowhere"], "does not exist"),
        (["--task", "buc", "--llm", "openai:model"], "openai"),
    ],
)
def test_wrong_inputs_are_answered_with_what_was_meant(
    place: Path, arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["codegen", *arguments]) == 1
    assert text in capsys.readouterr().err
    assert not list(place.iterdir())


def test_a_dead_server_is_said_in_one_line(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.setenv("MAESTRO_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    settings = place / "mine" / "prompts" / "codegen"
    settings.mkdir(parents=True)
    import maestro.llm.backends as backends

    real = backends.load_chat_model
    monkeypatch.setattr(
        command, "load_chat_model", lambda spec, record=None: real(spec, max_retries=0, timeout_s=2.0)
    )
    assert main(["codegen", "--task", "locked_door", "--llm", "openai:m@http://127.0.0.1:9/v1"]) == 1
    out = capsys.readouterr().out
    assert "the connection failed" in out and "sk-abc" not in out
    assert not any("sk-abc" in path.read_text() for path in place.rglob("*.jsonl"))


def test_what_ships_in_a_package_is_not_overwritten(place: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    import maestro.commands._codegen.write as write

    packaged = place / "site-packages" / "maestro" / "_content"
    packaged.mkdir(parents=True)
    monkeypatch.setattr(write, "shipped_root", lambda: packaged)
    assert main(["codegen", "--task", "locked_door", "--content", str(packaged)]) == 1
    assert "what ships with maestro is not overwritten" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said(place: Path, capsys: pytest.CaptureFixture[str]):
    (place / "content").write_text("a file")
    assert main(["codegen", "--task", "locked_door"]) == 1
    assert "name another folder with --content" in capsys.readouterr().err


def test_the_first_folder_of_the_environment_is_written(place: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    mine = place / "mine"
    (mine / "meta_policies").mkdir(parents=True)
    monkeypatch.setenv("MAESTRO_CONTENT", str(mine))
    assert main(["codegen", "--task", "locked_door"]) == 0
    assert (mine / "meta_policies" / "locked_door" / "policy.py").read_text() == GOOD
    assert "eval --target locked_door\n" in capsys.readouterr().out


def test_a_task_of_ones_own_is_written_beside_its_description(place: Path, say):
    folder = place / "mine" / "meta_policies" / "rattle"
    folder.mkdir(parents=True)
    spec = (
        (SHIPPED / "meta_policies" / "locked_door" / "task.toml").read_text().replace("locked_door", "rattle")
    )
    (folder / "task.toml").write_text(spec)
    say(block(GOOD + TEST))
    assert main(["codegen", "--task", "rattle", "--content", "mine"]) == 0
    assert (folder / "task.toml").read_text() == spec
    load_policy(Content.find(place / "mine").task("rattle"))


# --- killed in the middle ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_kill_in_the_middle_keeps_the_old_file(place: Path, how: signal.Signals):
    assert main(["codegen", "--task", "goldenexit"]) == 0
    folder = place / "content" / "meta_policies" / "goldenexit"
    before = {path: path.read_bytes() for path in folder.iterdir()}
    process = subprocess.Popen(
        [sys.executable, "-m", "maestro", "codegen", "--task", "goldenexit"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if "attempt 1" in line:
            break
    time.sleep(0.2)
    os.kill(process.pid, how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -9)
    assert "Traceback" not in errors
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    load_policy(Content.find(place / "content").task("goldenexit"))


def test_files_that_do_not_belong_together_are_refused_by_name(place: Path):
    """A machine that stops between the two steps of a replacement leaves a new module with the old provenance."""
    assert main(["codegen", "--task", "locked_door"]) == 0
    policy(place).write_text(GOOD + "\n")
    with pytest.raises(GeneratedCodeError, match=r"maestro sign .*locked_door"):
        load_policy(Content.find(place / "content").task("locked_door"))
