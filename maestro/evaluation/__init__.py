"""Evaluation: play a task's episodes, count what happened, report it, and show any episode again.

The way of the data: `games` plays (in worker processes that `play` manages), `episode` is the file of one episode,
`summary` turns records into figures with intervals (`statistics`), `report` draws them, `replay` plays an episode
again from its seeds and actions.
"""
