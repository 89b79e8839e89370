"""Name the 28 actions by their index, in the order of `ACTION_NAMES`."""

MORE = 0
NORTH, EAST, SOUTH, WEST, NORTHEAST, SOUTHEAST, SOUTHWEST, NORTHWEST = range(1, 9)
FAR = 8  # far_<direction> is <direction> + FAR
UP, DOWN, WAIT, KICK, EAT, SEARCH, CAST, ENHANCE, PRAY, QUAFF, DROP = range(17, 28)
NUM_ACTIONS = 28

YES, NO = NORTHWEST, SOUTHEAST  # they send the keys y and n
