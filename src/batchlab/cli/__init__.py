"""The command ``batchlab``: thin skins over the library, one file per command.

Nothing heavy is imported before a command needs it, so that ``--help`` answers at once; and whatever goes
wrong ends in one line on standard error and an exit code: 0 done, 1 the simulation failed, 2 wrong usage or
bad input, 130 interrupted.
"""

import sys
from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        What follows the command's name; that of this process unless given.

    Returns
    -------
    int
        The exit code.
    """
    try:
        # Users are quick to press Ctrl-C: no import may be outside.
        from batchlab.cli.application import answer  # noqa: PLC0415

        return answer(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        sys.stderr.write("batchlab: interrupted.\n")
        return _INTERRUPTED
