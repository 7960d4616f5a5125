"""Resource requirements of LSF (``bsub -R``): nodes, and the resources reserved on them.

The grammar follows IBM's "Administer IBM Spectrum LSF: About resource requirement strings".
"""

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["MemoryUnit", "Requirement", "ReservedPer", "requirement_of"]

MemoryUnit = Literal["KB", "MB", "GB", "TB"]
"""The unit of memory without a suffix: LSF_UNIT_FOR_LIMITS."""

ReservedPer = Literal["host", "task"]
"""The default owner of a reserved amount: ``task`` with RESOURCE_RESERVE_PER_TASK=Y."""

_SECTION = re.compile(r"\b(select|order|rusage|span|same|cu|affinity)\[([^\]]*)\]")
_PAIR = re.compile(r"([A-Za-z_]\w*)=\(?\s*([^,:\s()]+)")
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d*)?)([KMGTPE]?)B?(?:/(host|job|task|slot))?", re.IGNORECASE)
_SPAN = re.compile(r"(hosts|ptile)\s*=\s*(\d{1,7})")
_GPUS = ("ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared")
_KILOBYTES = {"K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4, "E": 1024.0**5}


@dataclass(frozen=True)
class _Amount:
    """A reserved amount, and the unit that it is reserved for."""

    value: float
    per: str

    def of_job(self, processors: int, nodes: int) -> float:
        """Return the total amount reserved by a job."""
        return self.value * {"job": 1, "host": nodes}.get(self.per, processors)


@dataclass(frozen=True)
class Requirement:
    """The request of a job: number of nodes, processors per node, memory (kB) and GPUs.

    `alternatives` is true if the first of several requirements was used; `compound` if the terms of a
    compound requirement differ, which is unsupported; `timed` if an amount is reserved for a part of the run.
    """

    nodes: int | None = None
    per_node: int | None = None
    memory: _Amount | None = None
    gpus: _Amount | None = None
    alternatives: bool = False
    compound: bool = False
    timed: bool = False


def requirement_of(text: str, unit: MemoryUnit = "MB", per: ReservedPer = "host") -> Requirement:
    """Parse a resource requirement.

    Parameters
    ----------
    text
        For example ``select[mem>4000] rusage[mem=2000.00,ngpus_physical=2] span[ptile=16]``, in any order.
    unit, per
        The default unit of memory, and the default owner of a reserved amount.

    Examples
    --------
    >>> found = requirement_of("span[ptile=2] rusage[mem=4GB]")
    >>> found.per_node, found.memory.of_job(processors=4, nodes=2)
    (2, 8388608.0)
    """
    if "{" in text:
        return Requirement(compound=True)
    first, *others = _outside(text)
    found = {"alternatives": bool(others)}
    spans, reserved = "", ""
    for name, inside in _SECTION.findall(first):
        if name == "span":
            spans += f" {inside}"
        elif name == "rusage":
            reserved += f",{inside.partition('||')[0]}"
    said = dict(_SPAN.findall(spans))
    amounts = dict(_PAIR.findall(reserved))
    gpus = next((amounts[name] for name in _GPUS if name in amounts), None)
    return Requirement(
        nodes=int(said["hosts"]) if said.get("hosts") == "1" else None,
        per_node=int(said["ptile"]) or None if "ptile" in said else None,
        memory=_amount(amounts.get("mem"), unit, per),
        gpus=_amount(gpus, "", per),
        timed="duration" in amounts,
        **found,
    )


def _outside(text: str) -> list[str]:
    """Split a requirement at each ``||`` outside of sections."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if depth == 0 and text.startswith("||", place):
            parts.append(text[begin:place])
            begin = place + 2
    return [*parts, text[begin:]]


def _amount(text: str | None, unit: str, per: str) -> _Amount | None:
    match = None if text is None else _AMOUNT.fullmatch(text)
    if match is None:
        return None
    factor = _KILOBYTES[(match[2] or unit)[:1].upper()] if unit else 1.0
    value = float(match[1]) * factor
    return _Amount(value, (match[3] or per).lower()) if value else None
