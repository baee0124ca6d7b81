"""`python -m pocketbert` is the command `pocketbert`."""

from __future__ import annotations

import sys

from pocketbert.cli import main

if __name__ == "__main__":
    sys.exit(main())
