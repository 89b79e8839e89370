"""Pushing and pulling policies: the real client against a hub on this machine that speaks as much as the client asks."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import huggingface_hub.file_download
import pytest
import torch

from maestro.content import Content, shipped_root
from maestro.envs import make_features, make_world
from maestro.errors import HubError, PolicyFileError
from maestro.learner.hub import pull_policy, push_policy
from maestro.learner.network import ArraySpec, NetworkConfig, PolicyNetwork
from maestro.learner.policy_file import describe, load_policy, policy_sha256, save_policy

TINY = NetworkConfig(core_size=8, hidden=8, head=0, vector_layers=(8,), precision="float32")
REPO = "ada/skills"
TOKEN = "hf_good"


class FakeHub(ThreadingHTTPServer):
    """Repositories as lists of commits, each a table from path to bytes; large files come by another way, as on the hub."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repos: dict[str, list[dict[str, bytes]]] = {}
        self.blobs: dict[str, bytes] = {}
        self.messages: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def fill(self, repo: str, **files: str) -> None:
        self.repos.setdefault(repo, []).append(
            {name.replace("_", "."): text.encode() for name, text in files.items()}
        )


def sha_of(number: int) -> str:
    return hashlib.sha1(str(number).encode()).hexdigest()


class Handler(BaseHTTPRequestHandler):
    server: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, status: int, content: Any = None, code: str | None = None, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content or {}).encode()
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def may_write(self) -> bool:
        said = self.headers.get("Authorization")
        if said == f"Bearer {TOKEN}":
            return True
        self.answer(401 if said != "Bearer hf_reader" else 403, {"error": "you may not"})
        return False

    def do_POST(self) -> None:
        path, body = self.path.split("?")[0], self.body()
        if path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
            return
        if not self.may_write():
            return
        if path == "/api/repos/create":
            asked = json.loads(body)
            repo = f"{asked['organization']}/{asked['name']}"
            known = repo in self.server.repos
            self.server.repos.setdefault(repo, [{".gitattributes": b"*.safetensors filter=lfs\n"}])
            self.answer(409 if known else 200, {"url": f"{self.server.url}/{repo}", "error": "it is there"})
        elif "/preupload/" in path:
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                    "oid": None,
                }
                for file in json.loads(body)["files"]
            ]
            self.answer(200, {"files": files})
        elif path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**one, "actions": {"upload": {"href": f"{self.server.url}/blobs/{one['oid']}"}}}
                for one in json.loads(body)["objects"]
            ]
            self.answer(200, {"transfer": "basic", "objects": objects})
        elif "/commit/" in path:
            self.commit("/".join(path.split("/")[3:5]), body)

    def commit(self, repo: str, body: bytes) -> None:
        commits = self.server.repos[repo]
        files = dict(commits[-1])
        for line in body.splitlines():
            one = json.loads(line)
            value = one["value"]
            if one["key"] == "header":
                self.server.messages.append(value["summary"])
            elif one["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif one["key"] == "lfsFile":
                files[value["path"]] = self.server.blobs[value["oid"]]
            elif one["key"] == "deletedFile":
                del files[value["path"]]
        commits.append(files)
        oid = sha_of(len(commits) - 1)
        self.answer(
            200, {"commitUrl": f"{self.server.url}/{repo}/commit/{oid}", "commitOid": oid, "success": True}
        )

    def do_PUT(self) -> None:
        data = self.body()
        oid = self.path.rpartition("/")[2]
        assert hashlib.sha256(data).hexdigest() == oid
        self.server.blobs[oid] = data
        self.answer(200)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = self.path.split("?")[0].strip("/").split("/")
        is_api = parts[0] == "api"
        repo = "/".join(parts[2:4] if is_api else parts[:2])
        rest = parts[4:] if is_api else parts[2:]
        commits = self.server.repos.get(repo)
        if commits is None:
            self.answer(401, {"error": "Repository not found"}, "RepoNotFound")
            return
        revision = rest[1] if len(rest) > 1 else "main"
        number = len(commits) - 1
        if revision != "main":
            number = next((at for at in range(len(commits)) if sha_of(at).startswith(revision)), -1)
        if number < 0:
            self.answer(404, {"error": "Invalid rev id"}, "RevisionNotFound")
            return
        files = commits[number]
        if is_api and rest[:1] == ["tree"]:
            listed = [{"type": "file", "path": p, "oid": sha_of(0), "size": len(d)} for p, d in files.items()]
            self.answer(200, listed)
        elif is_api:
            siblings = [{"rfilename": path} for path in files]
            self.answer(200, {"_id": "1", "id": repo, "sha": sha_of(number), "siblings": siblings})
        elif (name := "/".join(rest[2:])) in files:
            etag = f'"{hashlib.sha256(files[name]).hexdigest()}"'
            self.answer(200, files[name], None, ETag=etag, X_Repo_Commit=sha_of(number))
        else:
            self.answer(404, {"error": "Entry not found"}, "EntryNotFound", X_Repo_Commit=sha_of(number))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    server = FakeHub()
    point_to(server.url, monkeypatch)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def point_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do in this process what HF_ENDPOINT does in a new one."""
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
    monkeypatch.setattr(huggingface_hub.file_download, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def save(folder: Path, steps: int = 12, seed: int = 0) -> Path:
    skills = list(Content((shipped_root(),)).skills("corridor").values())
    world = make_world("corridor", 1)
    features = make_features(world, "compass")
    specs = {name: ArraySpec(array.shape[1:], str(array.dtype)) for name, array in features.arrays.items()}
    torch.manual_seed(seed)
    network = PolicyNetwork(TINY, specs, len(skills), len(world.action_names))
    evaluation = {
        "locked_door": {
            "episodes": 50,
            "kind": "rate",
            "success": {"true": {"mean": 0.5, "interval": [0.4, 0.6]}, "compatible": None},
            "published": None,
        }
    }
    card = {"method": "by chance", "steps": steps, "evaluation": evaluation}
    save_policy(folder, network, describe(world, features, skills) | card)
    return folder


def test_what_is_pulled_is_what_was_pushed(hub: FakeHub, tmp_path: Path):
    mine = save(tmp_path / "mine")
    pushed = push_policy(mine, REPO)
    assert pushed.url == f"{hub.url}/{REPO}"
    pull_policy(REPO, tmp_path / "theirs")
    one, other = load_policy(mine), load_policy(tmp_path / "theirs")
    assert one.card == other.card
    for mine_, theirs in zip(one.network.parameters(), other.network.parameters(), strict=True):
        assert torch.equal(mine_, theirs)
    assert sorted(path.name for path in (tmp_path / "theirs").iterdir()) == sorted(
        path.name for path in mine.iterdir()
    )


def test_the_model_card_says_what_it_is_and_how_it_did(hub: FakeHub, tmp_path: Path):
    push_policy(save(tmp_path), REPO)
    text = hub.repos[REPO][-1]["README.md"].decode()
    assert text.startswith("---\nlicense: apache-2.0\n")
    assert "library_name: maestro-skills" in text
    assert "`eastwalker`" in text
    assert f"maestro hub pull {REPO}" in text
    assert "| locked_door | true | 50.0 % (40.0 to 60.0) | 50 | - |" in text
    assert "by chance; 12 steps" in text
    loaded = huggingface_hub.ModelCard(text)
    assert loaded.data.to_dict()["pipeline_tag"] == "reinforcement-learning"


def test_a_later_push_replaces_the_weights_and_the_earlier_can_still_be_pulled(hub: FakeHub, tmp_path: Path):
    first, second = save(tmp_path / "1"), save(tmp_path / "2", steps=13, seed=1)
    before = push_policy(first, REPO)
    push_policy(second, REPO, message="better")
    assert hub.messages == ["Policy for corridor, 12 steps", "better"]
    assert sum(path.endswith(".safetensors") for path in hub.repos[REPO][-1]) == 1
    out = tmp_path / "out"
    assert pull_policy(REPO, out).steps == 13
    assert pull_policy(REPO, out, revision=before.commit).steps == 12
    assert policy_sha256(out) == policy_sha256(first)
    assert len(list(out.iterdir())) == 2


def test_pushing_the_same_twice_changes_nothing(hub: FakeHub, tmp_path: Path):
    push_policy(save(tmp_path), REPO)
    push_policy(tmp_path, REPO)
    assert hub.repos[REPO][-1] == hub.repos[REPO][-2]


def test_without_a_token_nothing_is_sent(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(HubError, match=r"no token.*HF_TOKEN"):
        push_policy(save(tmp_path), REPO)
    assert hub.repos == {}


@pytest.mark.parametrize(
    ("token", "said"), [("hf_wrong", "not accepted"), ("hf_reader", "no right to write")]
)
def test_a_refused_token_is_told(
    token: str, said: str, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubError, match=said) as caught:
        push_policy(save(tmp_path), REPO)
    assert token not in str(caught.value)


def test_a_repository_of_something_else_is_left_alone(hub: FakeHub, tmp_path: Path):
    hub.fill(REPO, config_json="{}", README_md="a language model")
    with pytest.raises(HubError, match=r"something else: config\.json"):
        push_policy(save(tmp_path), REPO)
    assert len(hub.repos[REPO]) == 1
    with pytest.raises(HubError, match=r"not a maestro policy.*card\.json"):
        pull_policy(REPO, tmp_path / "out")


def test_a_repository_that_does_not_exist_is_told(hub: FakeHub, tmp_path: Path):
    with pytest.raises(HubError, match=r"no such repository"):
        pull_policy("ada/nothing", tmp_path)
    with pytest.raises(HubError, match="no name of a repository"):
        pull_policy("what is this?", tmp_path)
    with pytest.raises(HubError, match="no name of a repository"):
        push_policy(save(tmp_path), "a/b/c")


def test_an_unknown_revision_is_told(hub: FakeHub, tmp_path: Path):
    push_policy(save(tmp_path), REPO)
    with pytest.raises(HubError, match="no revision 'v9'"):
        pull_policy(REPO, tmp_path / "out", revision="v9")


def test_without_a_network_it_says_so(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nobody = "http://127.0.0.1:9"
    point_to(nobody, monkeypatch)
    with pytest.raises(HubError, match=rf"no connection to {nobody}.*HF_ENDPOINT"):
        pull_policy(REPO, tmp_path / "out")
    with pytest.raises(HubError, match="no connection"):
        push_policy(save(tmp_path), REPO)
    assert not (tmp_path / "out").exists()


def test_damaged_weights_never_take_the_place_of_whole_ones(hub: FakeHub, tmp_path: Path):
    push_policy(save(tmp_path / "mine"), REPO)
    out = save(tmp_path / "out", steps=5, seed=3)
    files = hub.repos[REPO][-1]
    name = next(path for path in files if path.endswith(".safetensors"))
    files[name] = files[name][:-10]
    with pytest.raises(PolicyFileError, match="damaged"):
        pull_policy(REPO, out)
    assert load_policy(out).card.steps == 5
    del files[name]
    with pytest.raises(HubError, match="lacks"):
        pull_policy(REPO, out)
    files["card.json"] = b"{"
    with pytest.raises(PolicyFileError, match="card"):
        pull_policy(REPO, out)
    assert load_policy(out).card.steps == 5


def test_a_card_cannot_name_a_file_elsewhere(hub: FakeHub, tmp_path: Path):
    push_policy(save(tmp_path / "mine"), REPO)
    card = json.loads(hub.repos[REPO][-1]["card.json"])
    hub.repos[REPO][-1]["card.json"] = json.dumps(card | {"weights_sha256": "../../etc/passwd"}).encode()
    with pytest.raises(PolicyFileError, match="weights_sha256"):
        pull_policy(REPO, tmp_path / "out")


def test_a_damaged_policy_is_not_pushed(hub: FakeHub, tmp_path: Path):
    save(tmp_path)
    (weights,) = tmp_path.glob("*.safetensors")
    weights.write_bytes(b"")
    with pytest.raises(PolicyFileError, match="damaged"):
        push_policy(tmp_path, REPO)
    assert hub.repos == {}


def test_the_commands_push_and_pull(hub: FakeHub, tmp_path: Path):
    """In another process, which finds hub and token by the variables a user sets."""
    folder = save(tmp_path / "mine")
    calls = [
        ["hub", "push", REPO, "--policy", str(folder), "--message", "hello"],
        ["hub", "pull", REPO, "--out", str(tmp_path / "out"), "--json"],
        ["hub", "pull", "ada/nothing"],
    ]
    code = f"from maestro.cli import main\nprint([main(call) for call in {calls!r}])"
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert f"pushed {folder} to {hub.url}/{REPO}" in done.stdout
    assert '"steps": 12' in done.stdout
    assert done.stdout.endswith("[0, 0, 1]\n")
    assert "no such repository" in done.stderr
    assert policy_sha256(tmp_path / "out") == policy_sha256(folder)
