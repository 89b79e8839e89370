"""`maestro doctor` on sound and on broken installations."""

import json
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from maestro import cli
from maestro.commands import doctor

look_at_torch = doctor._torch


@pytest.fixture(autouse=True)
def _light(monkeypatch, tmp_path):
    """Spare every test the seconds that importing torch takes; the last test does import it."""
    monkeypatch.setattr(doctor, "_torch", lambda: iter([doctor.Check("gpu", "note", "none")]))
    monkeypatch.setenv("MAESTRO_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("MAESTRO_CONTENT", raising=False)


def diagnose(capsys, *arguments):
    code = cli.main(["doctor", "--json", *arguments])
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] == (code == 0)
    return {check["name"]: check for check in answer["checks"]}


def test_a_sound_installation(capsys, tmp_path):
    checks = diagnose(capsys)
    assert {check["status"] for check in checks.values()} <= {"ok", "note"}
    assert {
        "python",
        "torch",
        "numpy",
        "world corridor",
        "world nethack",
        "content",
        "run folder",
    } <= checks.keys()
    assert checks["numpy"]["found"] == metadata.version("numpy")
    assert not (tmp_path / "runs").exists()


def test_another_version_of_a_package(capsys, monkeypatch):
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "2.0.0" if name == "sample-factory" else real(name))
    checks = diagnose(capsys)
    assert checks["sample-factory"]["status"] == "fail"
    assert checks["sample-factory"]["found"] == "2.0.0; expected ==2.1.1"
    assert checks["sample-factory"]["hint"] == "pip install 'sample-factory==2.1.1'"


def test_another_version_of_nle(capsys, monkeypatch):
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.9.0" if name == "nle" else real(name))
    checks = diagnose(capsys)
    assert checks["nle"]["status"] == "fail"
    assert checks["world nethack"]["status"] == "fail"
    assert "0.9.0" in checks["world nethack"]["found"]
    assert checks["world corridor"]["status"] == "ok"


def test_a_missing_package(capsys, monkeypatch):
    real = metadata.version

    def version(name):
        if name == "libcst":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    checks = diagnose(capsys)
    assert checks["libcst"]["found"].startswith("missing; expected >=")


def test_nle_cannot_be_imported():
    program = (
        "import sys; sys.modules['nle'] = None; from maestro.commands import doctor;"
        "print(*[(check.status, check.hint) for check in doctor._worlds() if check.name == 'world nethack'])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "('fail', 'pip install" in result.stdout, result.stderr


def test_broken_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    check = next(look_at_torch())
    assert (check.status, check.name) == ("fail", "torch")


def test_a_run_folder_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    checks = diagnose(capsys, "--run", str(tmp_path / "file" / "runs"))
    assert checks["run folder"]["status"] == "fail"
    assert "--run DIR" in checks["run folder"]["hint"]


def test_broken_content(capsys, tmp_path):
    (tmp_path / "skills" / "Bad Name").mkdir(parents=True)
    checks = diagnose(capsys, "--content", str(tmp_path))
    assert checks["content"]["status"] == "fail"
    assert "Bad Name" in checks["content"]["found"]


def test_lines_fit_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= 60
    assert out.endswith("All is well.\n")


def test_a_gpu_is_named(monkeypatch):
    cuda = SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 1, get_device_name=lambda index: "H200"
    )
    torch = SimpleNamespace(cuda=cuda, version=SimpleNamespace(cuda="12.8"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert [check.found for check in look_at_torch()] == ["H200 (CUDA 12.8)"]


def test_the_real_torch_answers():
    result = subprocess.run(
        [sys.executable, "-m", "maestro", "doctor", "--json"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout
    assert "gpu" in [check["name"] for check in json.loads(result.stdout)["checks"]]


def test_only_the_language_model_is_looked_at(capsys, tmp_path):
    (tmp_path / "1.md").write_text("---\nauthor: us\n---\n<!-- user -->\nhi\n<!-- reply -->\nho\n")
    checks = diagnose(capsys, "--llm", f"replay:{tmp_path}")
    assert {name: check["status"] for name, check in checks.items()} == {"llm": "ok", "replies": "ok"}


def test_a_broken_language_model_is_a_finding(capsys):
    checks = diagnose(capsys, "--llm", "opneai:m@http://localhost:1/v1")
    assert checks["llm"]["status"] == "fail"
    assert "did you mean 'openai'" in checks["llm"]["found"]


def test_layers_that_confine_generated_code_are_listed(capsys: pytest.CaptureFixture[str]):
    checks = diagnose(capsys)
    layers = {name.removeprefix("sandbox ") for name in checks if name.startswith("sandbox ")}
    assert {"limits", "privileges", "landlock", "network", "seccomp", "bubblewrap"} <= layers
    assert checks["sandbox limits"]["status"] == "ok"
