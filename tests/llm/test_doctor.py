"""What `maestro doctor --llm` finds."""

from __future__ import annotations

from maestro.llm.doctor import Finding, check


def by_name(findings: list[Finding]) -> dict[str, str]:
    return {finding.name: finding.status for finding in findings}


def test_healthy_server(serve, fake):
    server = serve(fake.choose(), models=["m", "n"])
    findings = check(server.spec)
    assert by_name(findings) == {
        "llm": "ok",
        "key": "note",
        "server": "ok",
        "answer": "ok",
        "constrained choice": "ok",
        "soft labels": "ok",
    }
    assert "has m, n" in findings[2].found


def test_server_without_the_model_and_without_constrained_choice(serve, fake):
    server = serve(fake.answer("Paris", model="llama-8b"), models=["llama-8b"])
    findings = {
        finding.name: finding for finding in check(f"openai:llama-8B-chat@{server.url}", any_model=True)
    }
    assert findings["server"].status == "warn"
    assert "did you mean 'llama-8b'?" in (findings["server"].hint or "")
    assert findings["constrained choice"].status == "warn"
    assert "'Paris'" in findings["constrained choice"].found
    assert "soft labels" not in findings


def test_dead_server_is_reported_once(serve, fake):
    findings = check("openai:m@http://127.0.0.1:9/v1", backoff_s=0.01)
    assert by_name(findings) == {"llm": "ok", "key": "note", "server": "fail", "answer": "fail"}


def test_server_that_lists_nothing_useful(serve, fake):
    class Odd(fake.FakeServer):
        async def _get(self, writer, asked):
            await fake.body(b"<html>")(writer, asked)

    with Odd(fake.choose()) as server:
        findings = {finding.name: finding for finding in check(server.spec)}
    assert findings["server"].status == "fail"
    assert "no list of models" in findings["server"].found
    assert findings["answer"].status == "ok"


def test_broken_specs_are_findings():
    for spec in ("openai:m", "opnai:m@http://h", "hf:m", "replay:/no/such/folder", "vllm:"):
        (finding,) = check(spec)
        assert finding.status == "fail", spec


def test_recorded_replies(tmp_path):
    assert by_name(check(f"replay:{tmp_path}")) == {"llm": "ok", "replies": "warn"}
    (tmp_path / "1.md").write_text("---\nauthor: somebody\n---\n<!-- user -->\nhi\n<!-- reply -->\nyo\n")
    findings = check(f"replay:{tmp_path}")
    assert by_name(findings) == {"llm": "ok", "replies": "ok"}
    assert "1 recorded by somebody" in findings[1].found
