"""A real vLLM server: constrained choice, logprobs, errors, speed. Run with `-m vllm`; installs vLLM the first time."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from maestro.llm import Reply, ReplyFailed, Request, Sampling
from maestro.llm.choice import check_constrained_choice, choice_probabilities
from maestro.llm.doctor import check

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1800)]

PAIR = "Caption A: {}\nCaption B: You see here an altar.\nWhich shows more progress? Answer FIRST, SECOND or TIE."
CHOICES = ("FIRST", "SECOND", "TIE")


def pair(number: int) -> Request:
    return Request(
        ({"role": "user", "content": PAIR.format(f"You kill newt number {number}!")},),
        Sampling(max_tokens=8, choices=CHOICES, top_logprobs=5),
    )


def test_doctor_finds_a_healthy_server(vllm_server):
    findings = {finding.name: finding for finding in check(vllm_server.spec)}
    assert {name: finding.status for name, finding in findings.items()} == {
        "llm": "ok",
        "key": "note",
        "server": "ok",
        "answer": "ok",
        "constrained choice": "ok",
        "soft labels": "ok",
    }
    assert "vLLM 0.32.0" in findings["server"].found


def test_choices_are_obeyed_with_probabilities(vllm_server, open_model):
    outcome = open_model(vllm_server.spec, timeout_s=60, total_s=120).ask(pair(1))
    assert isinstance(outcome, Reply)
    assert outcome.text in CHOICES
    assert outcome.model == "tiny-llama"
    assert outcome.usage.completion_tokens >= 3
    found = choice_probabilities(outcome, CHOICES)
    assert found is not None
    assert sum(found.values()) == pytest.approx(1)
    assert sum(mass > 1e-6 for mass in found.values()) == 3


def test_temperature_0_takes_the_likeliest_first_token(vllm_server, open_model):
    outcome = open_model(vllm_server.spec, timeout_s=60).ask(pair(2))
    assert isinstance(outcome, Reply)
    found = choice_probabilities(outcome, CHOICES)
    assert found is not None
    assert max(found, key=lambda choice: found[choice]) == outcome.text


def test_seed_repeats_a_sampled_answer(vllm_server, open_model):
    model = open_model(vllm_server.spec, timeout_s=60)
    said = [{"role": "user", "content": "Tell me a story."}]
    texts = [model.complete(said, temperature=1.0, max_tokens=20, seed=seed).text for seed in (7, 7, 8)]
    assert texts[0] == texts[1] != texts[2]


def test_dropped_parameter_is_what_the_canary_is_for(vllm_server, open_model):
    """Send the choices under the name that vLLM dropped in 0.12: HTTP 200, and no constraint."""
    model: Any = open_model(vllm_server.spec, constrain="ask", timeout_s=60)
    (client,) = model._clients.values()
    plain = client.chat_completion
    client.chat_completion = lambda *a, **o: plain(
        *a, **{**o, "extra_body": {"guided_choice": ["zebra", "violin"]}}
    )
    (found,) = check_constrained_choice(model)
    assert not found.obeyed
    assert "ignored" in found.found


@pytest.mark.parametrize(
    ("sampling", "said"),
    [(Sampling(max_tokens=99_999), "max_model_len"), (Sampling(top_logprobs=20, max_tokens=1), "")],
)
def test_refusals_say_what_the_server_says(sampling, said, vllm_server, open_model):
    outcome = open_model(vllm_server.spec, timeout_s=60).ask(
        Request(({"role": "user", "content": "x"},), sampling)
    )
    if said:
        assert isinstance(outcome, ReplyFailed)
        assert (outcome.reason, outcome.num_attempts) == ("refused", 1)
        assert said in outcome.what
    else:
        assert isinstance(outcome, Reply)


def test_unknown_model_is_refused_with_the_servers_words(vllm_server, open_model):
    outcome = open_model(f"openai:nope@{vllm_server.url}").ask(pair(0))
    assert isinstance(outcome, ReplyFailed)
    assert outcome.reason == "refused"
    assert "does not exist" in outcome.what
    findings = {finding.name: finding for finding in check(f"openai:tiny-lama@{vllm_server.url}")}
    assert "did you mean 'tiny-llama'?" in (findings["server"].hint or "")


def test_many_pairs(vllm_server, open_model, record_property):
    model = open_model(vllm_server.spec, max_in_flight=64, timeout_s=120, total_s=300)
    model.ask(pair(0))
    begun = time.monotonic()
    outcomes = [outcome for _, outcome in model.complete_many(pair(n) for n in range(600))]
    rate = len(outcomes) / (time.monotonic() - begun)
    record_property("answers_per_s", round(rate))
    print(f"{rate:.0f} answers/s with 64 in flight; server up after {vllm_server.start_s:.0f} s")
    assert all(isinstance(outcome, Reply) and outcome.text in CHOICES for outcome in outcomes)


IN_PROCESS = """
import sys
from maestro.llm import Reply, ReplyFailed, Request, Sampling, load_chat_model
from maestro.llm.choice import check_constrained_choice, choice_probabilities

