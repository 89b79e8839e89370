"""Policies on the Hugging Face hub: one repository a policy, with its files and a model card made from its card.

The client goes to huggingface.co, or where HF_ENDPOINT says, with the token of HF_TOKEN or of `hf auth login`.
Nothing that is pulled is executed: weights are safetensors, the card is JSON, and both are checked before they count.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import huggingface_hub
import requests
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from maestro.errors import HubError, PolicyFileError
from maestro.learner.model_card import model_card
from maestro.learner.policy_file import CARD, PolicyCard, load_card, load_policy, weights_name

README = "README.md"
_TOKEN = (
    "make a token at https://huggingface.co/settings/tokens and export it as HF_TOKEN, or run `hf auth login`"
)
_NO_CONTENT = {README, ".gitattributes"}
"""Files of a repository that was only just made."""


class Pushed(NamedTuple):
    """What came of pushing."""

    url: str
    commit: str
    """Revision that holds exactly this policy."""


def push_policy(folder: Path, repo: str, *, private: bool = False, message: str | None = None) -> Pushed:
    """Put a policy into a repository of the hub, which is made if there is none; one commit, all or nothing.

    Raises PolicyFileError for a damaged policy, HubError where there is no token, no network, no right to write, or
    something else in the repository.
    """
    card = load_policy(folder).card
    token = huggingface_hub.get_token()
    if not token:
        raise HubError("there is no token to write with", where=f"the hub, {repo}", hint=_TOKEN)
    api = HfApi(token=token)
    with _explained(repo, api.endpoint):
        url = str(api.create_repo(repo, private=private, exist_ok=True))
        there = api.list_repo_files(repo)
        _check_is_ours(repo, there)
        name = weights_name(card)
        adds = [
            CommitOperationAdd(README, model_card(card, repo).encode()),
            CommitOperationAdd(name, str(folder / name)),
            CommitOperationAdd(CARD, str(folder / CARD)),
        ]
        old = [path for path in there if path.startswith("policy-") and path != name]
        commit = api.create_commit(
            repo,
            [*adds, *(CommitOperationDelete(path) for path in old)],
            commit_message=message or f"Policy for {card.world}, {card.steps:,} steps",
        )
    return Pushed(url, commit.oid)


def pull_policy(repo: str, folder: Path, *, revision: str | None = None) -> PolicyCard:
    """Fetch a policy from the hub into `folder`; what was there before stays whole until the new one is.

    Raises HubError where it cannot be fetched or is no policy, PolicyFileError where it is damaged or of a later maestro.
    """
    api = HfApi(token=huggingface_hub.get_token())
    with tempfile.TemporaryDirectory(prefix="maestro-pull-") as scratch:
        inner = Path(scratch)
        with _explained(repo, api.endpoint, revision):
            # The revision's commit, so that card and weights are of the same one, whatever is pushed meanwhile.
            commit = api.model_info(repo, revision=revision).sha
            api.hf_hub_download(repo, CARD, revision=commit, local_dir=inner)
            card = load_card(inner)
            api.hf_hub_download(repo, weights_name(card), revision=commit, local_dir=inner)
        load_policy(inner)
        _move(inner, folder, weights_name(card))
    return card


def _move(source: Path, folder: Path, name: str) -> None:
    """Take over weights, then card, then remove weights that no card names any more."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in (name, CARD):
            temporary = folder / f".{file}.tmp"
            shutil.copyfile(source / file, temporary)
            temporary.replace(folder / file)
        for path in folder.glob("policy-*.safetensors"):
            if path.name != name:
                path.unlink()
    except OSError as error:
        raise PolicyFileError(
            f"the policy cannot be written: {error}",
            where=str(folder),
            hint="free space, fix the permissions, or give another --out",
        ) from error


def _check_is_ours(repo: str, there: list[str]) -> None:
    """Refuse to write over a repository of something else; raises HubError."""
    if CARD in there or set(there) <= _NO_CONTENT:
        return
    others = sorted(set(there) - _NO_CONTENT)
    raise HubError(
        f"the repository holds something else: {', '.join(others[:3])}" + (", ..." if others[3:] else ""),
        where=f"the hub, {repo}",
        expected="an empty repository, or one with a policy of maestro",
        hint="give another name",
    )


@contextlib.contextmanager
def _explained(repo: str, endpoint: str, revision: str | None = None) -> Iterator[None]:
    """Turn the client's exceptions into what the user can do about them."""
    where = f"the hub, {repo}"
    try:
        yield
    except HFValidationError as error:
        raise HubError(
            f"{repo!r} is no name of a repository: {str(error).splitlines()[0]}",
            where="hub",
            expected="<user or organisation>/<name>",
        ) from None
    except RevisionNotFoundError:
        raise HubError(f"it has no revision {revision!r}", where=where, hint="leave --revision out") from None
    except RepositoryNotFoundError:
        raise HubError(
            "there is no such repository, or your token may not see it",
            where=where,
            expected="<user or organisation>/<name> of a policy pushed by maestro hub push",
            hint=f"check the name; for a private one {_TOKEN}",
        ) from None
    except (
        OfflineModeIsEnabled,
        requests.ConnectionError,
        requests.Timeout,
        LocalEntryNotFoundError,
    ) as error:
        offline = isinstance(error, OfflineModeIsEnabled)
        raise HubError(
            "the client was told to stay offline" if offline else f"no connection to {endpoint}",
            where=where,
            hint="unset HF_HUB_OFFLINE" if offline else "check the network, a proxy, and HF_ENDPOINT",
        ) from error
    except EntryNotFoundError:
        raise HubError(
            f"the repository is not a maestro policy: it lacks {CARD} or the weights it names",
            where=where,
            hint="maestro hub push makes such repositories",
        ) from None
    except HfHubHTTPError as error:
        raise _refused(error, where) from error


def _refused(error: HfHubHTTPError, where: str) -> HubError:
    """Explain an answer of the server that is neither success nor "not found"."""
    status = error.response.status_code if error.response is not None else None
    if status in (401, 403):
        what = "the token is not accepted" if status == 401 else "the token gives no right to write there"
        return HubError(f"{what} (HTTP {status})", where=where, hint=f"give it the right, or {_TOKEN}")
    said = error.server_message or str(error).splitlines()[0]
    return HubError(f"the server answered HTTP {status}: {said[:200]}", where=where, hint="try again later")
