"""Policies: an order, a backfilling rule, an allocator, by name or written in Python; and their spec strings.

::

    spec     = name | name "(" [argument {"," argument}] ")"
    name     = an order, a backfilling rule (with the order fcfs unless given), a discipline, or a scheduler
    argument = key "=" value | value            (a value without a key: the seed or the formula)
    keys     : order, backfill, allocator, reservations, predictor; seed for random, growth for sbp,
               those of `Multifactor` for multifactor, and those of `SlurmParameters` for slurm

``easy`` is ``fcfs`` with backfill ``easy``; ``first_fit`` is ``fcfs(backfill=first_fit)``.
"""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from batchlab.errors import PolicyError, PolicyNotFound, shown, suggest
from batchlab.policy import spec
from batchlab.policy.allocator import Allocator
from batchlab.policy.mappings import PARAMETERS, placed_by
from batchlab.policy.registry import (
    ALLOCATORS,
    BACKFILLS,
    DISCIPLINES,
    ORDERS,
    PREDICTORS,
    SCHEDULERS,
    SIZE_ORDERS,
)
from batchlab.policy.scheduler import Scheduler
from batchlab.vocabulary import LARGEST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy.typing as npt

    from batchlab.policy.slurm import SlurmParameters
    from batchlab.predictor import Predictor
    from batchlab.vocabulary import (
        BackfillName,
        DisciplineName,
        PredictorName,
        SizeOrderName,
    )

__all__ = ["Policy", "as_policy"]

_MOST_RESERVATIONS = 2**31 - 1
_KEYS = ("order", "backfill", "allocator", "reservations", "predictor")
# Orders with parameters by name.
_DESCRIBED = ("multifactor", "sbp")
_TABLES = {
    "backfill": ("backfilling rule", {**BACKFILLS, **DISCIPLINES}),
    "predictor": ("predictor", PREDICTORS),
}


