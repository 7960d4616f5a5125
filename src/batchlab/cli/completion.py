"""Shell completion: names of policies, machines and logs."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["complete_log", "complete_machine", "complete_policy", "completed_words"]

_KEY = re.compile(r"(?P<before>.*[(,]\s*(?P<key>\w+)=)(?P<begin>\w*)")


def completed_words() -> list[str]:
    """Return the words to be completed, without the command's name; empty without a completion."""
    asked = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    return asked.split()[1:]


def complete_policy(incomplete: str) -> list[str]:
    """Complete names of policies, and names of rules for a key, as in ``easy(allocator=``."""
    from batchlab.policy import ALLOCATORS, BACKFILLS, DISCIPLINES, ORDERS, PREDICTORS, SCHEDULERS  # noqa: PLC0415

    tables: dict[str, Iterable[str]] = {
        "order": ORDERS,
        "backfill": BACKFILLS,
        "allocator": ALLOCATORS,
        "predictor": PREDICTORS,
    }
    found = _KEY.fullmatch(incomplete)
    if found is not None:
        names = [name for name in tables.get(found["key"], ()) if name.startswith(found["begin"])]
        return [f"{found['before']}{name})" for name in names]
    known = {*ORDERS, *BACKFILLS, *DISCIPLINES, *SCHEDULERS} - {"none"}
    return sorted(name for name in known if name.startswith(incomplete))


def complete_machine(incomplete: str) -> list[str]:
    """Complete names of ready machines and platforms; without a match, the shell completes files."""
    from batchlab.platform.machines import MACHINES  # noqa: PLC0415  # --help does without
    from batchlab.system import machines  # noqa: PLC0415  # as above

    names = [*machines.NAMES, *(f"platform:{name}" for name in MACHINES)]
    return [name for name in names if name.startswith(incomplete)]


def complete_log(incomplete: str) -> list[str]:
    """Complete names of logs of the archive; without a match, the shell completes files."""
    from batchlab.trace.catalogue import entries  # noqa: PLC0415  # --help does without

    return [trace.name for trace in entries() if incomplete and trace.name.startswith(incomplete)]
