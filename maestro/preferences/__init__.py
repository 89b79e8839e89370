"""Preferences: which of two captions is better for a skill, as judged by a language model, by rules, or by chance.

Transitions (`transitions`) are drawn into pairs (`pairs`), every pair becomes one or two questions, an annotator
(`annotators/`) answers them into a store that never asks twice (`store`, `annotate`), and the answers come out as
one verdict a pair (`verdicts`) for `maestro.rewards` to learn from.
"""
