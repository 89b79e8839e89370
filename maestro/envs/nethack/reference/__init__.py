"""Reference skills: hand-written controllers of the five skills, the floor that learned policies are compared with.

They see what the agent sees (observation and State) and use its 28 actions, nothing else.
"""

from maestro.envs.nethack.reference.controller import RandomPolicy, ReferencePolicy


def make_reference_policy(num_games: int) -> ReferencePolicy:
    """Return hand-written skills for a world of `num_games` games."""
    return ReferencePolicy(num_games)


def make_random_policy(num_games: int) -> RandomPolicy:
    """Return a policy that acts at random, for comparison."""
    return RandomPolicy(num_games)
