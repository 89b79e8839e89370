"""What a result depends on beside its settings: the versions of maestro and of the packages it stands on."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path

import maestro

RECORDED_PACKAGES = ("nle", "numpy", "torch", "gymnasium", "pydantic", "sample-factory")


def versions() -> dict[str, str | None]:
    """Collect what a result depends on: packages (None when not installed), Python, platform, git commit."""
    found: dict[str, str | None] = {"maestro": maestro.__version__}
    for package in RECORDED_PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    found["python"] = platform.python_version()
    found["platform"] = platform.platform()
    found["git_commit"] = git_commit()
    return found


def git_commit() -> str | None:
    """Name the commit of the checkout maestro runs from, with "+" when files differ from it; None without one."""
    checkout = Path(__file__).resolve().parent.parent
    if not (checkout / ".git").exists():
        return None
    try:
        commit = _git(checkout, "rev-parse", "HEAD").strip()
        return commit + (
            "+" if _git(checkout, "status", "--porcelain", "--untracked-files=no").strip() else ""
        )
    except (OSError, subprocess.SubprocessError):  # no git here, or a repository without a commit
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout
