"""Soft labels and the canary."""

from __future__ import annotations

import math

import pytest

from maestro.llm import Reply, Usage
from maestro.llm.choice import check_constrained_choice, choice_probabilities
from maestro.llm.messages import TokenLogprob


def reply(text: str, *tokens: tuple[str, dict[str, float]]) -> Reply:
    """Make a reply from its tokens, each with the probabilities of the alternatives."""
    logprobs = tuple(
        TokenLogprob(token, math.log(top[token]), {name: math.log(p) for name, p in top.items()})
        for token, top in tokens
    )
    return Reply(text, logprobs or None, Usage(), "m", "s")


def test_choices_of_one_token():
    found = choice_probabilities(reply("1", ("1", {"1": 0.6, "2": 0.3, "x": 0.1})), ["1", "2"])
    assert found == pytest.approx({"1": 0.6 / 0.9, "2": 0.3 / 0.9})


def test_choices_of_several_tokens_part_at_the_first():
    answer = reply("FIRST", ("F", {"F": 0.7, "SEC": 0.2, "T": 0.1}), ("IRST", {"IRST": 1.0}))
    assert choice_probabilities(answer, ["FIRST", "SECOND", "TIE"]) == pytest.approx(
        {"FIRST": 0.7, "SECOND": 0.2, "TIE": 0.1}
    )


def test_choices_that_part_later():
    answer = reply("option B", ("option", {"option": 1.0}), (" B", {" B": 0.75, " A": 0.25}))
    assert choice_probabilities(answer, ["option A", "option B"]) == pytest.approx(
        {"option A": 0.25, "option B": 0.75}
    )


def test_choice_that_begins_with_another():
    answer = reply("1", ("1", {"1": 0.8, "2": 0.2}), ("<|end|>", {"<|end|>": 0.9, "0": 0.1}))
    found = choice_probabilities(answer, ["1", "10", "2"])
    assert found == pytest.approx({"1": 0.72, "10": 0.08, "2": 0.2})


def test_leading_blank_belongs_to_the_token():
    answer = reply(" yes", (" yes", {" yes": 0.5, " no": 0.5}))
    assert choice_probabilities(answer, ["yes", "no"]) == pytest.approx({"yes": 0.5, "no": 0.5})


@pytest.mark.parametrize(
    "answer",
    [
        reply("1"),  # no logprobs
        reply("maybe", ("maybe", {"maybe": 1.0})),  # none of the choices
        reply("2", ("2", {"2": 0.5, "1": 0.5})),  # "1" may become 1a or 1b
    ],
)
def test_what_cannot_be_told(answer):
    assert choice_probabilities(answer, ["1a", "1b", "2"]) is None


def test_choice_that_is_not_among_the_alternatives_counts_as_impossible():
    assert choice_probabilities(reply("1", ("1", {"1": 0.9, "x": 0.1})), ["1", "2"]) == {"1": 1.0, "2": 0.0}


def test_obedient_server_passes_the_canary(serve, open_model, fake):
    server = serve(fake.choose(1))
    (found,) = check_constrained_choice(open_model(server.spec))
    assert (found.server, found.obeyed, found.soft_labels) == (server.url, True, True)
    assert server.requests[0].body["structured_outputs"] == {"choice": ["zebra", "violin"]}


def test_server_that_ignores_choices_with_200_is_found_out(serve, open_model, fake):
    (found,) = check_constrained_choice(open_model(serve(fake.answer("Paris")).spec))
    assert not found.obeyed
    assert "'Paris'" in found.found


def test_every_server_is_checked(serve, open_model, fake):
    good, bad, dead = serve(fake.choose()), serve(fake.answer("Paris")), serve(fake.reset)
    model = open_model(f"openai:m@{good.url},{bad.url},{dead.url}", max_retries=1)
    found = {each.server: each for each in check_constrained_choice(model)}
    assert [found[server.url].obeyed for server in (good, bad, dead)] == [True, False, False]
    assert "connection failed" in found[dead.url].found
    assert all(len(server.requests) >= 1 for server in (good, bad, dead))
    assert len(good.requests) == 1


def test_recorded_replies_have_no_canary(open_model, tmp_path):
    assert check_constrained_choice(open_model(f"replay:{tmp_path}")) == []
