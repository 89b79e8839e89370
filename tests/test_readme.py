"""The README keeps its word: what it tells a reader to type is typed here.

Fenced blocks say how they are checked: `bash run` and `python run` are run by this test, `bash play` and `bash test`
(minutes, and a machine of their own) by .ci/run.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from maestro import cli

CHECKOUT = Path(__file__).resolve().parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+) (\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
TO_RUN = [(language, text) for language, mark, text in BLOCKS if mark == "run"]


def one(mark):
    (found,) = [text.strip() for language, kind, text in BLOCKS if (language, kind) == ("bash", mark)]
    return found


@pytest.mark.parametrize(("language", "text"), TO_RUN, ids=[text.splitlines()[0][:30] for _, text in TO_RUN])
def test_a_shown_block_runs_as_it_stands(language, text, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", text] if language == "bash" else [sys.executable, "-c", text]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout


def test_there_are_blocks_to_run():
    assert {language for language, _ in TO_RUN} == {"bash", "python"}


@pytest.mark.parametrize("mark", ["play", "test"])
def test_the_two_commands_are_one_line_each_from_bare_python(mark):
    command = one(mark)
    assert "\n" not in command
    assert command.startswith("python3.11 -m venv .venv && .venv/bin/pip install ")


def test_the_two_commands_play_and_test():
    assert one("play").endswith("&& .venv/bin/maestro eval --target minetown")
    assert one("test").endswith("&& .venv/bin/pytest")


def test_every_mentioned_command_exists():
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    inline = re.findall(r"`maestro ([a-z][a-z-]*)", prose)
    in_blocks = re.findall(
        r"(?:^|&& )(?:\S*/)?maestro ([a-z][a-z-]*)", "\n".join(text for *_, text in BLOCKS), re.MULTILINE
    )
    mentioned = inline + in_blocks
    assert {"eval", "doctor"} <= set(mentioned)
    assert set(mentioned) <= set(cli.commands())


def test_ci_runs_the_readmes_own_commands():
    script = (CHECKOUT / ".ci" / "run").read_text()
    for mark in ("play", "test"):
        assert f"readme {mark}" in script
    assert os.access(CHECKOUT / ".ci" / "run", os.X_OK)
    extracted = subprocess.run(
        ["bash", "-c", f"{re.search(r'^readme.*?^}', script, re.M | re.S)[0]}; readme test"],  # type: ignore[index]
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    ).stdout
    assert shlex.split(extracted) == shlex.split(one("test"))


def test_every_local_link_leads_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r'src="([^":]+)"', README)
    assert [link for link in links if not (CHECKOUT / link).exists()] == []