@dataclass(frozen=True, repr=False)
class Policy:
    """Which job runs next, and where.

    Parameters
    ----------
    order
        A name in `batchlab.policy.ORDERS`; ``random(SEED)`` (``random`` is ``random(0)``) and
        ``expression("FORMULA")`` carry their argument, ``sbp(growth=0.1)`` and ``multifactor(age=1000, …)``
        their parameters. Or a function: of the columns of all jobs, for keys
        that do not change; or of the columns of the waiting jobs and now, for keys that do. It returns one
        number per job, the smallest first.
    backfill
        ``"none"``, ``"first_fit"``, ``"easy"``, ``"conservative"`` or ``"slurm"``; or a name in
        `batchlab.policy.DISCIPLINES`, which has an order of its own: `order` is ``"fcfs"`` then.
    allocator
        A name in `batchlab.policy.ALLOCATORS`, with its parameters where it has any, as
        ``"dual_end(order=boxes(2, 1, 2), threshold=3600)"``; or an `Allocator`.
    reservations
        How many waiting jobs ``easy`` holds a reservation for; at least 1, and 1 for other rules.
    predictor
        What run times are taken to be: a name in `batchlab.policy.PREDICTORS`, or a `Predictor`.
    scheduler
        A `Scheduler`, which takes the place of the backfilling rule and sees the queue in `order`.
    slurm
        The parameters of the backfilling rule ``slurm``; the usual ones unless given.
    defined_as
        Where a policy of a Python file is defined, as ``my_policy.py:Mine``: what ``str`` gives of it.

    Raises
    ------
    PolicyNotFound
        If a name is unknown.
    PolicyError
        If a value breaks its rule, or values do not go together.

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

    def __post_init__(self) -> None:
        if isinstance(self.order, str):
            object.__setattr__(self, "order", _order(*spec.parse(self.order)))
        elif not callable(cast("object", self.order)):
            rule = "must be a name, e.g. 'fcfs', or a function of the jobs' columns"
            raise PolicyError(f"order = {shown(self.order)}; {rule}.")
        _known("backfilling rule", self.backfill, {**BACKFILLS, **DISCIPLINES})
        if isinstance(self.allocator, str):
            object.__setattr__(self, "allocator", _allocator(*spec.parse(self.allocator)))
        elif not isinstance(cast("object", self.allocator), Allocator):
            raise PolicyError(f"allocator = {shown(self.allocator)}; must be a name.")
        if not callable(getattr(self.predictor, "estimate", None)):
            _known("predictor", self.predictor, PREDICTORS)
        reservations = _whole("reservations", self.reservations, 1, _MOST_RESERVATIONS)
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

    def _check_slurm(self) -> None:
        """Check that the rule ``slurm`` has its parameters, and nothing that it does not ask."""
        if self.slurm is None and self.backfill != "slurm":
            return
        from batchlab.policy.slurm import SlurmParameters  # noqa: PLC0415  # other rules do without

        if not isinstance(cast("object", self.slurm), SlurmParameters | None):
            raise PolicyError(f"slurm = {shown(self.slurm)}; must be SlurmParameters.")
        if self.backfill != "slurm":
            rule = f"goes with backfill slurm, not with {self.backfill}; leave it out."
            raise PolicyError(f"slurm = {shown(self.slurm)} {rule}")
        object.__setattr__(self, "slurm", self.slurm or SlurmParameters())
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
        """Check that what is written in Python goes together with the rest."""
        if not isinstance(cast("object", self.scheduler), Scheduler | None):
            rule = "must be an object of a subclass of batchlab.Scheduler"
            raise PolicyError(f"scheduler = {shown(self.scheduler)}; {rule}.")
        if self.scheduler is not None and self.backfill != "none":
            raise PolicyError(f"a scheduler decides itself; it does not go with backfill {self.backfill}.")

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Read a policy's spec string.

        Parameters
        ----------
        text
            For instance ``"easy"``, ``"easy(order=sjf, allocator=best_fit)"``, ``"random(7)"``,
            ``"fcfs(backfill=first_fit)"`` or ``'expression("requested_time * tasks")'``.

        Returns
        -------
        Policy
            ``Policy.parse(str(policy)) == policy``.

        Raises
        ------
        PolicyNotFound
            If a name is unknown; the message suggests the nearest.
        PolicyError
            If the spec breaks a rule; the message names the position.
        """
        if not isinstance(text, str):
            raise PolicyError(f"policy = {shown(text)}; must be a spec string, e.g. 'easy(order=sjf)'.")
        return _policy(*spec.parse(text))

    def __str__(self) -> str:
        """Write the canonical spec string; what is written in Python appears under its own name."""
        if self.defined_as:
            return self.defined_as
        arguments: list[str] = []
        order = _name_of(self.order)
        name, argument = order.partition("(")[0], _argument(order)
        if self.scheduler is not None or self.backfill in {"easy", "conservative", "slurm", *DISCIPLINES}:
            name, argument = (self.backfill, "") if self.scheduler is None else _written(self.scheduler)
            arguments += [self.slurm.arguments] if self.slurm and self.slurm.arguments else []
            arguments += [f"order={order}"] if self.order != "fcfs" else []
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
        from batchlab.markup import card  # noqa: PLC0415  # for notebooks only

        parts = ("order", "backfill", "allocator", "predictor", "scheduler")
        facts = [(part, _name_of(getattr(self, part))) for part in parts if getattr(self, part) is not None]
        return card(f"Policy {self}", [*facts, ("reservations", str(self.reservations))])

    @property
    def is_named(self) -> bool:
        """Whether all of it is built in, so that its spec string says everything."""
        named = (self.order, self.allocator, self.predictor)
        return self.scheduler is None and all(isinstance(piece, str) for piece in named)

    @property
    def order_name(self) -> str:
        """The order without its argument; for a function, its name."""
        return _name_of(self.order).partition("(")[0]

    @property
    def order_argument(self) -> str:
        """The seed of ``random``, the formula of ``expression``, the parameters of others; or empty."""
        return _argument(_name_of(self.order)).strip('"')


