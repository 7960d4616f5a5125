"""Options of a run, as an object, as keyword arguments and as plain values.

`simulate`, `Simulation`, `Experiment`, experiment files, the command line and the manifest use the same
options. To add an option, add a field, a key of the keyword arguments below, and a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

from batchlab.errors import PlatformError, SimulationError, shown, suggest
from batchlab.units import is_finite, is_whole
from batchlab.vocabulary import (
    JOB_CHECKS,
    LARGEST_SEED,
    ODD_JOB_ACTIONS,
    ORDERS_AT_INSTANT,
    SHARING_MODELS,
    WALLTIME_ACTIONS,
    JobCheck,
    OddJobAction,
    OrderAtInstant,
    SharingModel,
    WalltimeAction,
)

if TYPE_CHECKING:
    from batchlab.control import RateControl
    from batchlab.options.overheads import Overheads
    from batchlab.options.sensing import Sensing
    from batchlab.options.sleep import NodeSleep
    from batchlab.platform.network_model import NetworkModel
    from batchlab.seam.invocation import Invocation

__all__ = ["ExperimentArguments", "RunArguments", "RunOptions"]

# Options with objects as values, which a file describes by a table of their fields.
_DESCRIBED = frozenset({"invocation", "overheads", "sensing"})
# Options that select recorded data; they do not change the schedule.
_RECORDED = frozenset({"dispatch", "key_events", "reasons", "task_times", "sensing", "usage", "messages"})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    An object is a value: it can be compared, hashed, pickled and written to a file. Observers have a state,
    like policies, and are passed separately.

    Parameters
    ----------
    seed
        Seed of all random numbers, an integer in [0, 2^64). Equal inputs and seeds have equal results.
    walltime
        What happens at the time limit. ``"run"``: every job runs its run_time. ``"kill"``: a job is killed at
        its time_limit (S4).
    order_at_instant
        Order of events with the same time stamp. ``"completions_first"``: completions, submissions, one
        scheduling pass (S2). ``"arrivals_first"``: submissions, completions, a pass after each, as in PYSS.
        ``"event_by_event"``: completions, submissions, a pass after each, as in recursions over events.
    job_check
        Jobs that are rejected at submission: ``"nodes"``, jobs that do not fit on empty nodes; ``"total"``,
        jobs that request more than the total of all nodes; ``"none"``, no job (S3). A job that never fits and
        is not rejected waits until the end of the run.
    odd_jobs
        Treatment of jobs with an unknown partition, queue, reservation, node group, feature, account, user or
        QOS, or with an unsupported constraint: ``"reject"`` rejects them with the reason ``unknown``;
        ``"leave_out"`` drops them and lists them in the report; ``"error"`` raises at the first one.
        [default: reject for logs, error for other workloads]
    overheads
        Time that jobs occupy their nodes in addition to their runs (S17): an `Overheads`. [default: none]
    control
        The rate at which the machine serves jobs (S19): a `RateControl`, its spec string, or a sequence with
        one for each set of node groups. [default: all nodes serve at rate 1]
    reference_rate
        Units of work per second of run_time, for jobs without a column ``work``; > 0.
    sleep
        When nodes sleep (S21): a `NodeSleep`, or its spec such as ``"timeout(300)"``. [default: never]
    dispatch
        True to record the cost of every scheduling pass, for `Result.dispatch`.
    reasons
        True to record the reasons why jobs wait, for `Result.reasons`.
    invocation
        Events for which a scheduler written in Python is called, one by one. [default: one call per instant]
    sharing
        How the activities of applications share the platform: a `NetworkModel` that supports parallel tasks,
        or its name: ``"max_min"``, ``"fair_bottleneck"`` as in ElastiSim, ``"bottleneck_max_min"``.
    clip_requests
        True to clip an application's request for another number of tasks to its job's limits; otherwise the
        application cannot continue after a request beyond them.
    task_times
        True to record begin and end of each task of applications, for `Result.task_times`.
    sensing
        Quantities of the platform to observe periodically, for `Result.utilisation`.
    key_events
        True to record arrivals, departures and changes of rates, each with the state of the machine after it,
        for `Result.key_events`; requires controlled rates.
    usage
        True to record the usage of accounts and users, for `Result.usage`.
    messages
        True to count the messages of jobs with skeletons, and to record the load of links, for
        `Result.messages` and `Result.links`; requires a platform.

    Raises
    ------
    SimulationError
        If an option has an invalid value, or two options contradict each other.

    Examples
    --------
    >>> options = RunOptions(seed=1, walltime="kill")
    >>> options.unusual
    {'seed': 1, 'walltime': 'kill'}
    >>> RunOptions.from_dict({"seed": 1, "walltime": "kill"}) == options
    True
    """

    seed: int = 0
    walltime: WalltimeAction = "run"
    order_at_instant: OrderAtInstant = "completions_first"
    job_check: JobCheck = "nodes"
    odd_jobs: OddJobAction | None = None
    overheads: Overheads | None = None
    control: RateControl | str | Sequence[RateControl | str] | None = None
    reference_rate: float = 1.0
    sleep: NodeSleep | str | None = None
    dispatch: bool = False
    reasons: bool = False
    invocation: Invocation | None = None
    sharing: SharingModel | NetworkModel = "max_min"
    clip_requests: bool = True
    task_times: bool = False
    sensing: Sensing | None = None
    key_events: bool = False
    usage: bool = False
    messages: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "control", _controls(self.control))
        for name, check in _RULES.items():
            check(name, getattr(self, name))
        if self.sleep is not None:
            object.__setattr__(self, "sleep", _read_sleep(self.sleep))

    @property
    def node_sleep(self) -> NodeSleep | None:
        """When nodes sleep, as an object."""
        return None if self.sleep is None else _read_sleep(self.sleep)

    @classmethod
    def of(cls, options: RunOptions | None, arguments: Mapping[str, Any], *, function: str) -> RunOptions:
        """Build the options of a call that accepts them as an object, by name, or both.

        Parameters
        ----------
        options
            The object. [default: `RunOptions()`]
        arguments
            Fields by name, which take precedence over the object.
        function
            Name of the called function, for errors.

        Returns
        -------
        RunOptions

        Raises
        ------
        TypeError
            If an option is unknown.
        SimulationError
            If an option has an invalid value.
        """
        for name in arguments.keys() - _NAMES:
            raise TypeError(f"{function} takes no argument {name!r}.{suggest(name, _NAMES)}")
        given: object = options
        if not isinstance(given, cls | None):
            rule = "must be a batchlab.RunOptions; single options are passed by name, as seed=1"
            raise SimulationError(f"options = {shown(options)}; {rule}.")
        return replace(options or cls(), **arguments)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunOptions:
        """Build options from plain values, as in a file.

        Parameters
        ----------
        values
            Values by option name; missing options have their defaults. Invocation, overheads and sensing are
            mappings.

        Returns
        -------
        RunOptions
            ``RunOptions.from_dict(options.to_dict()) == options``.

        Raises
        ------
        SimulationError
            If an option is unknown or has an invalid value; the message begins with its name.
        """
        _refuse_unknown(values, _NAMES)
        return cls(**{name: _read(name, value) for name, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return every option as a plain value, for JSON.

        Returns
        -------
        dict
            Values by option name, in the order of the options. Invocation, overheads and sensing are
            dictionaries or None, and sleep is its spec.
        """
        sharing = self.sharing if isinstance(self.sharing, str) else self.sharing.plain
        control = [str(each) for each in self.controls] or None
        sleep = None if self.sleep is None else str(self.sleep)
        plain = asdict(replace(self, sharing="max_min", control=None, sleep=None))
        return plain | {"sharing": sharing, "control": control, "sleep": sleep}

    @property
    def controls(self) -> tuple[RateControl, ...]:
        """The controls of rates, in order."""
        made = _controls(self.control)
        return made if isinstance(made, tuple) else () if made is None else (made,)

    @property
    def schedule_options(self) -> dict[str, Any]:
        """Options that affect the schedule, by name; the others select recorded data."""
        names = [field.name for field in fields(self)]
        return {name: getattr(self, name) for name in names if name not in _RECORDED}

    @property
    def unusual(self) -> dict[str, Any]:
        """Options that affect the schedule and have values other than their defaults."""
        usual = RunOptions().schedule_options
        return {name: value for name, value in self.schedule_options.items() if value != usual[name]}


class ExperimentArguments(TypedDict, total=False):
    """The options of a run as keyword arguments, without the seed: an experiment has several seeds."""

    walltime: WalltimeAction
    order_at_instant: OrderAtInstant
    job_check: JobCheck
    odd_jobs: OddJobAction | None
    overheads: Overheads | None
    control: RateControl | str | Sequence[RateControl | str] | None
    reference_rate: float
    sleep: NodeSleep | str | None
    dispatch: bool
    reasons: bool
    invocation: Invocation | None
    sharing: SharingModel | NetworkModel
    clip_requests: bool
    task_times: bool
    sensing: Sensing | None
    key_events: bool
    usage: bool
    messages: bool


class RunArguments(ExperimentArguments, total=False):
    """The options of a run as keyword arguments."""

    seed: int


_NAMES = frozenset(field.name for field in fields(RunOptions))


def _check_seed(name: str, value: object) -> None:
    if not is_whole(value) or not 0 <= value <= LARGEST_SEED:
        raise SimulationError(f"{name} = {shown(value)}; must be an integer in [0, 2^64).")


def _check_odd_jobs(name: str, value: object) -> None:
    if value is not None:
        _one_of(ODD_JOB_ACTIONS)(name, value)


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise SimulationError(f"{name} = {shown(value)}; must be True or False.")


def _check_object(name: str, value: object) -> None:
    if value is None:
        return
    kind = _described(name)
    if not isinstance(value, kind):
        raise SimulationError(f"{name} = {shown(value)}; must be a batchlab.{kind.__name__}, or None.")


def _described(name: str) -> type[Invocation | Overheads | Sensing]:
    """Return the class of an option in `_DESCRIBED`."""
    from batchlab import options, seam  # noqa: PLC0415  # plain runs, which import little, have none

    kinds = {"invocation": seam.Invocation, "overheads": options.Overheads, "sensing": options.Sensing}
    return kinds[name]


def _controls(value: object) -> RateControl | tuple[RateControl, ...] | None:
    """Build controls from the value of an option, a file or the command line."""
    if value is None:
        return None
    from batchlab.control import RateControl, parse_control  # noqa: PLC0415  # as above

    if isinstance(value, RateControl):
        return value
    if isinstance(value, str):
        return parse_control(value)
    if not isinstance(value, Sequence):
        rule = "must be a batchlab.RateControl, its spec string, or a sequence of them"
        raise SimulationError(f"control = {shown(value)}; {rule}.")
    made = tuple(_controls(each) for each in value)
    controls = tuple(each for each in made if isinstance(each, RateControl))
    if len(controls) != len(made):
        raise SimulationError(f"control = {shown(value)}; must hold controls and nothing else.")
    return controls[0] if len(controls) == 1 else controls or None


def _check_positive(name: str, value: object) -> None:
    if not is_finite(value) or value <= 0:
        raise SimulationError(f"{name} = {shown(value)}; must be a finite number > 0.")


def _one_of(choices: Sequence[str]) -> Callable[[str, object], None]:
    def check(name: str, value: object) -> None:
        if value not in choices:
            known = " or ".join(map(repr, choices))
            raise SimulationError(f"{name} = {shown(value)}; must be {known}.")

    return check


def _check_sharing(name: str, value: object) -> None:
    if isinstance(value, str) and value in SHARING_MODELS:
        return
    # Imported late: streamed runs pass a name and import little.
    from batchlab.platform.network_model import NetworkModel  # noqa: PLC0415

    try:
        network = NetworkModel.of(value)
    except PlatformError as error:
        raise SimulationError(f"{name} = {shown(value)}; {error}") from None
    if not network.knows_tasks:
        rule = f"{network.model} knows flows only, and applications make parallel tasks"
        known = " or ".join(map(repr, SHARING_MODELS))
        raise SimulationError(f"{name} = {shown(value)}; {rule}. Use {known}.")


# A check for each option: a function of name and value that raises for invalid values.
_RULES: Mapping[str, Callable[[str, object], None]] = {
    "seed": _check_seed,
    "walltime": _one_of(WALLTIME_ACTIONS),
    "order_at_instant": _one_of(ORDERS_AT_INSTANT),
    "job_check": _one_of(JOB_CHECKS),
    "odd_jobs": _check_odd_jobs,
    "overheads": _check_object,
    "reference_rate": _check_positive,
    "dispatch": _check_flag,
    "reasons": _check_flag,
    "invocation": _check_object,
    "sharing": _check_sharing,
    "clip_requests": _check_flag,
    "task_times": _check_flag,
    "sensing": _check_object,
    "key_events": _check_flag,
    "usage": _check_flag,
    "messages": _check_flag,
}


def _refuse_unknown(values: Mapping[str, object], known: frozenset[str]) -> None:
    for name in values:
        if name not in known:
            raise SimulationError(f"{name}: no such key.{suggest(str(name), known)}")


def _read_sleep(value: object) -> NodeSleep:
    from batchlab.options.sleep import NodeSleep  # noqa: PLC0415  # as above

    try:
        return NodeSleep.of(value)
    except SimulationError as error:
        raise SimulationError(f"sleep: {error}") from None


def _read(name: str, value: Any) -> Any:  # noqa: ANN401  # the rules look at it
    """Build an object from the mapping that describes it; return other values unchanged."""
    if name == "sleep" and value is not None:
        return _read_sleep(value)
    if name == "sharing" and isinstance(value, Mapping):
        _check_sharing(name, value)
        from batchlab.platform.network_model import NetworkModel  # noqa: PLC0415  # as above

        return NetworkModel.of(value)
    if name not in _DESCRIBED or not isinstance(value, Mapping):
        return value
    kind = _described(name)
    try:
        _refuse_unknown(value, frozenset(field.name for field in fields(kind)))
        return kind(**value)
    except SimulationError as error:
        raise SimulationError(f"{name}.{error}") from None
    except TypeError:
        needed = next(field.name for field in fields(kind) if field.name not in value)
        raise SimulationError(f"{name}.{needed} is missing; add it.") from None
