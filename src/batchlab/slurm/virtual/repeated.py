"""Repeated runs of one stream in Slurm: their differences from each other and from our model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from batchlab import adequacy
from batchlab.errors import AdequacyError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from batchlab.adequacy import Comparison, Reference
    from batchlab.slurm.virtual.outcome import Outcome

__all__ = ["Repeated"]


@dataclass(frozen=True, eq=False)
class Repeated:
    """The outcomes of a repeated experiment, each with a run of Slurm.

    Attributes
    ----------
    outcomes
        At least two outcomes.
    """

    outcomes: Sequence[Outcome]

    @cached_property
    def reference(self) -> Reference:
        """The differences between the runs of Slurm, for the jobs that all of them started.

        Raises
        ------
        AdequacyError
            If the measure is not defined.
        """
        return adequacy.reference({f"run {number}": jobs for number, jobs in enumerate(self._started(), 1)})

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparison of each run of Slurm with the model; empty without the model."""
        found = [outcome.comparison for outcome in self.outcomes]
        return [each.against(self.reference) for each in found if each is not None]

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield labels and texts: those of the first run, followed by those of all runs together."""
        yield from (fact for fact in self.outcomes[0].facts() if fact[0] != "P")
        try:
            between, compared = self.reference, self.comparisons
        except AdequacyError as error:
            yield "P", f"not defined: {error}"
            return
        runs = len(self.outcomes)
        yield "Slurm, Slurm", f"P {_range(between.pairs['P'].to_list())} between {runs} runs of Slurm"
        if compared:
            adequate = sum(each.verdict == "adequate" for each in compared)
            measures = _range([each.P for each in compared])
            yield "Slurm, model", f"P {measures}; adequate for {adequate} of {runs} runs"

    def metrics(self) -> dict[str, object]:
        """Return the metrics of each run, and P between each pair of runs of Slurm (s)."""
        found: dict[str, object] = {"runs": [outcome.metrics() for outcome in self.outcomes]}
        try:
            found["reference"] = self.reference.pairs.to_dicts()
        except AdequacyError:
            found["reference"] = None
        return found

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        inputs: Mapping[str, str | os.PathLike[str]] | None = None,
        command: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write each outcome to a directory of its own, ``run-1`` and so on; see `Outcome.write`."""
        target = Path(directory)
        for number, outcome in enumerate(self.outcomes, 1):
            folder = target / f"run-{number}"
            outcome.write(folder, inputs=inputs, command=command, overwrite=overwrite)
        return target

    def _started(self) -> list[pl.DataFrame]:
        """Return the jobs of each run that all runs started."""
        tables = [
            outcome.real.started().drop("state") for outcome in self.outcomes if outcome.real is not None
        ]
        common = tables[0].select("job_id")
        for table in tables[1:]:
            common = common.join(table, on="job_id", how="semi")
        return [table.join(common, on="job_id", how="semi") for table in tables]


def _range(values: Sequence[float]) -> str:
    return f"{median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"