if __name__ == "__main__":
    folder = sys.argv[1]
    settings = {"max_model_len": 1024, "enforce_eager": True, "dtype": "bfloat16"}
    with load_chat_model(f"vllm:{folder}", max_in_flight=16, engine=settings) as model:
        (found,) = check_constrained_choice(model)
        assert found.obeyed and found.soft_labels, found
        requests = [
            Request(({"role": "user", "content": f"pair {n}"},), Sampling(max_tokens=8, choices=("FIRST", "SECOND"),
                    top_logprobs=5)) for n in range(40)
        ]
        requests[7] = Request(({"role": "user", "content": "much too long " * 2000},), Sampling(max_tokens=8))
        outcomes = dict(model.complete_many(requests))
        failed = [n for n, outcome in outcomes.items() if isinstance(outcome, ReplyFailed)]
        assert failed == [7], outcomes
        assert all(choice_probabilities(outcomes[n], ("FIRST", "SECOND")) for n in range(40) if n != 7)
        assert outcomes[0].usage.prompt_tokens > 0
        print("in process:", model.describe()[0].version, outcomes[7].what[:80])
"""


def run_there(
    helper: Any, folder: Path, code: str, *arguments: object, more: dict[str, str] | None = None
) -> str:
    """Run code of ours with the python of vLLM's environment; whatever it started ends with it."""
    script, log = folder / "script.py", folder / "script.log"
    script.write_text(code)
    environment = {**os.environ, **helper.ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment.update(more or {})
    command = [helper.venv_python(), script, *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        status = process.wait(timeout=300)
    finally:
        helper.end(process)
    said = log.read_text(errors="replace")
    assert status == 0, said[-3000:]
    return said


def test_in_process(vllm_helper, tmp_path):
    """Run `vllm:` in the server's environment; it needs nothing of ours but the code."""
    vllm_helper.make_model_there(tmp_path / "model")
    assert "in process: vLLM 0.32.0" in run_there(vllm_helper, tmp_path, IN_PROCESS, tmp_path / "model")


NEWER_HUB = """
import os, sys
import huggingface_hub
from maestro.llm import Reply, ReplyFailed, Request, Sampling, load_chat_model
assert not huggingface_hub.__version__.startswith("0.")
url = sys.argv[1]
request = Request(({"role": "user", "content": "which?"},), Sampling(max_tokens=8, choices=("a", "b"), top_logprobs=3))
with load_chat_model("openai:tiny-llama@" + url) as model:
    outcomes = [outcome for _, outcome in model.complete_many([request] * 50)]
    assert all(isinstance(outcome, Reply) and outcome.logprobs for outcome in outcomes), outcomes[0]
with load_chat_model("openai:nope@" + url) as model:
    outcome = model.ask(request)
    assert isinstance(outcome, ReplyFailed) and outcome.reason == "refused", outcome
    assert "does not exist" in outcome.what, outcome
with load_chat_model("openai:m@http://127.0.0.1:9/v1", max_retries=1, backoff_s=0.01) as model:
    outcome = model.ask(request)
    assert outcome.reason == "unreachable" and outcome.num_attempts == 2, outcome
print("newer hub:", huggingface_hub.__version__)
"""


def test_newer_hub_client_works_too(vllm_server, vllm_helper, tmp_path):
    """The server's environment has huggingface_hub 1.x or 2.x, whose HTTP layer is another one."""
    assert "newer hub:" in run_there(
        vllm_helper,
        tmp_path,
        NEWER_HUB,
        vllm_server.url,
        more={"HF_HUB_OFFLINE": "0"},  # 1.0 and later obey it here
    )
