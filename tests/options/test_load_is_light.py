"""What only loads code does not pay for validating it."""

from __future__ import annotations

import subprocess
import sys


def test_the_validator_is_not_loaded_by_what_only_loads():
    code = "import sys, maestro.options.load; print('libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
