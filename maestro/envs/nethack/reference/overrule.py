"""Set a brain right after somebody else chose its action: a learner that plays while the brain says what it would do.

A brain takes its choices for deeds: it expects their outcome on the next step, and counts searches, prayers and
things laid down when it chooses them. Without correction it would learn from failures that never were its own.
"""

from typing import TYPE_CHECKING, NamedTuple

from maestro.envs.nethack.reference import actions as A

if TYPE_CHECKING:
    from maestro.envs.nethack.reference.controller import Brain


class Notes(NamedTuple):
    """What choosing an action changes in a brain, as it was before."""

    last_prayer: int
    failed_quaffs: int
    last_cast: int
    no_food_until: int
    merchant_drops: int
    worshipper_drops: int
    altar_done: int
    altar_pile: int
    searched: int
    search_left: int
    eye_waits: int


def take_notes(brain: "Brain") -> Notes:
    """Remember what an overruled choice has to give back; call after the senses were updated."""
    survivor, level = brain.survivor, brain.senses.level
    return Notes(
        survivor.last_prayer,
        survivor.failed_quaffs,
        survivor.last_cast,
        survivor.no_food_until,
        brain.merchant.drops,
        brain.worshipper.drops,
        level.altar_done,
        level.altar_pile,
        level.searched.get(brain.senses.cell, 0),
        level.search_left,
        level.eye_waits,
    )


def overrule(brain: "Brain", action: int) -> None:
    """Make the brain forget what it expects of its last choice, and count what is done in its place."""
    if action == brain.chosen or brain.notes is None:
        return
    senses, mover, survivor = brain.senses, brain.mover, brain.survivor
    level = senses.level
    mover.target = mover.ran = mover.kicked = brain.fighter.struck = -1
    mover.pending = []
    brain.stairs.taking = None
    _give_back(brain, brain.notes)
    if action == A.SEARCH and not senses.prompt:
        brain.explorer.count_search(1)
    elif action == A.PRAY:
        survivor.pray()
    elif action == A.DOWN and senses.cell in level.downs or action == A.UP and senses.cell in level.ups:
        brain.stairs.taking = (senses.key, senses.cell, action)
    brain.chosen = action


def _give_back(brain: "Brain", notes: Notes) -> None:
    survivor, level = brain.survivor, brain.senses.level
    if level.searched.get(brain.senses.cell, 0) > notes.searched:
        brain.explorer.count_search(-1)
        level.search_left = max(level.search_left, notes.search_left)
    survivor.last_prayer = notes.last_prayer
    survivor.failed_quaffs = notes.failed_quaffs
    survivor.last_cast = notes.last_cast
    survivor.no_food_until = notes.no_food_until
    brain.merchant.drops = notes.merchant_drops
    brain.worshipper.drops = notes.worshipper_drops
    level.altar_done, level.altar_pile = notes.altar_done, notes.altar_pile
    level.eye_waits = notes.eye_waits
