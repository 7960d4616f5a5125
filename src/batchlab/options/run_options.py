"""Options of a run, as an object, as keyword arguments and as plain values.

`simulate`, `Simulation`, `Experiment`, experiment files, the command line and the manifest use the same
options. To add an option, add a field with its help, a key of the keyword arguments below, and a rule.
Commands derive their options from the fields; tests compare the tables in the documentation with them.
"""

# The types of fields are quoted where they name what checkers alone import: commands read the others.
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Self, TypedDict

from batchlab.core import rules
from batchlab.core.declared import Help, declared, one_of
from batchlab.core.late import control as batchlab_control
from batchlab.core.late import options as batchlab_options
from batchlab.core.late import options_sleep, seam
from batchlab.core.late import platform_network_model as network_model
from batchlab.core.vocabulary import (
    JOB_CHECKS,
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
from batchlab.errors import PlatformError, SimulationError, shown, suggest

if TYPE_CHECKING:
    from batchlab.control import RateControl
    from batchlab.options.overheads import Overheads
    from batchlab.options.sensing import Sensing
    from batchlab.options.sleep import NodeSleep
    from batchlab.platform.network_model import NetworkModel
    from batchlab.seam.invocation import Invocation


__all__ = ["RECORDED", "ExperimentArguments", "RunArguments", "RunOptions"]

# Options with objects as values, which a file describes by a table of their fields.
_DESCRIBED = ("invocation", "overheads", "sensing")


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
    explain
        True to record why each waiting job could not start (S15), for `Result.gates`.
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

    seed: Annotated[int, Help("Seed of everything random.", "N")] = 0
    walltime: Annotated[
        WalltimeAction, Help("What happens at the time limit of a job: keep running, or kill the job.")
    ] = "run"
    order_at_instant: Annotated[
        OrderAtInstant,
        Help(
            "Order of events with the same time stamp: completions_first, arrivals_first or event_by_event.",
            "ORDER",
        ),
    ] = "completions_first"
    job_check: Annotated[
        JobCheck,
        Help(
            "Reject jobs that do not fit on empty nodes, or jobs that ask for more than all nodes have in "
            "total, or none."
        ),
    ] = "nodes"
    odd_jobs: Annotated[
        OddJobAction | None,
        Help(
            "Jobs that name a partition, account, feature or the like that the machine does not have: reject "
            "them, leave them out, or stop.",
            default="reject for logs, error for others",
        ),
    ] = None
    overheads: Annotated[
        "Overheads | str | Mapping[str, Any] | None",
        Help(
            "Overheads of jobs: launch=2, execution='norm(mean=0, sd=1)', "
            "completion='uniform(low=0, high=2)'. Repeatable.",
            "PHASE=TIME",
            word="overhead",
            is_list=True,
        ),
    ] = None
    control: Annotated[
        "RateControl | str | Sequence[RateControl | str] | None",
        Help(
            "Control of service rates: 'workload(1e5, 3e5, rates=[2, 2.66])'. Repeatable for "
            "different node groups.",
            "SPEC",
            default="rate 1",
            is_list=True,
            tables="needs the work of each job",
        ),
    ] = None
    reference_rate: Annotated[
        float,
        Help(
            "Units of work per second of run time, for jobs without a column work.",
            "R",
            tables="needs the work of each job",
        ),
    ] = 1.0
    sleep: Annotated[
        "NodeSleep | str | Mapping[str, Any] | None",
        Help(
            "When idle nodes sleep: 'timeout(300)', 'timeout(suspend=60, off=1800, keep=4, wake=queue)'. The "
            "description of the system names the states.",
            "SPEC",
            default="never",
        ),
    ] = None
    dispatch: Annotated[
        bool,
        Help(
            "Record the cost of each scheduling pass; the simulation takes longer.",
            tables="records every pass",
            records=True,
        ),
    ] = False
    explain: Annotated[
        bool,
        Help(
            "Record what holds back each waiting job: gates.csv in --out.",
            tables="records the run",
            records=True,
        ),
    ] = False
    invocation: Annotated[
        "Invocation | str | Mapping[str, Any] | None",
        Help(
            "Events at which a scheduler written in Python is called, one by one: 'interval=60, "
            "on_submit=false'.",
            "KEY=VALUE,…",
            default="once an instant",
            tables="is about policies of Python files",
        ),
    ] = None
    sharing: Annotated[
        "SharingModel | NetworkModel | str | Mapping[str, Any]",
        Help(
            "Model by which applications share the platform: max_min, fair_bottleneck, bottleneck_max_min; "
            "with parameters 'fair_bottleneck(window=65536)'.",
            "MODEL",
        ),
    ] = "max_min"
    clip_requests: Annotated[
        bool, Help("Clip the request of an application for other tasks to the limits of its job.")
    ] = True
    task_times: Annotated[
        bool,
        Help(
            "Record start and end of each task of applications: task_times.csv in --out.",
            tables="records the run",
            records=True,
        ),
    ] = False
    sensing: Annotated[
        "Sensing | str | Mapping[str, Any] | None",
        Help(
            "Record the utilisation of the platform in equal intervals, 'interval=60, links=[up, down]': "
            "utilisation_*.csv in --out.",
            "KEY=VALUE,…",
            default="none",
            tables="records the run",
            records=True,
        ),
    ] = None
    key_events: Annotated[
        bool,
        Help(
            "Record arrivals, departures and switches of service rates, with the state of the machine: "
            "key_events.csv in --out.",
            tables="records the run",
            records=True,
        ),
    ] = False
    usage: Annotated[
        bool,
        Help(
            "Record the usage of accounts and users: usage.csv in --out.",
            tables="records the run",
            records=True,
        ),
    ] = False
    messages: Annotated[
        bool,
        Help(
            "Count the messages of applications and the load of links: messages.csv, links.csv in --out.",
            tables="records the run",
            records=True,
        ),
    ] = False

    def __post_init__(self) -> None:
        rules.hold(self, SimulationError, **_RULES)
        for name, check in _CHECKS.items():
            check(name, getattr(self, name))
        for name, make in _OBJECTS.items():
            value = getattr(self, name)
            if value is not None or name == "sharing":
                object.__setattr__(self, name, make(name, value))

    @property
    def words(self) -> list[str]:
        """The options that differ from their defaults, as words of a command line."""
        usual, found = type(self)(), []
        for name, option in declared(RunOptions).items():
            value = getattr(self, name)
            if value != getattr(usual, name):
                found += option.words(_text(name, value))
        return found

    @property
    def node_sleep(self) -> "NodeSleep | None":
        """When nodes sleep, as an object."""
        return None if self.sleep is None else _read_sleep("sleep", self.sleep)

    @classmethod
    def of(
        cls,
        options: "RunOptions | None",
        arguments: Mapping[str, Any],
        *,
        function: Callable[..., object],
    ) -> "RunOptions":
        """Build the options of a call that accepts them as an object, by name, or both.

        Parameters
        ----------
        options
            The object. [default: `RunOptions()`]
        arguments
            Fields by name, which take precedence over the object.
        function
            The called function; errors mention its name, and suggest its other arguments too.

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
            known = (_NAMES | signature(function).parameters.keys()) - {"arguments"}
            raise TypeError(f"{function.__name__}() takes no argument {name!r}.{suggest(name, known)}")
        given: object = options
        if not isinstance(given, cls | None):
            rule = "must be a batchlab.RunOptions; single options are passed by name, as seed=1"
            raise SimulationError(f"options = {shown(options)}; {rule}.")
        return replace(options or cls(), **arguments)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build options from plain values, as in a file.

        Parameters
        ----------
        values
            Values by option name; missing options have their defaults. Invocation, overheads and sensing are
            mappings or texts.

        Returns
        -------
        RunOptions
            ``RunOptions.from_dict(options.to_dict()) == options``.

        Raises
        ------
        SimulationError
            If an option is unknown or has an invalid value; the message begins with its name.
        """
        for name in values:
            if name not in _NAMES:
                raise SimulationError(f"{name}: no such key.{suggest(str(name), _NAMES)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return every option as a plain value, for JSON.

        Returns
        -------
        dict
            Values by option name, in the order of the options. Invocation, overheads and sensing are
            dictionaries or None, and sleep is its spec.
        """
        sharing = self.sharing if isinstance(self.sharing, str) else self.sharing.plain  # type: ignore[union-attr]  # made when it was
        control = [str(each) for each in self.controls] or None
        sleep = None if self.sleep is None else str(self.sleep)
        plain = asdict(replace(self, sharing="max_min", control=None, sleep=None))
        return plain | {"sharing": sharing, "control": control, "sleep": sleep}

    @property
    def job_overheads(self) -> "Overheads | None":
        """The overheads of jobs, as an object."""
        return self.overheads  # type: ignore[return-value]  # converted by __post_init__

    @property
    def scheduler_invocation(self) -> "Invocation | None":
        """The events at which a scheduler in Python is called, as an object."""
        return self.invocation  # type: ignore[return-value]  # as above

    @property
    def platform_sensing(self) -> "Sensing | None":
        """The recorded utilisation of the platform, as an object."""
        return self.sensing  # type: ignore[return-value]  # as above

    @property
    def controls(self) -> "tuple[RateControl, ...]":
        """The controls of rates, in order."""
        made = _controls(self.control)
        return made if isinstance(made, tuple) else () if made is None else (made,)

    @property
    def schedule_options(self) -> dict[str, Any]:
        """Options that affect the schedule, by name; the others select recorded data."""
        names = [field.name for field in fields(self)]
        return {name: getattr(self, name) for name in names if name not in RECORDED}

    @property
    def recorded(self) -> list[str]:
        """The names of the options that ask for something to be recorded."""
        return [field.name for field in fields(self) if field.name in RECORDED and getattr(self, field.name)]

    @property
    def unusual(self) -> dict[str, Any]:
        """Options that affect the schedule and have values other than their defaults."""
        usual = RunOptions().schedule_options
        return {name: value for name, value in self.schedule_options.items() if value != usual[name]}


RECORDED = frozenset(name for name, each in declared(RunOptions).items() if each.help.records)
"""Options that select recorded data; they do not change the schedule."""


class ExperimentArguments(TypedDict, total=False):
    """The options of a run as keyword arguments, without the seed: an experiment has several seeds."""

    walltime: WalltimeAction
    order_at_instant: OrderAtInstant
    job_check: JobCheck
    odd_jobs: OddJobAction | None
    overheads: "Overheads | str | Mapping[str, Any] | None"
    control: "RateControl | str | Sequence[RateControl | str] | None"
    reference_rate: float
    sleep: "NodeSleep | str | Mapping[str, Any] | None"
    dispatch: bool
    explain: bool
    invocation: "Invocation | str | Mapping[str, Any] | None"
    sharing: "SharingModel | NetworkModel | str | Mapping[str, Any]"
    clip_requests: bool
    task_times: bool
    sensing: "Sensing | str | Mapping[str, Any] | None"
    key_events: bool
    usage: bool
    messages: bool


class RunArguments(ExperimentArguments, total=False):
    """The options of a run as keyword arguments."""

    seed: int


_NAMES = frozenset(field.name for field in fields(RunOptions))


def _check_odd_jobs(name: str, value: object) -> None:
    if value is not None:
        _one_of(ODD_JOB_ACTIONS)(name, value)


def _object(name: str, value: object) -> "Invocation | Overheads | Sensing":
    """Build the object of an option in `_DESCRIBED`."""
    kinds = {
        "invocation": seam.Invocation,
        "overheads": batchlab_options.Overheads,
        "sensing": batchlab_options.Sensing,
    }
    kind: type[Invocation | Overheads | Sensing] = kinds[name]
    return kind.of(value)


def _controls(value: object) -> "RateControl | tuple[RateControl, ...] | None":
    """Build controls from the value of an option, a file or the command line."""
    if value is None:
        return None

    if isinstance(value, batchlab_control.RateControl):
        return value
    if isinstance(value, str):
        return batchlab_control.parse_control(value)
    if not isinstance(value, Sequence):
        rule = "must be a batchlab.RateControl, its spec string, or a sequence of them"
        raise SimulationError(f"control = {shown(value)}; {rule}.")
    made = tuple(_controls(each) for each in value)
    controls = tuple(each for each in made if isinstance(each, batchlab_control.RateControl))
    if len(controls) != len(made):
        raise SimulationError(f"control = {shown(value)}; must hold controls and nothing else.")
    return controls[0] if len(controls) == 1 else controls or None


def _one_of(choices: Sequence[str]) -> Callable[[str, object], None]:
    def check(name: str, value: object) -> None:
        if value not in choices:
            raise SimulationError(f"{name} = {shown(value)}; {one_of(choices)}.")

    return check


def _sharing(name: str, value: object) -> "str | NetworkModel":
    if isinstance(value, str) and value in SHARING_MODELS:
        return value

    try:
        network = network_model.NetworkModel.of(value)
    except PlatformError as error:
        raise SimulationError(f"{name} = {shown(value)}; {error}") from None
    if not network.knows_tasks:
        rule = f"{network.model} knows flows only, and applications make parallel tasks"
        known = " or ".join(map(repr, SHARING_MODELS))
        raise SimulationError(f"{name} = {shown(value)}; {rule}. Use {known}.")
    return network if network.changed else network.model


_RULES: Mapping[str, rules.Rule[object]] = {
    "seed": rules.SEED,
    "reference_rate": rules.POSITIVE,
    **{each.name: rules.truth for each in fields(RunOptions) if isinstance(each.default, bool)},
}
# Functions of the name and value of an option that raise an error if the value is wrong.
_CHECKS: Mapping[str, Callable[[str, object], None]] = {
    "walltime": _one_of(WALLTIME_ACTIONS),
    "order_at_instant": _one_of(ORDERS_AT_INSTANT),
    "job_check": _one_of(JOB_CHECKS),
    "odd_jobs": _check_odd_jobs,
}


def _read_sleep(name: str, value: object) -> "NodeSleep":

    try:
        return options_sleep.NodeSleep.of(value)
    except SimulationError as error:
        raise SimulationError(f"{name}: {error}") from None


# How the objects of options are made; those of other options are their values.
_OBJECTS: Mapping[str, Callable[[str, object], object]] = {
    "control": lambda _, value: _controls(value),
    "sleep": _read_sleep,
    "sharing": _sharing,
    **dict.fromkeys(_DESCRIBED, _object),
}


def _text(name: str, value: Any) -> object:  # noqa: ANN401  # the value of any option
    """Return the value of an option as text, or as the mapping of which `Declared.words` makes text."""
    if name in _DESCRIBED:
        return value.plain
    if name == "sharing":
        return value if isinstance(value, str) else value.spec
    if name == "control":
        return [str(each) for each in (value if isinstance(value, tuple) else (value,))]
    return str(value) if name == "sleep" else value
