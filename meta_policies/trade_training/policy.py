"""The policy over skills while trading is learned, in dungeons with an altar or a shop near the beginning."""


class Policy:
    """Trade where possible; otherwise explore, the first level briefly, and change between the first two levels."""

    def __init__(self):
        self.bursts = 0  # spells of exploring since the last change of level was tried

    def select_skill(self, state, finished, startable):
        if "merchant" in startable and finished != "merchant":
            return "merchant"
        if "worshipper" in startable and finished not in ("merchant", "worshipper"):
            return "worshipper"
        if self.bursts < (1 if state.depth <= 1 else 5):
            self.bursts += 1
            return "discoverer"
        self.bursts = 0
        return "descender" if state.depth <= 1 else "ascender"
