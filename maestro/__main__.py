"""Let `python -m maestro` do what `maestro` does."""

import sys

from maestro.cli import main

if __name__ == "__main__":
    code = main()
    # An interrupt that went through an `exec`, of a module that was being imported, say, counts as unhandled for CPython,
    # though it was answered, and with -m it would now end itself by SIGINT. The next `exec` makes it forget.
    exec("")
    sys.exit(code)
