"""The sub-commands of `maestro`, one file each; see `maestro.cli` for what such a file holds."""
