"""The transcript: every line whole, none lost, no secret in it."""

from __future__ import annotations

import json
import threading

import pytest

from codegen.errors import TranscriptError
from codegen.transcript import Transcript, read_transcript


def test_what_is_written_is_read_back(tmp_path):
    transcript = Transcript(tmp_path / "new" / "transcript.jsonl", clock=lambda: 12.5)
    transcript.add("message", role="user", content="Größe\n\u2028 ```")
    transcript.add("reply", content="x", tokens=3)
    part = read_transcript(transcript.path)
    assert part.num_damaged == 0
    assert part.entries == (
        {"time": 12.5, "kind": "message", "role": "user", "content": "Größe\n\u2028 ```"},
        {"time": 12.5, "kind": "reply", "content": "x", "tokens": 3},
    )


def test_torn_and_foreign_lines_are_counted_and_later_ones_are_whole(tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(b'{"kind": "a"}\n[1]\n\n\xff\xfe\n{"kind": "to')
    Transcript(path).add("b")
    part = read_transcript(path)
    assert [entry["kind"] for entry in part.entries] == ["a", "b"]
    assert part.num_damaged == 3


def test_secrets_are_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "very-secret-value")
    monkeypatch.setenv("HARMLESS", "plain-words")
    transcript = Transcript(tmp_path / "transcript.jsonl")
    transcript.add(
        "error", content="Bearer abcdefgh12345 very-secret-value plain-words",
        more={"very-secret-value": ["hf_abcdefghijklmnopqrst", "sk-abcdefghijklmnop1234"]},
    )  # fmt: skip
    text = transcript.path.read_text()
    assert "plain-words" in text
    for secret in ("very-secret-value", "abcdefgh12345", "hf_abc", "sk-abc"):
        assert secret not in text
    assert json.loads(text)["content"].startswith("Bearer [hidden]")


def test_writers_do_not_mix(tmp_path):
    path = tmp_path / "transcript.jsonl"

    def write(number: int) -> None:
        for _ in range(30):
            Transcript(path).add("x", number=number, content="y" * 5000)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    part = read_transcript(path)
    assert (len(part.entries), part.num_damaged) == (120, 0)


def test_places_that_cannot_be_written_or_read_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TranscriptError, match="cannot be written"):
        Transcript(tmp_path / "file" / "x.jsonl").add("a")
    with pytest.raises(TranscriptError, match="cannot be read"):
        read_transcript(tmp_path / "absent.jsonl")
