"""A policy over skills while the skills are learned: as `training`, but on deeper levels, where heroes die sooner."""

import random


class Policy:
    """Alternate exploring and changing levels between a least and a greatest depth, and trade on the way."""

    def __init__(self):
        self.greatest_depth = random.choice([2, 3, 4, 5, 6, 8, 10])
        self.least_depth = 1 if self.greatest_depth < 5 or random.random() < 0.5 else 4
        self.likes_mines = random.random() < 0.5
        self.heading = "descender"
        self.bursts = 0  # spells of exploring since the last change of level was tried

    def select_skill(self, state, finished, startable):
        if finished is None:
            return self.explore()
        if self.likes_mines:
            return self.reach_gnomish_mines(state, finished, startable)
        return self.reach_dungeons_of_doom(state, finished, startable)

    def alternate(self, state, finished, startable):
        """Trade where possible; otherwise explore for a while, then take the stairs in the present direction."""
        if "merchant" in startable and finished != "merchant":
            return "merchant"
        if "worshipper" in startable and finished not in ("merchant", "worshipper"):
            return "worshipper"
        if state.depth >= self.greatest_depth:
            self.heading = "ascender"
        if state.depth <= self.least_depth:
            self.heading = "descender"
        if self.bursts < 5:
            return self.explore()
        self.bursts = 0
        return self.heading

    def explore(self):
        """Spend one spell on exploring."""
        self.bursts += 1
        return "discoverer"

    def reach_gnomish_mines(self, state, finished, startable):
        """Alternate, but take the Mines' staircase where it is known; half of the time it is the other one."""
        branch = state.branch_depth
        if state.dungeon == "Dungeons of Doom" and branch is not None:
            if state.depth == branch:
                return "descender"
            if state.depth == branch + 1:
                return "ascender"
        return self.alternate(state, finished, startable)

    def reach_dungeons_of_doom(self, state, finished, startable):
        """Alternate, but leave the Mines at once, and pass the level with two staircases downwards."""
        branch = state.branch_depth
        if state.dungeon == "Gnomish Mines":
            return "ascender"
        if branch is not None and state.depth == branch and self.heading == "descender":
            return "descender"
        return self.alternate(state, finished, startable)
