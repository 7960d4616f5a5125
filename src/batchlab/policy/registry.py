"""Built-in orders, backfilling rules, allocators and predictors: names, summaries, sources.

``docs/semantics.md`` defines what they do. Rules in the kernel are named and described in the kernel only;
this module describes those written in Python.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from batchlab.core.declared import KERNEL_RULES, Rule
from batchlab.core.spec import Grammar
from batchlab.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


__all__ = [
    "ALLOCATORS",
    "BACKFILLS",
    "DISCIPLINES",
    "ORDERS",
    "PAPER_NAMES",
    "PREDICTORS",
    "SCHEDULERS",
    "SIZE_ORDERS",
    "SPECS",
    "Rule",
    "keys_of",
]


SPECS = Grammar("policy", PolicyError, "easy or easy(order=sjf)")
"""Grammar of policies, orders and allocators."""


_TSAFRIR = (
    "D. Tsafrir, Y. Etsion, D. G. Feitelson: Backfilling using system-generated predictions rather than user "
    "runtime estimates. IEEE TPDS 18(6), 2007"
)
_GAUSSIER = (
    "E. Gaussier, D. Glesser, V. Reis, D. Trystram: Improving backfilling by using machine learning to "
    "predict running times. SC'15"
)
ORDERS: Mapping[str, Rule] = MappingProxyType(KERNEL_RULES["order"])
"""The orders of the queue, by name."""

BACKFILLS: Mapping[str, Rule] = MappingProxyType(KERNEL_RULES["backfill"])
"""The backfilling rules, by name."""

DISCIPLINES: Mapping[str, Rule] = MappingProxyType(KERNEL_RULES["discipline"])
"""The disciplines, which stand for order and rule together and may suspend jobs, by name."""

_OEZDEN = "T. Özden et al.: ElastiSim: A batch-system simulator for malleable workloads. ICPP 2022"

SCHEDULERS: Mapping[str, Rule] = MappingProxyType(
    {
        "malleable": Rule("resizes jobs: all run on few tasks before some, in order, run on many", _OEZDEN),
        "equipartition": Rule(
            "resizes jobs: all run on equally many tasks, as far as they can",
            "C. McCann, R. Vaswani, J. Zahorjan: A dynamic processor allocation policy for multiprogrammed "
            "shared-memory multiprocessors. ACM TOCS 11(2), 1993",
        ),
        "easy_accasim": Rule(
            "EASY as AccaSim 1.1 has it: one job has a reserved time, which restrains no other",
            "C. Galleguillos et al.: AccaSim: a customizable workload management simulator for job "
            "dispatching research in HPC systems. Cluster Computing 23, 2020",
        ),
    }
)
"""Schedulers with their own decision rules, by name."""

SIZE_ORDERS: Mapping[str, Rule] = MappingProxyType(
    {
        "fcfs": Rule("first come, first served"),
        "sjf": Rule("shortest estimate first"),
        "srtf": Rule("least estimate that is left by the application's progress first"),
        "drf": Rule(
            "smallest share of the resource that it holds most of first",
            "A. Ghodsi et al.: Dominant resource fairness. NSDI 2011",
        ),
        "equipartition": Rule("fewest tasks first"),
    }
)
"""Orders in which a scheduler that resizes jobs assigns tasks, by name."""

ALLOCATORS: Mapping[str, Rule] = MappingProxyType(KERNEL_RULES["allocator"])
"""The allocators, by name."""

PREDICTORS: Mapping[str, Rule] = MappingProxyType(
    {
        "requested": Rule("the requested time"),
        "clairvoyant": Rule("the true run time"),
        "last_two": Rule(
            "the average of the run times of the user's latest two jobs that have ended", _TSAFRIR
        ),
        "quantile": Rule(
            "a quantile of the run time, learnt online by scikit-learn (extra predict)", _GAUSSIER
        ),
        "recursive_mean": Rule("a running mean of the user's run times; the latest job counts for half"),
    }
)
"""The predictors of run times, by name."""

PAPER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "EASY": ("easy",),
        "EBF": ("easy_accasim",),
        "FCFS": ("fcfs",),
        "FCFS/BF": ("first_fit",),
        "FIFO": ("fcfs",),
        "LJF": ("ljf", "ljf_node_hours(backfill=first_fit)"),
        "MPP": ("mpp(backfill=first_fit)",),
        "SBP": ("sbp(backfill=first_fit)",),
        "SJF": ("sjf", "sjf_node_hours(backfill=first_fit)"),
    }
)
"""Names of policies in papers (AccaSim, PPT simulator), with their specs; two specs if the papers differ."""


def keys_of(name: str) -> Collection[str]:
    """Return the keys of an order; empty if it has no named parameters."""
    return [key for key, each in ORDERS[name].parameters.items() if not each.positional]
