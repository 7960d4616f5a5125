"""The command ``batchlab``: thin layers over the library, one file per command.

Heavy modules are imported only when a command needs them, so that ``--help`` is fast. Every error ends in
one line on standard error and an exit code: 0 done, 1 the simulation failed, 2 wrong usage or bad input,
130 interrupted.
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence

__all__ = ["main"]

_INTERRUPTED = 130
_COLLECT_AFTER = 50_000
_COMPLETING = "_BATCHLAB_COMPLETE"
_OVERVIEW: tuple[list[str], ...] = ([], ["--help"], ["-h"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments
        Words after the command's name. [default: those of this process]

    Returns
    -------
    int
        The exit code.
    """
    try:
        # Users may press Ctrl-C at once, so all imports are inside.
        words = list(sys.argv[1:] if arguments is None else arguments)
        if arguments is None:
            _widen_help()
        if words in _OVERVIEW and _COMPLETING not in os.environ:
            return _show_overview(asked=bool(words))
        from batchlab.cli.application import answer  # noqa: PLC0415

        if arguments is not None:
            return answer(words)
        return _answer_process(answer, words)
    except KeyboardInterrupt:
        sys.stderr.write("batchlab: interrupted.\n")
        return _INTERRUPTED


def _answer_process(answer: Callable[[list[str]], int], words: list[str]) -> int:
    """Run the command line of this process; Ctrl-C ends the process at once."""
    from batchlab.cli import process  # noqa: PLC0415  # as above

    # Imports create many objects and few cycles; the default threshold costs 5 % of a short run.
    gc.set_threshold(_COLLECT_AFTER)
    process.await_interruption()
    code = answer(words)
    # No collection at exit: the process returns its memory anyway.
    gc.freeze()
    if code == _INTERRUPTED:
        process.leave()
    return code


def _widen_help() -> None:
    from batchlab.cli import process  # noqa: PLC0415  # as above

    # A closed stream is None until `process.prepare`.
    if sys.stdout is not None:
        process.widen_help()


def _show_overview(*, asked: bool) -> int:
    """Print the main help without importing typer and the commands.

    Like typer, end it with an empty line if the user asked for help.
    """
    from batchlab.cli import overview, process  # noqa: PLC0415  # as above

    process.prepare()
    try:
        overview.show()
        sys.stdout.write("\n" if asked else "")
        sys.stdout.flush()
    except BrokenPipeError:
        process.discard()
    except OSError as error:
        process.discard()
        sys.stderr.write(f"batchlab: standard output: {error.strerror}.\n")
        return 1
    return 0