def as_policy(policy: object, argument: str = "policy =") -> Policy:
    """Take a policy, its spec string, or a scheduler; `argument` begins the error where it is none of these.

    Raises
    ------
    PolicyError
        If it is nothing of this, or the spec is wrong.
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
    """Build the policy that a parsed spec names."""
    chosen = _head(text, call)
    own = _slurm_keys() if "slurm" in chosen else ("order",) if "scheduler" in chosen else ()
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
    try:
        return Policy(**chosen)  # type: ignore[arg-type]  # _chosen gives each key its type
    except PolicyError as error:
        # Each value is right by now: what is wrong is that they do not go together.
        raise PolicyError(f"{error}{text.where(call.position)}") from None


def _head(text: spec.Spec, call: spec.Call) -> dict[str, str | int | Scheduler | SlurmParameters]:
    """Take the order, the backfilling rule or the scheduler that a spec begins with."""
    if call.name in SCHEDULERS:
        return {"scheduler": _scheduler(text, call)}
    if call.name in ORDERS:
        return {"order": _order(text, call, _KEYS[1:])}
    if call.name == "slurm":
        _refuse_others(text, call, (*_KEYS, *_slurm_keys()))
        return {"backfill": call.name, "slurm": _slurm_parameters(text, call)}
    if call.name in BACKFILLS:
        _refuse_others(text, call, _KEYS)
        return {"backfill": call.name}
    if call.name in DISCIPLINES:
        _refuse_others(text, call, ("allocator", "predictor"))
        return {"backfill": call.name}
    where = text.where(call.position)
    if call.name in ALLOCATORS:
        rule = f"is an allocator, not a policy. Write 'fcfs(allocator={call.name})' or another order."
        raise PolicyNotFound(f"{call.name!r} {rule}{where}")
    names = {*ORDERS, *BACKFILLS, *DISCIPLINES, *SCHEDULERS} - {"none"}
    raise PolicyNotFound(f"no policy named {shown(call.name)}.{suggest(call.name, names)}{where}")


def _scheduler(text: spec.Spec, call: spec.Call) -> Scheduler:
    """Take a built-in scheduler, with the order in which it serves."""
    from batchlab.policy.accasim import AccasimEasy  # noqa: PLC0415  # other policies do without
    from batchlab.policy.malleable import Malleable  # noqa: PLC0415  # as above

    if call.name == "easy_accasim":
        _refuse_others(text, call, ("allocator", "predictor"))
        return AccasimEasy()
    if call.name == "equipartition":
        _refuse_others(text, call, ("allocator", "predictor"))
        return Malleable("equipartition")
    _refuse_others(text, call, ("order", "allocator", "predictor"))
    if "order" not in call.keys:
        return Malleable()
    argument = call.keys["order"]
    where = text.where(argument.position)
    name = argument.value.name if isinstance(argument.value, spec.Call) else argument.value
    return Malleable(cast("SizeOrderName", _known("order of sizes", name, SIZE_ORDERS, where)))


def _chosen(text: spec.Spec, key: str, argument: spec.Argument) -> str | int:
    """Check one key's value by itself."""
    where = text.where(argument.position)
    value = argument.value
    if key == "reservations":
        return _whole(key, value, 1, _MOST_RESERVATIONS, where)
    if not isinstance(value, spec.Call):
        raise PolicyError(f"{key} = {shown(value)}; must be a name.{where}")
    if key == "order":
        return _order(text, value)
    if key == "allocator":
        return _allocator(text, value)
    _refuse_others(text, value, _slurm_keys() if value.name == "slurm" else ())
    kind, table = _TABLES[key]
    return _known(kind, value.name, table, where)


def _allocator(text: spec.Spec, call: spec.Call) -> str:
    """Write an allocator canonically."""
    _known("allocator", call.name, ALLOCATORS, text.where(call.position))
    if call.name in PARAMETERS:
        return placed_by(text, call)
    _refuse_others(text, call)
    return call.name


