"""Install batchlab and its tools into ``.venv`` and run the tests: the second command of the README.

What follows the command's name is handed to pytest.
"""

import os
import sys

from environment import prepare, run

# One more than there are cores, because tests wait for servers, clusters and other processes.
WORKERS = (os.cpu_count() or 1) + 1

if __name__ == "__main__":
    prepare(development=True)
    options = [f"--numprocesses={WORKERS}", "--dist=worksteal"]
    sys.exit(run("python", "-m", "pytest", *options, *sys.argv[1:]))
