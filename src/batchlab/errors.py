"""The errors of batchlab, in one hierarchy.

Every error that a user can cause has one of these classes. Its message names the argument, the value, the
rule and the next step. Errors about input are also ``ValueError``, so code that does not know batchlab can
catch them.

::

    BatchlabError
    ├── WorkloadError            (ValueError)   a log, a table of jobs, or one job in it
    ├── SystemDescriptionError   (ValueError)   a described machine, or the file that describes it
    ├── ApplicationError         (ValueError)   an application, a formula in it, or its file
    ├── PlatformError            (ValueError)   a described platform, its file, or a route on it
    ├── PolicyError              (ValueError)   a policy's parameters, or its spec string
    │   └── PolicyNotFound                      a name that no order, rule or allocator has
    ├── SimulationError                         a run that cannot go on, or a call that makes no sense now
    │   ├── DecisionError        (ValueError)   a scheduler decided what the kernel must refuse
    │   ├── AlgorithmError                      a scheduling algorithm made for another simulator failed
    │   └── ClusterError                        a virtual cluster of a batch system failed
    ├── ObserverError            (ValueError)   what an observer is told, or the data that it reads
    ├── ResultError              (ValueError)   a result that cannot be read, written or evaluated
    ├── AdequacyError            (ValueError)   streams of jobs between which no difference is defined
    ├── TwinError                (ValueError)   a log that a cluster's twin cannot run, or be fitted on
    ├── DumpError                (ValueError)   a dump of a live cluster, or dumps that contradict each other
    ├── QueueingError            (ValueError)   a queueing model's input, or one that is not stable
    ├── TraceError               (ValueError)   a log of the archive that is not known, or cannot be had
    ├── MonitorError                            a running simulation that cannot be asked, or shown
    ├── ExperimentError          (ValueError)   a described experiment, its spec file, or its store
    │   └── StoreError                          a store that cannot be read or written; a ResultError too
    ├── BridgeError              (ValueError)   another simulator's project, or a conversation with it
    ├── OutputError              (ValueError)   an output that would replace an input, or a stranger's file
    └── MissingExtraError        (ImportError)  an optional dependency that is not installed
"""

import difflib
import re
import reprlib
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "AdequacyError",
    "AlgorithmError",
    "ApplicationError",
    "Argument",
    "BatchlabError",
    "BridgeError",
    "ClusterError",
    "DecisionError",
    "DumpError",
    "ExperimentError",
    "MissingExtraError",
    "MonitorError",
    "ObserverError",
    "OutputError",
    "PlatformError",
    "PolicyError",
    "PolicyNotFound",
    "QueueingError",
    "ResultError",
    "SimulationError",
    "StoreError",
    "SystemDescriptionError",
    "TraceError",
    "TwinError",
    "WorkloadError",
    "as_message",
    "missing_extra",
    "nearest",
    "one_line",
    "reason_of",
    "shown",
    "suggest",
    "written",
]


_LONGEST_MESSAGE = 2000
_LONGEST_END = 600


# An argument at the start of a message, with the entry inside it: "groups[2]", "performance['core']".
_SUBJECT = re.compile(r"([a-z]\w*)((?:\[[^]]*\]|\.\w+)*) = |([a-z]\w*): ")


@dataclass(frozen=True)
class Argument:
    """An argument that a message mentions: ``kind='cdf'`` in Python, its option on a command line.

    Parameters
    ----------
    name
        The name.
    value
        The value as Python writes it; empty if the message does not give one.
    to
        The function that takes it, if it is another one than the function that raised: the mention is then
        the next step, to pass this argument to that function.
    python
        What a program passes, if only a command line has this argument.
    """

    name: str
    value: str = ""
    to: str = ""
    python: str = ""

    def __str__(self) -> str:
        text = self.python or (f"{self.name}={self.value}" if self.value else self.name)
        return f"pass {text} to {self.to}" if self.to else text


