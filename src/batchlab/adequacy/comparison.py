"""The difference between a real stream of jobs and a model's: E, P, and all that is said of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import polars as pl

from batchlab.errors import AdequacyError, shown
from batchlab.units import format_duration, is_finite

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Comparison", "Limit", "Verdict"]

Verdict: TypeAlias = Literal["completely reliable", "adequate", "not adequate"]


@runtime_checkable
class Limit(Protocol):
    """What has a reference value of P."""

    @property
    def P_max(self) -> float:  # noqa: N802  # the paper's name
        """The greatest P of a model that is adequate; seconds."""


# The paper's numbers, and on.
_TABLE_I = (
    *(50, 100, 250, 500, 750, 1000, 2500, 5000),
    *(10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000),
)
_WIDTH = 78


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """How far a model's stream of jobs is from the real one; ``str(comparison)`` is for people.

    Parameters
    ----------
    differences
        One row per compared job, in the order of arrival: ``job_id``, ``submit_time`` (of the real stream),
        ``real_start``, ``model_start``, ``real_wait``, ``model_wait``, ``wait_difference``,
        ``real_residence``, ``model_residence`` and ``residence_difference`` (Float64, s; model - real). The
        residence is the time from submission to end.
    left_out
        How many jobs are not compared since they did not start, or did not end, in either stream.
    fields
        What was found equal: the names of the columns.
    P_max
        The reference value of P, seconds; None where there is none.
    """

    differences: pl.DataFrame
    left_out: int = 0
    fields: tuple[str, ...] = ()
    P_max: float | None = None

    def __post_init__(self) -> None:
        if self.P_max is not None and not (is_finite(self.P_max) and self.P_max >= 0):
            raise AdequacyError(f"reference = {shown(self.P_max)} s; must be a number >= 0, or None.")

    def __len__(self) -> int:
        """Count the compared jobs, n."""
        return self.differences.height

    @property
    def E(self) -> float:  # noqa: N802  # the paper's name
        """The Euclidean distance of the residence times, formula (1); seconds."""
        return float(np.sqrt(self._squares[-1]))

    @property
    def P(self) -> float:  # noqa: N802  # the paper's name
        """The measure of the difference, formula (2): the root of the mean square difference; seconds."""
        return float(self.curve[-1])

    @property
    def differing_waits(self) -> int:
        """The number of jobs whose waits differ, as in the last column of Table I."""
        return int(self._waits[-1])

    @property
    def differing_residences(self) -> int:
        """The number of jobs whose residence times differ."""
        return int(np.count_nonzero(self.differences["residence_difference"].to_numpy()))

    @cached_property
    def curve(self) -> Floats:
        """P over the first k jobs, for each k from 1 to n; float64, shape (n,), seconds."""
        curve = np.sqrt(self._squares / np.arange(1, len(self) + 1))
        curve.flags.writeable = False
        return curve

    @property
    def verdict(self) -> Verdict | None:
        """What P says of the model: ``"completely reliable"`` where P = 0, else by the reference value.

        ``"adequate"`` where P <= P_max, ``"not adequate"`` where it is above; None without a reference value.
        """
        if self.P == 0:
            return "completely reliable"
        if self.P_max is None:
            return None
        return "adequate" if self.P <= self.P_max else "not adequate"

    def against(self, reference: float | Limit | None) -> Comparison:
        """Give the same comparison with another reference value: seconds, or what has a ``P_max``."""
        return replace(self, P_max=reference.P_max if isinstance(reference, Limit) else reference)

    def by_first(self, *counts: int) -> pl.DataFrame:
        """Give the measure over the first k jobs by arrival: Table I.

        Parameters
        ----------
        counts
            The numbers k, each from 1 to n; unless given, 50, 100, 250, 500, 750, 1000, as in the paper, and
            on, as far as they go, then n.

        Returns
        -------
        polars.DataFrame
            A row per k: ``jobs`` (k), ``P`` (s) and ``differing_waits``.

        Raises
        ------
        AdequacyError
            If a k is not from 1 to n.
        """
        chosen = counts or tuple(dict.fromkeys([*(k for k in _TABLE_I if k < len(self)), len(self)]))
        for k in chosen:
            if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= len(self):
                raise AdequacyError(f"k = {shown(k)}; must be a whole number from 1 to {len(self)}.")
        places = np.array(chosen, dtype=np.int64) - 1
        return pl.DataFrame(
            {"jobs": places + 1, "P": self.curve[places], "differing_waits": self._waits[places]}
        )

    @cached_property
    def _squares(self) -> Floats:
        return np.cumsum(np.square(self.differences["residence_difference"].to_numpy()))

    @cached_property
    def _waits(self) -> npt.NDArray[np.int64]:
        differ = self.differences["wait_difference"].to_numpy() != 0
        return np.cumsum(differ, dtype=np.int64)

    def __str__(self) -> str:
        lines = (f"{name:16}{text}" for name, text in self.facts().items())
        short = (line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…" for line in lines)
        return "\n".join([*short, "", *self._table()])

    __repr__ = __str__

    def facts(self) -> dict[str, str]:
        """Say in words what is known, by what it is about."""
        return {
            "measure P": f"{self.P:.6g} s over {_jobs(len(self))}; distance E = {self.E:.6g} s",
            "verdict": self._judgement(),
            "waits": f"differ for {self.differing_waits:,} of {_jobs(len(self))}",
            "residences": f"differ for {self.differing_residences:,}, {self._largest()}",
            "mean wait": self._means("wait"),
            "mean residence": self._means("residence"),
            "left out": f"{_jobs(self.left_out)} that did not start, or not end, in either stream",
            "equal": ", ".join(self.fields),
        }

    def _judgement(self) -> str:
        verdict = self.verdict
        if verdict is None:
            return "none: no reference value was given"
        if self.P_max is None or verdict == "completely reliable":
            return f"{verdict}: P = 0"
        return (
            f"{verdict}: P {'<=' if verdict == 'adequate' else '>'} {self.P_max:.6g} s, the reference value"
        )

    def _largest(self) -> str:
        apart = self.differences["residence_difference"].to_numpy()
        place = int(np.abs(apart).argmax())
        if apart[place] == 0:
            return "all are equal"
        more = "longer" if apart[place] > 0 else "shorter"
        job = self.differences["job_id"][place]
        return f"by up to {format_duration(abs(apart[place]))} (job {job}, {more} in model)"

    def _means(self, of: str) -> str:
        real, model = (
            float(self.differences[f"{side}_{of}"].to_numpy().mean()) for side in ("real", "model")
        )
        return f"{format_duration(real)} real, {format_duration(model)} model"

    def _table(self) -> list[str]:
        rows = self.by_first().iter_rows()
        head = f"{'first jobs':>12}{'P':>14}{'waits that differ':>20}"
        return [head, *(f"{k:>12,}{f'{value:.6g} s':>14}{waits:>20,}" for k, value, waits in rows)]


def _jobs(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"
