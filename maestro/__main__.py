"""Let `python -m maestro` do what `maestro` does."""

import sys

from maestro.cli import main

if __name__ == "__main__":
    sys.exit(main())