class BatchlabError(Exception):
    """The base of every error that batchlab raises; a message above 2000 characters loses its middle.

    Parameters
    ----------
    parts
        The parts of the message, in their order: texts, and arguments that it mentions. If the value of an
        argument is wrong, the message begins with it: ``name = value; rule. Next step.``
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return self.worded(str)

    def worded(self, word: Callable[[Argument], str]) -> str:
        """Return the message, with the words of a front end for the arguments that it mentions."""
        text = ""
        for part in self.args:
            added = word(part) if isinstance(part, Argument) else str(part)
            is_first = isinstance(part, Argument) and bool(part.to) and (not text or text.endswith(". "))
            text += added[:1].upper() + added[1:] if is_first else added
        return as_message(text)

    @property
    def subject(self) -> tuple[str, str]:
        """The argument whose value is wrong, and the entry inside it; both are empty if there is none."""
        found = _SUBJECT.match(str(self.args[0]) if self.args else "")
        return (found[1] or found[3], found[2] or "") if found else ("", "")


class WorkloadError(BatchlabError, ValueError):
    """A log, a table of jobs or a job in it breaks a rule; a file's message begins with ``file:line``."""


class SystemDescriptionError(BatchlabError, ValueError):
    """A system breaks a rule; a file's message begins with the file and the path into the document."""


class ApplicationError(BatchlabError, ValueError):
    """An application breaks a rule; a file's message names the path into it, a formula's the character."""


class PlatformError(BatchlabError, ValueError):
    """A platform breaks a rule, or there is no such route; a file's message begins with ``file:line``."""


class PolicyError(BatchlabError, ValueError):
    """A policy's parameter or spec string breaks a rule; a spec's message names the position in it."""


class PolicyNotFound(PolicyError):  # noqa: N818  # the name that the documentation promises
    """No order, backfilling rule or allocator has this name; the message suggests the nearest."""


class SimulationError(BatchlabError):
    """A run cannot go on, or a call makes no sense in the simulation's present state."""


class DecisionError(SimulationError, ValueError):
    """A scheduler's decision was refused; the message names the job, the rule and the numbers."""


class AlgorithmError(SimulationError):
    """An algorithm written for another simulator raised, fell silent, or answered what makes no sense."""


class ClusterError(SimulationError):
    """A batch system on virtual nodes did not start, ended, or refused an order; the message quotes it."""


class ObserverError(BatchlabError, ValueError):
    """An observer's parameter breaks a rule, or the data that it reads; a file's message names it."""


class ResultError(BatchlabError, ValueError):
    """A result cannot be read, written or evaluated."""


class AdequacyError(BatchlabError, ValueError):
    """Two streams of jobs cannot be compared; the message names the first job that differs."""


class TwinError(BatchlabError, ValueError):
    """A log that the twin of a cluster cannot run, or that it cannot be fitted on."""


class DumpError(BatchlabError, ValueError):
    """A dump of a live cluster breaks a rule; the message names the file, the record and the field."""


class QueueingError(BatchlabError, ValueError):
    """A column, rate or probability of a queueing model breaks a rule, or the model is not stable."""


class TraceError(BatchlabError, ValueError):
    """A log of the archive is not in the catalogue, cannot be fetched, or is not what it should be."""


class MonitorError(BatchlabError):
    """A running simulation cannot be asked or shown: there is none, or several, or it does not answer."""


class ExperimentError(BatchlabError, ValueError):
    """An experiment breaks a rule; a spec file's message begins with the file and the path into it."""


class StoreError(ExperimentError, ResultError):
    """The runs of an experiment cannot be kept, or read: the disk is full, or access to it is denied."""


class BridgeError(BatchlabError, ValueError):
    """A file of another simulator's project breaks a rule; the message begins with the file and the place."""


class OutputError(BatchlabError, ValueError):
    """An output would replace an input, or a file that batchlab did not write; the message names the file."""


class MissingExtraError(BatchlabError, ImportError):
    """An optional dependency is missing; the message is the command that installs it."""


