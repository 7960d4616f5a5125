"""Install batchlab into ``.venv`` and run its demonstration: the first command of the README."""

import sys

from environment import PROGRAMS, ROOT, prepare, run

if __name__ == "__main__":
    prepare(development=False)
    print()
    code = run("batchlab", "demo", *sys.argv[1:])
    print(f"\nbatchlab is {(PROGRAMS / 'batchlab').relative_to(ROOT)}")
    sys.exit(code)
