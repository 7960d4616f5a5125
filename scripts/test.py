"""Install batchlab and its tools into ``.venv`` and run the tests: the second command of the README.

What follows the command's name is handed to pytest.
"""

import sys

from environment import prepare, run

if __name__ == "__main__":
    prepare(development=True)
    sys.exit(run("python", "-m", "pytest", "--numprocesses=auto", "--dist=worksteal", *sys.argv[1:]))
