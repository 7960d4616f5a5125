"""Policies: an order, a backfilling rule, an allocator, by name or written in Python; and their spec strings.

::

    spec     = name | name "(" [argument {"," argument}] ")"
    name     = an order, a backfilling rule (with the order fcfs unless given), a discipline, or a scheduler
    argument = key "=" value | value            (a value without a key: the seed or the formula)
    keys     : order, backfill, allocator, reservations, predictor; seed for random, growth for sbp,
               those of `Multifactor` for multifactor, and those of `SlurmParameters` for slurm

``easy`` is ``fcfs`` with backfill ``easy``; ``first_fit`` is ``fcfs(backfill=first_fit)``; ``configured`` is
the policy of the system's configuration (`System.policy`). Names of papers, such as ``FCFS/BF``, stand for
specs (`registry.PAPER_NAMES`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, cast

from batchlab.core import spec
from batchlab.core.late import core_markup as markup
from batchlab.core.late import policy_schedulers as schedulers
from batchlab.core.late import policy_slurm
from batchlab.errors import PolicyError, PolicyNotFound, shown, suggest
from batchlab.policy.parts import allocator_spec, known, order_spec, refuse_others, whole
from batchlab.policy.registry import (
    ALLOCATORS,
    BACKFILLS,
    DISCIPLINES,
    ORDERS,
    PAPER_NAMES,
    PREDICTORS,
    SCHEDULERS,
    SIZE_ORDERS,
    SPECS,
)
from batchlab.seam.components import Allocator, Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from batchlab.core.vocabulary import (
        BackfillName,
        DisciplineName,
        PredictorName,
        SizeOrderName,
    )
    from batchlab.policy.slurm import SlurmParameters
    from batchlab.seam.components import Predictor


__all__ = ["CONFIGURED", "Policy", "as_policy"]

CONFIGURED = "configured"
"""Name of the policy that the configuration of a system describes."""

_MOST_RESERVATIONS = 2**31 - 1
_KEYS = ("order", "backfill", "allocator", "reservations", "predictor")
_TABLES = {
    "backfill": ("backfilling rule", {**BACKFILLS, **DISCIPLINES}),
    "predictor": ("predictor", PREDICTORS),
}


@dataclass(frozen=True, repr=False)
class Policy:
    """Which job runs next, and on which nodes.

    Parameters
    ----------
    order
        A name in `batchlab.policy.ORDERS`; ``random(SEED)`` (``random`` is ``random(0)``) and
        ``expression("FORMULA")`` include their argument, ``sbp(growth=0.1)`` and
        ``multifactor(age=1000, …)`` their parameters. Or a function: of the columns of all jobs, for constant
        keys; or of the columns of the waiting jobs and the present time, for time-dependent keys. It returns
        one number per job; the smallest is first.
    backfill
        ``"none"``, ``"first_fit"``, ``"easy"``, ``"conservative"`` or ``"slurm"``; or a name in
        `batchlab.policy.DISCIPLINES`, which has its own order: then `order` must be ``"fcfs"``.
    allocator
        A name in `batchlab.policy.ALLOCATORS`, with its parameters if any, as in
        ``"dual_end(order=boxes(2, 1, 2), threshold=3600)"``; or an `Allocator`.
    reservations
        Number of waiting jobs for which ``easy`` holds a reservation; at least 1, and 1 for other rules.
    predictor
        Source of run time estimates: a name in `batchlab.policy.PREDICTORS`, or a `Predictor`.
    scheduler
        A `Scheduler`, which replaces the backfilling rule and sees the queue sorted by `order`.
    slurm
        The parameters of the backfilling rule ``slurm``. [default: `SlurmParameters()`]
    defined_as
        Place of a policy from a Python file, as in ``my_policy.py:Mine``; ``str`` returns it.
    configured
        True for ``configured``, the policy of the system's configuration; all other arguments are defaults.
    written
        The keys in the spec of a policy ``slurm``. On a system with a configured policy, the other keys get
        the values of the configuration. None if the policy was not parsed from a spec; then the
        configuration is not used.

    Raises
    ------
    PolicyNotFound
        If a name is unknown.
    PolicyError
        If a value is invalid, or values contradict each other.

    Examples
    --------
    >>> str(Policy(order="sjf", backfill="easy"))
    'easy(order=sjf)'
    >>> Policy.parse("easy(order=sjf)").order
    'sjf'
    """

    order: str | Callable[..., npt.ArrayLike] = "fcfs"
    backfill: BackfillName | DisciplineName = "none"
    allocator: str | Allocator = "first_fit"
    reservations: int = 1
    predictor: PredictorName | Predictor = "requested"
    scheduler: Scheduler | None = None
    slurm: SlurmParameters | None = None
    defined_as: str = field(default="", compare=False)
    configured: bool = False
    written: frozenset[str] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.configured:
            self._check_configured()
            return
        if isinstance(self.order, str):
            object.__setattr__(self, "order", order_spec(*SPECS.parse(self.order)))
        elif not callable(cast("object", self.order)):
            rule = "must be a name, e.g. 'fcfs', or a function of the jobs' columns"
            raise PolicyError(f"order = {shown(self.order)}; {rule}.")
        known("backfilling rule", self.backfill, {**BACKFILLS, **DISCIPLINES})
        if isinstance(self.allocator, str):
            object.__setattr__(self, "allocator", allocator_spec(*SPECS.parse(self.allocator)))
        elif not isinstance(cast("object", self.allocator), Allocator):
            raise PolicyError(f"allocator = {shown(self.allocator)}; must be a name.")
        if not callable(getattr(self.predictor, "estimate", None)):
            known("predictor", self.predictor, PREDICTORS)
        reservations = whole("reservations", self.reservations, 1, _MOST_RESERVATIONS)
        object.__setattr__(self, "reservations", reservations)
        if reservations > 1 and self.backfill != "easy":
            rule = f"goes with backfill easy, not with {self.backfill}; leave it out."
            raise PolicyError(f"reservations = {reservations} {rule}")
        if self.backfill in DISCIPLINES and self.order != "fcfs":
            rule = f"{self.backfill} takes the jobs in an order of its own; leave the order out."
            raise PolicyError(f"order = {shown(_name_of(self.order))}; {rule}")
        if self.order == "reject" and (self.backfill, self.allocator) != ("none", "first_fit"):
            raise PolicyError("reject starts no job; it goes with no backfilling rule and no allocator.")
        self._check_slurm()
        self._check_pieces()

    def _check_configured(self) -> None:
        """Raise if other arguments are given with ``configured``."""
        for each in fields(self):
            if each.compare and each.name != CONFIGURED and getattr(self, each.name) != each.default:
                rule = "the configuration of the system says everything; leave it out."
                raise PolicyError(f"{each.name} goes not with the policy {CONFIGURED}: {rule}")

    def _check_slurm(self) -> None:
        """Set the parameters of the rule ``slurm``, and raise for arguments that the rule does not use."""
        if self.slurm is None and self.backfill != "slurm":
            return

        if not isinstance(cast("object", self.slurm), policy_slurm.SlurmParameters | None):
            raise PolicyError(f"slurm = {shown(self.slurm)}; must be SlurmParameters.")
        if self.backfill != "slurm":
            rule = f"goes with backfill slurm, not with {self.backfill}; leave it out."
            raise PolicyError(f"slurm = {shown(self.slurm)} {rule}")
        object.__setattr__(self, "slurm", self.slurm or policy_slurm.SlurmParameters())
        least = cast("SlurmParameters", self.slurm).bf_min_prio_reserve
        if least and not _name_of(self.order).startswith("multifactor"):
            rule = "goes with the order multifactor, which gives jobs priorities; leave it out."
            raise PolicyError(f"bf_min_prio_reserve = {least}; {rule}")
        for piece, usual in (("allocator", "first_fit"), ("predictor", "requested")):
            given = getattr(self, piece)
            if given != usual:
                rule = "Slurm's controller selects nodes itself and goes by time limits; leave it out."
                raise PolicyError(f"{piece} = {shown(_name_of(given))}; {rule}")

    def _check_pieces(self) -> None:
        """Raise if parts written in Python do not match the other parts."""
        if not isinstance(cast("object", self.scheduler), Scheduler | None):
            rule = "must be an object of a subclass of batchlab.Scheduler"
            raise PolicyError(f"scheduler = {shown(self.scheduler)}; {rule}.")
        if self.scheduler is not None and self.backfill != "none":
            raise PolicyError(f"a scheduler decides itself; it does not go with backfill {self.backfill}.")

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Parse a policy's spec string.

        Parameters
        ----------
        text
            For instance ``"easy"``, ``"easy(order=sjf, allocator=best_fit)"``, ``"random(7)"``,
            ``"fcfs(backfill=first_fit)"`` or ``'expression("requested_time * tasks")'``; or a name of
            a paper, such as ``"FCFS/BF"``.

        Returns
        -------
        Policy
            ``Policy.parse(str(policy)) == policy``.

        Raises
        ------
        PolicyNotFound
            If a name is unknown, or has two meanings; the message names the known ones.
        PolicyError
            If the spec is invalid; the message states the position.
        """
        if not isinstance(text, str):
            raise PolicyError(f"policy = {shown(text)}; must be a spec string, e.g. 'easy(order=sjf)'.")
        return _policy(*SPECS.parse(_of_paper(text)))

    def on(self, configuration: str) -> Policy:
        """Return the policy for a system.

        Parameters
        ----------
        configuration
            The spec string of the system's configured policy (`System.policy`); empty if it has none.

        Returns
        -------
        Policy
            ``configured`` becomes the configured policy. A ``slurm`` policy parsed from a spec gets every key
            that its spec does not name from a configured ``slurm`` policy. Other policies do not change.

        Raises
        ------
        PolicyError
            If the policy is ``configured`` and the system has no configured policy.

        Examples
        --------
        >>> str(Policy.parse("slurm(bf_interval=60)").on("slurm(select=cores, bf_interval=90)"))
        'slurm(select=cores, bf_interval=60)'
        """
        if self.configured and not configuration:
            raise PolicyError(
                f"policy = {CONFIGURED}; the description of the system has no policy. Give Slurm's "
                "slurm.conf as the system (--system DIR), or name a policy."
            )
        if self.configured:
            return Policy.parse(configuration)
        if self.slurm is None or self.written is None or not configuration:
            return self
        configured = Policy.parse(configuration)
        if configured.slurm is None:
            return self

        by_priority = "order" not in self.written or _name_of(self.order).startswith("multifactor")
        return replace(
            self,
            slurm=policy_slurm.over(configured.slurm, self.slurm, self.written, by_priority=by_priority),
            order=self.order if "order" in self.written else configured.order,
            written=self.written | cast("frozenset[str]", configured.written),
        )

    def __str__(self) -> str:
        """Return the canonical spec string; parts written in Python appear under their own names."""
        if self.defined_as:
            return self.defined_as
        if self.configured:
            return CONFIGURED
        arguments: list[str] = []
        order = _name_of(self.order)
        name, argument = order.partition("(")[0], _argument(order)
        if self.scheduler is not None or self.backfill in {"easy", "conservative", "slurm", *DISCIPLINES}:
            name, argument = (self.backfill, "") if self.scheduler is None else _written(self.scheduler)
            written = self.written or frozenset()
            of_slurm = "" if self.slurm is None else self.slurm.arguments(written)
            arguments += [of_slurm] if of_slurm else []
            arguments += [f"order={order}"] if self.order != "fcfs" or "order" in written else []
            arguments += [argument] if argument else []
        else:
            arguments += [argument] if argument else []
            arguments += [f"backfill={self.backfill}"] if self.backfill != "none" else []
        arguments += [f"allocator={_name_of(self.allocator)}"] if self.allocator != "first_fit" else []
        arguments += [f"reservations={self.reservations}"] if self.reservations != 1 else []
        arguments += [f"predictor={_name_of(self.predictor)}"] if self.predictor != "requested" else []
        return f"{name}({', '.join(arguments)})" if arguments else name

    def __repr__(self) -> str:
        return f"<Policy {self}>"

    def _repr_html_(self) -> str:

        parts = ("order", "backfill", "allocator", "predictor", "scheduler")
        facts = [(part, _name_of(getattr(self, part))) for part in parts if getattr(self, part) is not None]
        return markup.card(f"Policy {self}", [*facts, ("reservations", str(self.reservations))])

    @property
    def is_named(self) -> bool:
        """True if all parts are built in, so that the spec string is complete."""
        named = (self.order, self.allocator, self.predictor)
        return self.scheduler is None and all(isinstance(piece, str) for piece in named)

    @property
    def order_name(self) -> str:
        """The order without its argument; for a function, the function's name."""
        return _name_of(self.order).partition("(")[0]

    @property
    def order_argument(self) -> str:
        """The seed of ``random``, the formula of ``expression``, or the parameters of others; else empty."""
        return _argument(_name_of(self.order)).strip('"')