def missing_extra(what: str, *packages: str) -> MissingExtraError:
    """Return the error for an optional dependency that is not installed.

    Parameters
    ----------
    what
        The feature that needs it.
    packages
        Packages with their minimum versions in pip's syntax, e.g. ``"plotly>=6"``.

    Returns
    -------
    MissingExtraError
        Its message is an install command for the running Python, which also works in a checkout.
    """
    names = " and ".join(package.partition(">")[0] for package in packages)
    command = shlex.join([sys.executable, "-m", "pip", "install", *packages])
    return MissingExtraError(f"{what} needs {names}. Install with: {command}")


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_NAME = 60
_LONGEST_REASON = 200
_MOST_NAMES = 40


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of known names for an unknown name, to be appended to an error's first sentence.

    Parameters
    ----------
    name
        The unknown name.
    known
        The valid names.

    Returns
    -------
    str
        ``" Did you mean 'easy'? Known: conservative, easy, fcfs."``, without the question if no name is near;
        empty without known names.
    """
    names = sorted(set(known))
    if not names:
        return ""
    meant = nearest(name, names)
    question = "" if meant is None else f" Did you mean {meant!r}?"
    listed = ", ".join(map(one_line, names[:_MOST_NAMES])) + (", …" if len(names) > _MOST_NAMES else ".")
    return f"{question} Known: {listed}"


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the known name that is most similar to an unknown one, ignoring case.

    Parameters
    ----------
    name
        The unknown name.
    known
        The valid names.
    least
        Minimum similarity, from 0 to 1 (`difflib.SequenceMatcher.ratio`).

    Returns
    -------
    str or None
        None if no name is near. A known name whose words are all words of the unknown one is nearest, as
        ``events`` to ``external_events``.
    """
    by_small_letters = {each.lower(): each for each in known}
    words = set(_words(name[:_LONGEST_NAME]))
    contained = [each for each in by_small_letters if words.issuperset(_words(each))]
    if contained and len(words) > 1:
        return by_small_letters[max(contained, key=len)]
    found = difflib.get_close_matches(name[:_LONGEST_NAME].lower(), by_small_letters, n=1, cutoff=least)
    return by_small_letters[found[0]] if found else None


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters."""
    return re.split(r"[\W_]+", name.lower())


def as_message(text: str) -> str:
    """Convert a text to a message: printable except line ends, and about 2000 characters at most.

    Quoted input may be as long as its file, contain control characters of terminals, or unpaired surrogates
    that no file can store. The rule and the next step come last, so the middle is omitted.
    """
    if not text.replace("\n", " ").isprintable():
        text = "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)
    if len(text) <= _LONGEST_MESSAGE:
        return text
    return f"{text[: _LONGEST_MESSAGE - _LONGEST_END]} […] {text[-_LONGEST_END:]}"


def reason_of(error: BaseException) -> str:
    """Return the reason of an error of another library or the system, in one short line.

    Parameters
    ----------
    error
        The error; its message may have many lines and quote its input.

    Returns
    -------
    str
        The first line, printable and of at most 200 characters, without a full stop.
    """
    text = (isinstance(error, OSError) and error.strerror) or str(error).strip() or type(error).__name__
    return one_line(text.splitlines()[0], _LONGEST_REASON).rstrip(".")


def one_line(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return a text of the input for a message: printable, and of limited length."""
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"


def shown(value: object) -> str:
    """Format a value for an error message in one short line.

    Parameters
    ----------
    value
        Any value, also a whole document.

    Returns
    -------
    str
        At most 60 characters, on one line; ``"a whole number of 20000 bits"`` for extremely long integers.
    """
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST_NAME:
        # Python refuses to format integers with more than 4300 digits.
        return f"a whole number of {value.bit_length()} bits"
    text = _representation.repr(value)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def written(path: Sequence[int | str]) -> str:
    """Format a path into a document as in TOML: ``groups[0].resources.core``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if _BARE.fullmatch(part) else shown(part)
            text += f".{key}" if text else key
    return text


class _Representation(reprlib.Repr):
    """Short representations that handle integers too long to format, at any depth of a value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxdict = self.maxlist = self.maxtuple = 3
        self.maxstring = self.maxother = 48

    def repr_int(self, x: int, level: int) -> str:
        """Shorten an integer (the base class calls it for every ``int``)."""
        return "…" if x.bit_length() > 4 * _LONGEST_NAME else super().repr_int(x, level)


_representation = _Representation()
