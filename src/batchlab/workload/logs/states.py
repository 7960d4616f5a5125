"""The states of jobs in the logs of batch systems."""

import polars as pl

from batchlab.workload.logs.notes import Notes

__all__ = ["KNOWN_STATES", "STATUS_OF", "is_ended", "note_unknown", "word"]

COMPLETED, FAILED, CANCELLED = 1, 0, 5
STATUS_OF = {
    "COMPLETED": COMPLETED,
    "FAILED": FAILED,
    "TIMEOUT": FAILED,
    "NODE_FAIL": FAILED,
    "OUT_OF_MEMORY": FAILED,
    "BOOT_FAIL": FAILED,
    "LAUNCH_FAILED": FAILED,
    "RECONFIG_FAIL": FAILED,
    "SPECIAL_EXIT": FAILED,
    "DEADLINE": CANCELLED,
    "CANCELLED": CANCELLED,
    "PREEMPTED": CANCELLED,
    "REQUEUED": CANCELLED,
    "REVOKED": CANCELLED,
    "DELETED": CANCELLED,
}
"""The final states of jobs, with the corresponding status of the Standard Workload Format."""

_UNFINISHED = (
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETING",
    "CONFIGURING",
    "RESIZING",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESV_DEL_HOLD",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
    "POWER_UP_NODE",
    "EXPEDITING",
)
KNOWN_STATES = (*STATUS_OF, *_UNFINISHED)
"""All known states of Slurm."""
_FEWEST_LETTERS = 3
_MOST_NAMED = 20
_LONGEST_NAME = 30


def word(column: str) -> pl.Expr:
    """Return the word of a state, without the user who cancelled; complete a word truncated by ``+``."""
    text = pl.col(column).str.strip_chars().str.to_uppercase()
    first = text.str.extract(r"^([A-Z_]+)")
    cut = text.str.ends_with("+").fill_null(value=False)
    whole = {
        state[:length]: state
        for state in (*_UNFINISHED, *STATUS_OF)
        for length in range(_FEWEST_LETTERS, len(state))
    }
    return pl.when(cut).then(first.replace(whole)).otherwise(first).alias(column)


def is_ended() -> pl.Expr:
    """Return a mask of the jobs that ended; for an unknown state, whether the job has an end time."""
    state = pl.col("state")
    final = state.is_in([*STATUS_OF]).fill_null(value=False)
    alive = state.is_in([*_UNFINISHED]).fill_null(value=False)
    return (final | (~alive & pl.col("end").is_not_null())).alias("ended")


def note_unknown(records: pl.DataFrame, notes: Notes) -> None:
    """Add remarks on states that no known batch system writes.

    Parameters
    ----------
    records
        With ``state`` as from `word`, ``ended``, ``line`` and ``base``.
    notes
        Collects one reason for each of the first 20 words.
    """
    state = pl.col("state")
    odd = records.filter(state.is_not_null() & ~state.is_in([*STATUS_OF, *_UNFINISHED]))
    known = odd["state"].unique(maintain_order=True).head(_MOST_NAMED).to_list()
    named = (
        pl.when(state.is_in(known)).then(state.str.head(_LONGEST_NAME)).otherwise(pl.lit("of another name"))
    )
    for (name, ended), part in odd.group_by(named.alias("name"), "ended", maintain_order=True):
        taken = "ended, as the log has an end" if ended else "not ended"
        notes.add("noted", f"state {name} is unknown: taken as {taken}", part["line"], part["base"])