def _of_paper(text: str) -> str:
    """Return the spec for a name of a paper; other texts unchanged."""
    specs = PAPER_NAMES.get(text.strip(), (text,))
    if len(specs) > 1:
        accasim, ppt = specs
        rule = f"write {accasim} (requested time, as AccaSim) or {ppt} (node hours, as the PPT simulator)"
        raise PolicyNotFound(f"policy = {shown(text)}; the name has two meanings: {rule}.")
    return specs[0]


def as_policy(policy: object, argument: str = "policy =") -> Policy:
    """Convert a policy, its spec string, or a scheduler to a policy; `argument` begins error messages.

    Raises
    ------
    PolicyError
        If the value has another type, or the spec is invalid.
    """
    if isinstance(policy, str):
        return Policy.parse(policy)
    if isinstance(policy, Scheduler):
        return Policy(scheduler=policy)
    if isinstance(policy, Policy):
        return policy
    rule = "must be a Policy, its spec string, e.g. 'easy', or a Scheduler"
    raise PolicyError(f"{argument} {shown(policy)}; {rule}.")


def _policy(text: spec.Spec, call: spec.Call) -> Policy:
    """Build the policy of a parsed spec."""
    if call.name == CONFIGURED:
        refuse_others(text, call)
        return Policy(configured=True)
    chosen = _head(text, call)
    own = _slurm_keys() if "slurm" in chosen else ("order",) if "scheduler" in chosen else ()
    written = frozenset(call.keys) if "slurm" in chosen else None
    for key in _KEYS:
        if key not in call.keys or key in own:
            continue
        argument = call.keys[key]
        where = text.where(argument.position)
        if key in chosen:
            raise PolicyError(f"{key} is given twice, by {call.name!r} and by '{key}='; keep one.{where}")
        chosen[key] = _chosen(text, key, argument)
        if chosen[key] == "slurm" and isinstance(argument.value, spec.Call):
            chosen["slurm"] = _slurm_parameters(text, argument.value)
            # The spec begins with the order.
            written = frozenset({*argument.value.keys, "order"})
    try:
        return Policy(**chosen, written=written)  # type: ignore[arg-type]  # _chosen gives each key its type
    except PolicyError as error:
        # Each value is valid by itself, so the error is in their combination.
        raise PolicyError(f"{error}{text.where(call.position)}") from None


