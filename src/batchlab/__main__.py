"""``python -m batchlab`` is the command ``batchlab``."""

import sys

from batchlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