def _order(text: spec.Spec, call: spec.Call, others: Collection[str] = ()) -> str:
    """Write an order canonically; `others` are the keys that are none of its business."""
    where = text.where(call.position)
    if call.name in BACKFILLS:
        raise PolicyNotFound(
            f"{call.name!r} is a backfilling rule, not an order. Write backfill={call.name}.{where}"
        )
    _known("order", call.name, ORDERS, where)
    if call.name == "random":
        _refuse_others(text, call, (*others, "seed"), values=1)
        given = [*call.values, *(call.keys[key] for key in call.keys if key == "seed")]
        if len(given) > 1:
            raise PolicyError(f"the seed of random is given twice; keep one.{text.where(given[1].position)}")
        seed = _whole("seed", given[0].value, 0, LARGEST_SEED, text.where(given[0].position)) if given else 0
        return f"random({seed})"
    if call.name == "expression":
        _refuse_others(text, call, others, values=1)
        return f'expression("{_formula(call.values[0].value if call.values else None, where)}")'
    if call.name not in _DESCRIBED:
        _refuse_others(text, call, others)
        return call.name
    from batchlab.policy.orders import keys_of, ordered_by  # noqa: PLC0415  # other orders do without

    _refuse_others(text, call, (*others, *keys_of(call.name)))
    return ordered_by(text, call)


def _formula(value: object, where: str) -> str:
    """Check that a formula can be quoted; whether it means something is known when its columns are."""
    rule = 'must be a quoted formula, e.g. expression("requested_time * tasks")'
    if not isinstance(value, str):
        given = "nothing" if value is None else shown(value.name if isinstance(value, spec.Call) else value)
        raise PolicyError(f"expression of {given}; {rule}.{where}")
    formula = value.strip()
    if not formula or not formula.isprintable() or "'" in formula or '"' in formula:
        raise PolicyError(f"expression of {shown(value)}; {rule}, printable and without quotes in it.{where}")
    return formula


def _known(kind: str, name: object, table: Collection[str], where: str = "") -> str:
    """Refuse a name that is not in a table."""
    if not isinstance(name, str):
        raise PolicyError(f"{kind} = {shown(name)}; must be a name.{where}")
    if name not in table:
        raise PolicyNotFound(f"no {kind} named {shown(name)}.{suggest(name, table)}{where}")
    return name


def _whole(name: str, value: object, least: int, most: int, where: str = "") -> int:
    """Check an integer."""
    if not isinstance(value, bool):
        with suppress(TypeError):
            number = operator.index(value)  # type: ignore[arg-type]  # that is the question
            if least <= number <= most:
                return number
    given = value.name if isinstance(value, spec.Call) else shown(value)
    raise PolicyError(f"{name} = {given}; must be an integer from {least} to {most}.{where}")


def _refuse_others(text: spec.Spec, call: spec.Call, keys: Collection[str] = (), *, values: int = 0) -> None:
    """Refuse keys that a name does not take, and values beyond the number that it takes."""
    for key, argument in call.keys.items():
        if key not in keys:
            where = text.where(argument.key_position)
            raise PolicyError(f"{call.name} takes no key {shown(key)}.{suggest(key, keys)}{where}")
    for argument in call.values[values:]:
        where = text.where(argument.position)
        raise PolicyError(
            f"this value of {call.name} needs a key, e.g. {call.name}(allocator=best_fit).{where}"
        )


def _name_of(piece: object) -> str:
    """Name a piece: built-in ones by their spec, others by their class or function."""
    if isinstance(piece, str):
        return piece
    name: str = getattr(piece, "__name__", type(piece).__name__)
    return name


def _written(scheduler: Scheduler) -> tuple[str, str]:
    """Give the name of a scheduler, and what stands in the parentheses of a built-in one."""
    from batchlab.policy.accasim import AccasimEasy  # noqa: PLC0415  # other policies do without
    from batchlab.policy.malleable import Malleable  # noqa: PLC0415  # as above

    if not isinstance(scheduler, Malleable | AccasimEasy):
        return _name_of(scheduler), ""
    return str(scheduler).partition("(")[0], _argument(str(scheduler))


def _slurm_keys() -> tuple[str, ...]:
    """Give the keys of the rule ``slurm``."""
    from batchlab.policy.slurm import SLURM_KEYS  # noqa: PLC0415  # other rules do without

    return SLURM_KEYS


def _slurm_parameters(text: spec.Spec, call: spec.Call) -> SlurmParameters:
    """Take the parameters of the rule ``slurm``."""
    from batchlab.policy.slurm import slurm_parameters  # noqa: PLC0415  # other rules do without

    return slurm_parameters(text, call)


def _argument(order: str) -> str:
    """Take what stands in an order's parentheses, as it stands there."""
    return order.partition("(")[2].removesuffix(")")