def _head(text: spec.Spec, call: spec.Call) -> dict[str, str | int | Scheduler | SlurmParameters]:
    """Return the order, the backfilling rule or the scheduler that a spec begins with."""
    if call.name in SCHEDULERS:
        return {"scheduler": _scheduler(text, call)}
    if call.name in ORDERS:
        return {"order": order_spec(text, call, _KEYS[1:])}
    if call.name == "slurm":
        refuse_others(text, call, (*_KEYS, *_slurm_keys()))
        return {"backfill": call.name, "slurm": _slurm_parameters(text, call)}
    if call.name in BACKFILLS:
        refuse_others(text, call, _KEYS)
        return {"backfill": call.name}
    if call.name in DISCIPLINES:
        refuse_others(text, call, ("allocator", "predictor"))
        return {"backfill": call.name}
    where = text.where(call.position)
    if call.name in ALLOCATORS:
        rule = f"is an allocator, not a policy. Write 'fcfs(allocator={call.name})' or another order."
        raise PolicyNotFound(f"{call.name!r} {rule}{where}")
    names = {*ORDERS, *BACKFILLS, *DISCIPLINES, *SCHEDULERS, CONFIGURED} - {"none"}
    raise PolicyNotFound(f"no policy named {shown(call.name)}.{suggest(call.name, names)}{where}")


