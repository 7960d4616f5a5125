"""The options of a run: one object for every way of running, and its forms as keyword arguments and as text.

`simulate`, `Simulation`, `Experiment`, an experiment's file, the command line and the manifest use it alike.
An option is added here: as a field, as a key of the keyword arguments below, and with its rule.
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

# Options whose values are objects, which a file describes by a table of their fields.
_DESCRIBED = frozenset({"invocation", "overheads", "sensing"})
# Options that say what is recorded; they do not bear on the schedule.
_RECORDED = frozenset({"dispatch", "key_events", "reasons", "task_times", "sensing", "usage", "messages"})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    An object is a value: it can be compared, hashed, pickled and written to a file. Observers keep a state of
    their own, as policies do, and are passed separately.

    Parameters
    ----------
    seed
        Of everything random; an integer in [0, 2^64). Same inputs and seed, same result.
    walltime
        ``"run"``: every job runs its run_time. ``"kill"``: it is killed at its time_limit (S4).
    order_at_instant
        ``"completions_first"``: at one instant completions, submissions, one scheduling pass (S2).
        ``"arrivals_first"``: submissions, completions, a pass after each, as PYSS does.
        ``"event_by_event"``: completions, submissions, a pass after each, as recursions over events do.
    job_check
        Which jobs are rejected at their submission: ``"nodes"``, those that would not fit on empty nodes;
        ``"total"``, those that ask for more than the nodes have in all; ``"none"``, no job (S3). A job that
        never fits and is not rejected waits for ever.
    odd_jobs
        What happens to jobs that name a partition, queue, reservation, node group, feature, account, user or
        QOS that the system does not have, or whose constraint is not modelled: ``"reject"`` rejects them,
        reason ``unknown``; ``"leave_out"`` leaves them out, and the report lists them; ``"error"`` raises at
        the first. Unless given, those of a log are rejected, and those of other workloads are an error.
    overheads
        What jobs spend on their nodes besides their runs (S17): an `Overheads`; nothing unless given.
    control
        At which rates the machine serves jobs (S19): a `RateControl`, its spec string, or a sequence with one
        for each of several sets of node groups. All serve at rate 1 unless given.
    reference_rate
        Units of work that jobs without a column ``work`` have for each second of their run_time, > 0.
    sleep
        When nodes sleep (S21): a `NodeSleep`, or its spec, as ``"timeout(300)"``; never unless given.
    dispatch
        Whether to record the cost of every scheduling pass, for `Result.dispatch`.
    reasons
        Whether to record why each job waited when, for `Result.reasons`.
    invocation
        Which events a scheduler written in Python is asked about, one by one; unless given, it is asked once
        an instant.
    sharing
        How what applications do shares the platform: a `NetworkModel` that knows parallel tasks, or the name
        of one: ``"max_min"``, ``"fair_bottleneck"`` as ElastiSim does, ``"bottleneck_max_min"``.
    clip_requests
        Whether an application that asks for other tasks gets what its job's limits admit; else it cannot go
        on with a request beyond them.
    task_times
        Whether to record when each task of an application began and ended, for `Result.task_times`.
    sensing
        What of the platform to look at, and how often, for `Result.utilisation`.
    key_events
        Whether to record arrivals, departures and switches of rates, each with what the machine was like
        after it, for `Result.key_events`; where rates are controlled.
    usage
        Whether to record what accounts and users have used, for `Result.usage`.
    messages
        Whether to count the messages of jobs that carry skeletons, and to record the load of links, for
        `Result.messages` and `Result.links`; on a platform.

    Raises
    ------
    SimulationError
        If an option is not one of its values, or two do not go together.

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
        """Make the options of a call that takes them as an object, by name, or both.

        Parameters
        ----------
        options
            The object; the usual options unless given.
        arguments
            Single options by name, which replace those of the object.
        function
            What was called, for the error.

        Returns
        -------
        RunOptions

        Raises
        ------
        TypeError
            If there is no option of a name.
        SimulationError
            If an option is not one of its values.
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
        """Make options of plain values, as a file has them.

        Parameters
        ----------
        values
            By the names of the options; what is missing is as usual. Invocation, overheads and sensing are
            mappings.

        Returns
        -------
        RunOptions
            ``RunOptions.from_dict(options.to_dict()) == options``.

        Raises
        ------
        SimulationError
            If there is no such option, or it is not one of its values; the message begins with its name.
        """
        _refuse_unknown(values, _NAMES)
        return cls(**{name: _read(name, value) for name, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Give every option as a plain value, ready for JSON.

        Returns
        -------
        dict
            By the names of the options, in their order; invocation, overheads and sensing are dictionaries or
            None, and sleep is its spec.
        """
        sharing = self.sharing if isinstance(self.sharing, str) else self.sharing.plain
        control = [str(each) for each in self.controls] or None
        sleep = None if self.sleep is None else str(self.sleep)
        plain = asdict(replace(self, sharing="max_min", control=None, sleep=None))
        return plain | {"sharing": sharing, "control": control, "sleep": sleep}

    @property
    def controls(self) -> tuple[RateControl, ...]:
        """The controls of the rates, in their order."""
        made = _controls(self.control)
        return made if isinstance(made, tuple) else () if made is None else (made,)

    @property
    def schedule_options(self) -> dict[str, Any]:
        """The options that bear on the schedule, by name; the others say what is recorded."""
        names = [field.name for field in fields(self)]
        return {name: getattr(self, name) for name in names if name not in _RECORDED}

    @property
    def unusual(self) -> dict[str, Any]:
        """Those of the options that bear on the schedule that are not as usual."""
        usual = RunOptions().schedule_options
        return {name: value for name, value in self.schedule_options.items() if value != usual[name]}


class ExperimentArguments(TypedDict, total=False):
    """The options of a run as keyword arguments, but for the seed, of which an experiment has several."""

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
    """Give the class of an option of `_DESCRIBED`."""
    from batchlab import options, seam  # noqa: PLC0415  # plain runs, which import little, have none

    kinds = {"invocation": seam.Invocation, "overheads": options.Overheads, "sensing": options.Sensing}
    return kinds[name]


def _controls(value: object) -> RateControl | tuple[RateControl, ...] | None:
    """Make controls of what an option, a file or the command line gives."""
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
    # Streamed runs, which import little, come with a name.
    from batchlab.platform.network_model import NetworkModel  # noqa: PLC0415

    try:
        network = NetworkModel.of(value)
    except PlatformError as error:
        raise SimulationError(f"{name} = {shown(value)}; {error}") from None
    if not network.knows_tasks:
        rule = f"{network.model} knows flows only, and applications make parallel tasks"
        known = " or ".join(map(repr, SHARING_MODELS))
        raise SimulationError(f"{name} = {shown(value)}; {rule}. Use {known}.")


# What each option must be: a function of its name and value that refuses a wrong one.
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
    """Make an object of the mapping that describes it; other values are as they are."""
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
