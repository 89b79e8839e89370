"""The command line: help at once, exit codes, and calm answers to what goes wrong."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import maestro
from maestro import cli

MAESTRO = [sys.executable, "-m", "maestro"]
COMMAND = '''
"""Do what a test asks.

    maestro probe --how fine
"""
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    """C."""
    how: str = "fine"
    """How to end."""
    json: bool = False
    """Print JSON."""

def run(config):
    from maestro.errors import SpecError
    import time
    if config.how == "fault":
        raise SpecError("the value is 3", where="a.toml: name", hint="write text")
    if config.how == "bug":
        raise ZeroDivisionError("a bug")
    if config.how == "import":
        import package_that_is_not_there
    if config.how == "wait":
        print("ready", flush=True)
        time.sleep(60)
    if config.how == "talk":
        for number in range(100_000):
            print(number)
    print("done")
    return 0
'''


def run(*arguments, **options):
    return subprocess.run([*MAESTRO, *arguments], capture_output=True, text=True, timeout=60, **options)


@pytest.fixture
def probe(tmp_path, monkeypatch):
    """A command folder with one command and one group, put in the place of the real one."""
    (tmp_path / "probe.py").write_text(COMMAND.lstrip())
    (tmp_path / "_hidden.py").write_text("")
    (tmp_path / "bench_all").mkdir()
    (tmp_path / "bench_all" / "__init__.py").write_text('"""Measure things."""')
    (tmp_path / "bench_all" / "env.py").write_text(COMMAND.lstrip())
    (tmp_path / "notes.txt").write_text("")
    monkeypatch.setattr(cli, "COMMANDS_FOLDER", tmp_path)
    import maestro.commands

    monkeypatch.setattr(maestro.commands, "__path__", [str(tmp_path)])
    yield
    for name in [
        name
        for name in sys.modules
        if name.startswith(("maestro.commands.probe", "maestro.commands.bench_all"))
    ]:
        del sys.modules[name]


def probe_process(tmp_path, how, **options):
    """Start `maestro probe` as a process of its own."""
    (tmp_path / "probe.py").write_text(COMMAND.lstrip())
    program = (
        "import sys, pathlib, maestro.commands; from maestro import cli;"
        f"cli.COMMANDS_FOLDER = pathlib.Path({str(tmp_path)!r}); maestro.commands.__path__ = [{str(tmp_path)!r}];"
        f"sys.exit(cli.main(['probe', '--how', {how!r}]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def test_help_lists_every_command_in_its_own_words():
    result = run("--help")
    assert result.returncode == 0
    for name, path in cli.commands().items():
        assert f"  {name} " in result.stdout
        file = path if path.is_file() else path / "__init__.py"
        summary = (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0]
        assert summary.split()[0] in result.stdout
    assert {"list", "doctor"} <= cli.commands().keys()


def test_help_appears_at_once():
    times = []
    for _ in range(5):
        start = time.perf_counter()
        run("--help")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from maestro.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not {"torch", "nle", "numpy", "matplotlib", "pydantic", "tyro", "rich"} & set(
        result.stderr.split()
    )


@pytest.mark.parametrize("name", cli.commands())
def test_every_command_explains_itself_with_an_example(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    result = run(name, "--help")
    assert result.returncode == 0, result.stderr
    assert f"maestro {name}" in result.stdout
    path = cli.commands()[name]
    file = path if path.is_file() else path / "__init__.py"
    examples = [
        line
        for line in (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()
        if line.startswith("    maestro ")
    ]
    if path.is_file():
        assert examples
        assert all(line in result.stdout for line in examples)


def test_version():
    assert run("--version").stdout == f"maestro {maestro.__version__}\n"


def test_no_command_shows_the_help_and_fails():
    result = run()
    assert result.returncode == 2
    assert result.stdout == ""
    assert "usage: maestro" in result.stderr


def test_an_unknown_command_is_answered_with_a_suggestion():
    result = run("docter")
    assert result.returncode == 2
    assert "unknown command 'docter'" in result.stderr
    assert "did you mean 'doctor'?" in result.stderr
    assert "unknown option '--docter'" in run("--docter").stderr


def test_flags_that_do_not_exist_are_refused(probe, capsys):
    assert cli.main(["probe", "--hwo", "fine"]) == 2
    assert "--hwo" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("--config a=1 --config b=2", "--config a=1 b=2"),
        ("--config a=1 b=2 --json --config=c=3 --seed 4", "--config a=1 b=2 c=3 --json --seed 4"),
        ("--seed 4", "--seed 4"),
        ("--json --config f.toml", "--json --config f.toml"),
    ],
)
def test_settings_may_be_given_in_several_places(typed, read):
    assert cli._gathered(typed.split(), "--config") == read.split()


def test_files_are_commands_and_folders_groups(probe, capsys):
    assert list(cli.commands(cli.COMMANDS_FOLDER)) == ["bench-all", "probe"]
    assert cli.main(["probe"]) == 0
    assert cli.main(["bench-all", "env"]) == 0
    assert cli.main(["bench_all", "env", "--how", "fine"]) == 0
    assert capsys.readouterr().out == "done\n" * 3
    assert cli.main(["bench-all"]) == 2
    assert "usage: maestro bench-all" in capsys.readouterr().err
    assert cli.main(["bench-all", "evn"]) == 2
    assert "did you mean 'env'?" in capsys.readouterr().err
    assert cli.main(["bench-all", "env", "--help"]) == 0
    assert "usage: maestro bench-all env" in capsys.readouterr().out


def test_a_fault_is_one_line_without_a_traceback(probe, capsys):
    assert cli.main(["probe", "--how", "fault"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "maestro: a.toml: name: the value is 3. Next: write text.\n"
    assert captured.out == ""


def test_a_fault_is_json_where_json_was_asked_for(probe, capsys):
    assert cli.main(["probe", "--how", "fault", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["error"]["error"] == "SpecError"
    assert answer["error"]["hint"] == "write text"


def test_a_bug_keeps_its_traceback(probe):
    with pytest.raises(ZeroDivisionError):
        cli.main(["probe", "--how", "bug"])


def test_a_missing_package_is_named(probe, capsys):
    assert cli.main(["probe", "--how", "import"]) == 1
    assert "'package_that_is_not_there' is not installed" in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_are_answered_calmly(tmp_path, how):
    process = probe_process(tmp_path, "wait")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(how)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "\nmaestro: stopped. Whatever was recorded is kept.\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    process = probe_process(tmp_path, "talk")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=30) == 141


def test_a_full_disk_behind_stdout_is_told(tmp_path):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "maestro", "list", "skills"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr == (
        "maestro: the output cannot be written: the disk is full. Whatever was recorded is kept.\n"
    )


def test_a_poor_terminal_shows_what_it_can(tmp_path):
    (tmp_path / "skills" / "a").mkdir(parents=True)
    (tmp_path / "skills" / "a" / "skill.toml").write_text(
        'name = "a"\ndescription = "Größe ≥ 1"\npreference = "p"\n', encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = run("list", "skills", "--content", str(tmp_path), env=environment)
    assert result.returncode == 0, result.stderr
    assert "Gr??e ? 1" in result.stdout


def test_it_runs_from_any_folder(tmp_path):
    result = run("list", "tasks", "--json", cwd=tmp_path)
    assert {task["name"] for task in json.loads(result.stdout)} >= {"minetown", "locked_door"}
    assert not list(tmp_path.iterdir())


def test_the_script_is_the_same_program():
    script = Path(sys.executable).with_name("maestro")
    assert (
        subprocess.run([script, "--version"], capture_output=True, text=True).stdout
        == run("--version").stdout
    )


def test_an_interrupt_that_was_answered_does_not_end_the_process_by_a_signal(tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(
        "import maestro.cli\n"
        "def main():\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt:\n"
        "        return 130\n"
        "maestro.cli.main = main\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "maestro"], env=environment, timeout=60, check=False)
    assert done.returncode == 130