def _scheduler(text: spec.Spec, call: spec.Call) -> Scheduler:
    """Return a built-in scheduler, with its order."""
    if call.name == "easy_accasim":
        refuse_others(text, call, ("allocator", "predictor"))
        return schedulers.AccasimEasy()
    if call.name == "equipartition":
        refuse_others(text, call, ("allocator", "predictor"))
        return schedulers.Malleable("equipartition")
    refuse_others(text, call, ("order", "allocator", "predictor"))
    if "order" not in call.keys:
        return schedulers.Malleable()
    argument = call.keys["order"]
    where = text.where(argument.position)
    name = spec.word(argument.value)
    return schedulers.Malleable(cast("SizeOrderName", known("order of sizes", name, SIZE_ORDERS, where)))


def _chosen(text: spec.Spec, key: str, argument: spec.Argument) -> str | int:
    """Check the value of one key by itself."""
    where = text.where(argument.position)
    value = argument.value
    if key == "reservations":
        return whole(key, value, 1, _MOST_RESERVATIONS, where)
    if not isinstance(value, spec.Call):
        raise PolicyError(f"{key} = {shown(value)}; must be a name.{where}")
    if key == "order":
        return order_spec(text, value)
    if key == "allocator":
        return allocator_spec(text, value)
    refuse_others(text, value, _slurm_keys() if value.name == "slurm" else ())
    kind, table = _TABLES[key]
    return known(kind, value.name, table, where)


def _name_of(piece: object) -> str:
    """Return the name of a part: the spec of built-in parts, the class or function of others."""
    if isinstance(piece, str):
        return piece
    name: str = getattr(piece, "__name__", type(piece).__name__)
    return name


def _written(scheduler: Scheduler) -> tuple[str, str]:
    """Return the name of a scheduler, and the argument of a built-in one."""
    if not isinstance(scheduler, schedulers.Malleable | schedulers.AccasimEasy):
        return _name_of(scheduler), ""
    return str(scheduler).partition("(")[0], _argument(str(scheduler))


def _slurm_keys() -> tuple[str, ...]:
    """Return the keys of the rule ``slurm``."""
    return policy_slurm.SLURM_KEYS


def _slurm_parameters(text: spec.Spec, call: spec.Call) -> SlurmParameters:
    """Return the parameters of the rule ``slurm``."""
    return policy_slurm.slurm_parameters(text, call)


def _argument(order: str) -> str:
    """Return the text in the parentheses of an order."""
    return order.partition("(")[2].removesuffix(")")
