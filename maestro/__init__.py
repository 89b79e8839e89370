"""Turn skills described in plain language into agents, and compose them into tasks without further training.

Importing this package costs nothing and pulls in no engine: everything is reached through its sub-modules
(`maestro.content`, `maestro.envs`, `maestro.evaluation`, ...) or through the `maestro` command.
"""

__version__ = "0.1.0"
