"""BALROG's measure of progress in NetHack, computed here from two numbers of an episode.

The measure is a probability: of the human games that reached this depth, or this experience level, how many were won
in the end. An episode's progression is the larger of the two. The figures below are those of BALROG's
`achievements.json` (balrog-ai/BALROG, MIT licence; Paglieri et al., "BALROG", arXiv 2411.13543), rounded to five
decimals. Its rows for the Quest home levels, the Astral Plane and the ascension are left out: its own evaluation looks
up depth and experience level only.
"""

from __future__ import annotations

# fmt: off
BY_DEPTH = (
    0.00000, 0.01539, 0.01754, 0.02122, 0.02648, 0.03543, 0.04846, 0.06958, 0.09771, 0.12559,
    0.16127, 0.20613, 0.25660, 0.29247, 0.30881, 0.32491, 0.34008, 0.35265, 0.36549, 0.37896,
    0.39294, 0.40832, 0.42584, 0.44518, 0.46638, 0.50676, 0.55436, 0.60156, 0.64650, 0.69131,
    0.71011, 0.71765, 0.72321, 0.72844, 0.73278, 0.73685, 0.74215, 0.74713, 0.75373, 0.76104,
    0.76741, 0.77253, 0.77716, 0.78126, 0.78590, 0.78903, 0.79297, 0.79674, 0.80185, 0.80680,
)
"""Index 0 is depth 1. Deeper than 50 counts as 50."""

BY_EXPERIENCE_LEVEL = (
    0.00000, 0.01848, 0.02081, 0.02416, 0.02911, 0.03689, 0.05076, 0.07454, 0.11705, 0.17910,
    0.25480, 0.33265, 0.41443, 0.49404, 0.57788, 0.62612, 0.65628, 0.68102, 0.70153, 0.71745,
    0.72870, 0.73710, 0.74434, 0.75134, 0.75855, 0.76422, 0.77034, 0.77598, 0.77833, 0.78046,
)
# fmt: on
"""Index 0 is experience level 1."""


def progression(max_depth: int, experience_level: int) -> float:
    """Give BALROG's progression in [0, 1] of an episode, from its largest depth and experience level."""
    depth = min(max(max_depth, 1), len(BY_DEPTH))
    level = min(max(experience_level, 1), len(BY_EXPERIENCE_LEVEL))
    return max(BY_DEPTH[depth - 1], BY_EXPERIENCE_LEVEL[level - 1])
