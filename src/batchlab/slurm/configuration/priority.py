"""The order of jobs in a ``slurm.conf``: weights of the factors, and decay of usage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from batchlab.slurm.configuration.values import KINDS, plugin

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab.slurm.configuration.settings import Settings

__all__ = ["PriorityParameters", "priority_parameters"]


@dataclass(frozen=True)
class PriorityParameters:
    """The order of jobs.

    Attributes
    ----------
    type
        ``basic`` (by submission) or ``multifactor``.
    age, association, fair_share, job_size, partition, qos
        The weights.
    tres
        Weights of resources, as ``{"cpu": 300.0}``.
    max_age, half_life, period
        PriorityMaxAge, PriorityDecayHalfLife (0: no decay) and PriorityCalcPeriod, seconds.
    favours_small
        PriorityFavorSmall.
    damping
        FairShareDampeningFactor.
    reset_period
        PriorityUsageResetPeriod in upper case.
    flags
        PriorityFlags in lower case.
    """

    type: str = "basic"
    age: int = 0
    association: int = 0
    fair_share: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    tres: Mapping[str, float] = field(default_factory=dict, hash=False)
    max_age: float = 604_800.0
    half_life: float = 604_800.0
    period: float = 300.0
    favours_small: bool = False
    damping: int = 1
    reset_period: str = "NONE"
    flags: frozenset[str] = frozenset()

    @property
    def fair_share_rule(self) -> str:
        """``fair_tree``, ``classic`` or ``depth_oblivious``."""
        if "depth_oblivious" in self.flags:
            return "depth_oblivious"
        return "classic" if "no_fair_tree" in self.flags else "fair_tree"

    @property
    def order(self) -> str:
        """The spec string of the nearest order: ``multifactor(…)``, or ``fcfs`` for priority/basic."""
        if self.type != "multifactor":
            return "fcfs"
        named = ("age", "association", "fair_share", "job_size", "partition", "qos")
        parts = [f"{name}={value}" for name in named if (value := getattr(self, name))]
        resources = [f"{_resource(name)}={weight:g}" for name, weight in self.tres.items() if weight]
        parts += [f'tres="{", ".join(resources)}"'] if resources else []
        if not parts:
            return "fcfs"
        small = "small" if self.favours_small else "large"
        favour = f"{small}_for_time" if "small_relative_to_time" in self.flags else small
        parts += [f"max_age={self.max_age:g}", f"period={self.period:g}"]
        parts += [f"favour={favour}"] if favour != "large" else []
        return f"multifactor({', '.join(parts)})"

    def among(self, resources: Collection[str], *, accounts: bool, qualities: bool) -> PriorityParameters:
        """Remove the weights of missing resources, accounts and qualities of service."""
        return replace(
            self,
            association=self.association if accounts else 0,
            fair_share=self.fair_share if accounts else 0,
            qos=self.qos if qualities else 0,
            tres={name: weight for name, weight in self.tres.items() if name in resources},
        )


def _resource(tres: str) -> str:
    return "core" if tres == "cpu" else tres.removeprefix("gres/")


def priority_parameters(settings: Settings, usual: str) -> PriorityParameters:
    """Parse the order of jobs; `usual` is the default type."""
    given = settings.find("PriorityType")

    def weight(name: str) -> int:
        return settings.whole(f"PriorityWeight{name}") or 0

    def time(name: str) -> float:
        return cast("float", settings.time(name))

    return PriorityParameters(
        type=usual if given is None else plugin(given.value),
        age=weight("Age"),
        association=weight("Assoc"),
        fair_share=weight("Fairshare"),
        job_size=weight("JobSize"),
        partition=weight("Partition"),
        qos=weight("QOS"),
        tres=cast("Mapping[str, float]", settings.value(KINDS["weights"], "PriorityWeightTRES") or {}),
        max_age=time("PriorityMaxAge"),
        half_life=time("PriorityDecayHalfLife"),
        period=time("PriorityCalcPeriod"),
        favours_small=settings.true("PriorityFavorSmall"),
        damping=settings.whole("FairShareDampeningFactor") or 1,
        reset_period=(settings.text("PriorityUsageResetPeriod") or "NONE").upper(),
        flags=frozenset(settings.options("PriorityFlags")),
    )
