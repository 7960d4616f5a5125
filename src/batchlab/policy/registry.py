"""The built-in orders, backfilling rules, allocators and predictors: names, meanings, sources.

What they do to the letter is in ``docs/semantics.md``; they run inside the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["ALLOCATORS", "BACKFILLS", "ORDERS", "PREDICTORS", "SCHEDULERS", "SIZE_ORDERS", "Rule"]


@dataclass(frozen=True)
class Rule:
    """One named rule.

    Parameters
    ----------
    summary
        What it does, in one line.
    source
        The publication that defines it; empty for folklore.
    """

    summary: str
    source: str = ""


_TANG = (
    "W. Tang, Z. Lan, N. Desai, D. Buettner: Fault-aware, utility-based job scheduling on Blue Gene/P "
    "systems. IEEE CLUSTER 2009"
)
_CARASTAN = (
    "D. Carastan-Santos, R. Y. de Camargo: Obtaining dynamic scheduling policies with simulation and machine "
    "learning. SC'17"
)
_LIFKA = "D. A. Lifka: The ANL/IBM SP scheduling system. JSSPP 1995"
_TSAFRIR = (
    "D. Tsafrir, Y. Etsion, D. G. Feitelson: Backfilling using system-generated predictions rather than user "
    "runtime estimates. IEEE TPDS 18(6), 2007"
)
_GAUSSIER = (
    "E. Gaussier, D. Glesser, V. Reis, D. Trystram: Improving backfilling by using machine learning to "
    "predict running times. SC'15"
)
_MUALEM = (
    "A. W. Mu'alem, D. G. Feitelson: Utilization, predictability, workloads, and user runtime estimates in "
    "scheduling the IBM SP2 with backfilling. IEEE TPDS 12(6), 2001"
)

ORDERS: Mapping[str, Rule] = MappingProxyType(
    {
        "fcfs": Rule("first come, first served"),
        "sjf": Rule("shortest requested time first"),
        "ljf": Rule("longest requested time first"),
        "saf": Rule("smallest area (requested time × processors) first"),
        "laf": Rule("largest area (requested time × processors) first"),
        "smallest": Rule("fewest processors first"),
        "largest": Rule("most processors first"),
        "wfp3": Rule("largest (wait / requested time)³ × processors first", _TANG),
        "unicef": Rule("largest wait / (log2(processors) × requested time) first", _TANG),
        "f1": Rule("smallest log10(requested time) × processors + 870 × log10(submit time) first", _CARASTAN),
        "f2": Rule("smallest √(requested time) × processors + 25600 × log10(submit time) first", _CARASTAN),
        "f3": Rule("smallest requested time × processors + 6860000 × log10(submit time) first", _CARASTAN),
        "f4": Rule("smallest requested time × √processors + 530000 × log10(submit time) first", _CARASTAN),
        "random": Rule("a random order, the same for the same seed: random(7)"),
        "expression": Rule(
            'smallest value of a formula first: expression("requested_time * tasks - wait_time")'
        ),
        "reject": Rule("rejects every job: the bare cost of the simulator"),
    }
)

BACKFILLS: Mapping[str, Rule] = MappingProxyType(
    {
        "none": Rule("starts jobs in order, and stops at the first that does not fit"),
        "first_fit": Rule("starts every job that fits, in order"),
        "easy": Rule("a later job may start if it does not delay the first that waits", _LIFKA),
        "conservative": Rule("a later job may start if it delays no job that waits", _MUALEM),
    }
)

_OEZDEN = "T. Özden et al.: ElastiSim: A batch-system simulator for malleable workloads. ICPP 2022"

SCHEDULERS: Mapping[str, Rule] = MappingProxyType(
    {
        "malleable": Rule("resizes jobs: all run on few tasks before some, in order, run on many", _OEZDEN),
        "equipartition": Rule(
            "resizes jobs: all run on equally many tasks, as far as they can",
            "C. McCann, R. Vaswani, J. Zahorjan: A dynamic processor allocation policy for multiprogrammed "
            "shared-memory multiprocessors. ACM TOCS 11(2), 1993",
        ),
    }
)

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

ALLOCATORS: Mapping[str, Rule] = MappingProxyType(
    {
        "first_fit": Rule("nodes in their order"),
        "best_fit": Rule("the busiest nodes first"),
        "worst_fit": Rule("the least busy nodes first"),
        "random": Rule("nodes in a random order, the same for the same seed of the run"),
        "contiguous": Rule("the first row of neighbouring nodes that suffices"),
        "next_fit": Rule("nodes in their order, from where the latest start ended"),
        "balanced": Rule(
            "nodes with nothing free of mic and gpu, then those of the one that more nodes have",
            "A. Netti et al.: Heterogeneity-aware resource allocation in HPC systems. ISC 2018",
        ),
    }
)

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
