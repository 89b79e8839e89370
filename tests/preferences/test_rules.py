"""Preference rules: what they look at, and that those that ship say what their skill prefers."""

from __future__ import annotations

import itertools

import pytest

from maestro.content import Content
from maestro.errors import SpecError
from maestro.preferences.goals import find_goal, ready_goals
from maestro.preferences.pairs import Preference
from maestro.preferences.rules import RuleScorer
from maestro.specs import PreferenceRule, SkillSpec, parse

DOWN = {"depth_before": 1, "depth_after": 2}
UP = {"depth_before": 2, "depth_after": 1}


def scorer(*rules: dict) -> RuleScorer:
    return RuleScorer([PreferenceRule(**rule) for rule in rules])


@pytest.mark.parametrize(
    ("rule", "applies", "does_not"),
    [
        ({"message": "kill"}, {"message": "You kill it!"}, {"message": "You die."}),
        ({"previous_message": "kill"}, {"previous_message": "You kill it!"}, {"message": "You kill it!"}),
        ({"caption": "Keys: from 0 to 1"}, {"caption": "x\nKeys: from 0 to 1"}, {"caption": "Keys: same"}),
        ({"depth": "deeper"}, DOWN, UP),
        ({"depth": "higher"}, UP, {}),
        ({"depth": "same"}, {}, DOWN),
        ({"gold": "rose"}, {"gold_after": 3}, {"gold_before": 3}),
        ({"hp": "fell"}, {"hp_after": 3}, {"hp_after": 30}),
        ({"experience_level": "rose"}, {"experience_level_after": 2}, {}),
        ({"hunger": "worse"}, {"hunger_after": 2}, {"hunger_after": 0}),
        ({"hunger": "better"}, {"hunger_after": 0}, {"hunger_after": 2}),
        ({"depth": "deeper", "message": "fall"}, {**DOWN, "message": "You fall."}, DOWN),
    ],
)
def test_a_rule_applies_where_all_its_conditions_hold(helpers, rule, applies, does_not):
    score = scorer({"score": 2.5, **rule}).score
    assert score(helpers.make_row(**applies)) == 2.5
    assert score(helpers.make_row(**does_not)) == 0


def test_scores_add_up_and_equal_sums_tie(helpers):
    judge = scorer({"score": 1, "message": "a"}, {"score": 2, "message": "b"}, {"score": -3, "message": "c"})
    one, two, none = (helpers.make_row(message=text) for text in ("ab", "b", "abc"))
    assert [judge.score(row) for row in (one, two, none)] == [3, 2, 0]
    assert judge.compare(one, two) is Preference.FIRST
    assert judge.compare(none, two) is Preference.SECOND
    assert judge.compare(none, helpers.make_row(message="x")) is Preference.TIE


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"score": 1, "mesage": "x"}, "Expected: one of score, message"),
        ({"score": 1}, "a rule needs a condition"),
        ({"score": 1, "message": "("}, "is no regular expression"),
        ({"score": 1, "depth": "down"}, "Expected: 'deeper', 'higher' or 'same'"),
        ({"message": "x"}, "the key is missing"),
    ],
)
def test_a_mistaken_rule_is_explained(rule, said):
    data = {"name": "a", "description": "b", "preference": "c", "rules": [rule]}
    with pytest.raises(SpecError, match=said):
        parse(data, SkillSpec, where="skill.toml")


RANKED = {
    "discoverer": [
        {"message": "You kill the newt!  Welcome to experience level 2."}, {"message": "You kill the newt!"},
        {"message": "The door opens."}, {"message": "$ - 5 gold pieces."}, {"message": "You hit the newt."},
        {"message": "You miss the newt."}, {"message": "You stop waiting."}, {"message": "You drop a scroll."},
        {"message": "You descend the stairs.", **DOWN},
    ],
    "descender": [
        {"message": "You descend the stairs.", **DOWN}, {"message": "There is a staircase down here."},
        {"message": "You see here a rock."}, {"message": "You kill the newt!"}, {"message": "You climb up the stairs.", **UP},
    ],
    "ascender": [{"message": "You climb up the stairs.", **UP}, {"message": "You kill the newt!"}, DOWN],
    "worshipper": [
        {"message": "A scroll labeled FOO lands on the altar."}, {"message": "An uncursed scroll lands on the altar."},
        {"message": "There is an altar to Chih Sung-tzu (neutral) here."}, {"message": "You kill the newt!"},
        {"message": "You begin praying to Chih Sung-tzu. You finish your prayer. You feel that Chih Sung-tzu is displeased."},
    ],
    "merchant": [
        {"message": "You sold a scroll for 30 gold pieces."},
        {"message": "Adjama offers 30 gold pieces for your scroll.  Sell it? [ynaq] (y)"},
        {"message": '"For you, good sir; only 40 zorkmids for this scroll."'},
        {"message": '"Hello, Agent!  Welcome to Adjama\'s general store!"'}, {"message": "Welcome to experience level 2."},
        {"message": "You stole 300 zorkmids worth of merchandise."},
    ],
}  # fmt: skip


@pytest.mark.parametrize("skill", RANKED)
def test_the_rules_that_ship_rank_as_the_preference_says(helpers, skill):
    judge = RuleScorer(find_goal(Content.find(), skill).rules)
    rows = [helpers.make_row(number, **fields) for number, fields in enumerate(RANKED[skill])]
    for better, worse in itertools.pairwise(rows):
        assert judge.compare(better, worse) is Preference.FIRST, (better.message, worse.message)


def test_every_skill_and_motifs_five_goals_are_ready():
    content = Content.find()
    assert all(skill.spec.rules for skill in content.skills().values())
    goals = ready_goals(content)
    assert {goal.motif_name for goal in goals.values()} == {
        "defaultgoal",
        "zeroknowledge",
        "combat",
        "gold",
        "stairs",
    }
    assert goals["zeroknowledge"].preference == ""
    assert [name for name, goal in goals.items() if not goal.rules] == ["zeroknowledge"]
