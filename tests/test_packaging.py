"""What ships: wheel, sdist and checkout hold the same content, and work from any folder."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from maestro.content import FOLDERS

CHECKOUT = Path(__file__).resolve().parent.parent


def python(*arguments, **options):
    result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def files_of_ours(*folders):
    """List the files a package has to hold, as paths below the checkout."""
    found = set()
    for folder in folders:
        for path in (CHECKOUT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found.add(path.relative_to(CHECKOUT).as_posix())
    return found


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    python("-m", "build", "--sdist", "--no-isolation", "--outdir", folder, CHECKOUT)
    return next(folder.glob("maestro_skills-*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT)
    return next(folder.glob("maestro_skills-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the wheel in a folder of its own, which Python then finds before the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    python("-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel)
    return folder


def test_the_wheel_holds_both_packages_and_the_content_inside_maestro(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = files_of_ours("maestro", "codegen") | {
        f"maestro/_content/{name}" for name in files_of_ours(*FOLDERS)
    }
    assert names == expected
    assert {"maestro/py.typed", "codegen/py.typed"} <= names


def test_the_sdist_makes_the_same_wheel(sdist, wheel, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = next(tmp_path.glob("maestro_skills-*"))
    assert (source / "tests" / "test_packaging.py").is_file()
    assert (source / "LICENSE").is_file()
    python("-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", source)
    again = next((tmp_path / "dist").glob("*.whl"))
    assert {i.filename: i.CRC for i in zipfile.ZipFile(again).infolist()} == {
        i.filename: i.CRC for i in zipfile.ZipFile(wheel).infolist()
    }


def test_metadata_names_licence_and_command(installed):
    folder = next(installed.glob("maestro_skills-*.dist-info"))
    metadata = (folder / "METADATA").read_text()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: <3.13,>=3.10" in metadata
    assert (folder / "licenses" / "LICENSE").is_file()
    assert "maestro = maestro.cli:main" in (folder / "entry_points.txt").read_text()


def test_an_installed_wheel_plays_from_any_folder(installed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    environment.pop("MAESTRO_CONTENT", None)
    program = "import maestro, maestro.content as c; print(maestro.__file__, c.shipped_root(), sep='\\n')"
    where = python("-c", program, cwd=tmp_path, env=environment).splitlines()
    assert where == [str(installed / "maestro" / "__init__.py"), str(installed / "maestro" / "_content")]
    out = python(
        "-m",
        "maestro",
        "eval",
        "--target",
        "locked_door",
        "--episodes",
        "3",
        "--json",
        cwd=tmp_path,
        env=environment,
    )
    assert '"episodes": 3' in out
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_checkout_finds_its_own_content():
    program = "import maestro.content as c; print(c.shipped_root())"
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    assert python("-c", program, cwd="/", env=environment).strip() == str(CHECKOUT)


def test_the_import_contracts_hold():
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter], cwd=CHECKOUT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_no_file_and_no_function_is_too_long():
    import ast

    for path in [*CHECKOUT.glob("maestro/**/*.py"), *CHECKOUT.glob("codegen/**/*.py")]:
        source = path.read_text()
        assert source.count("\n") <= 400, path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, f"{path}:{node.lineno} {node.name}"
