"""Turn the text of a language model into a validated Python module.

A leaf: this package knows no game, no reinforcement learning and nothing of `maestro`. What a module must look
like is handed in as data, so that the same rules serve any program that runs code it did not write.
"""
