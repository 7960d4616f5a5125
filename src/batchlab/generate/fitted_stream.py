"""Streams of jobs with distributions fitted to a log: several instances of plausible submissions.

The third kind of input stream in the literature on the adequacy of models of job management: each parameter
of a job is a random variable with a distribution estimated from a log.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from batchlab.core import rules
from batchlab.core.distributions import Constant, Distribution, Mixture, Truncated, drawn_again
from batchlab.core.random_streams import Floats, Integers, stream
from batchlab.errors import WorkloadError
from batchlab.generate.count import count_of_jobs
from batchlab.generate.custom import from_distributions
from batchlab.generate.fitting import Criterion, Fit, fit
from batchlab.generate.sizes import SizeModel
from batchlab.workload.header import Header

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.workload.workload import Workload

__all__ = ["FittedStream", "fit_stream"]

_FEWEST_JOBS = 2
# The uniform families are excluded: their bounds equal those of the data, which favours them.
_FAMILIES = ("expon", "gamma", "lognorm", "pareto", "weibull")
_LAWS = ("arrival", "size", "run_time", "requested_time")


@dataclass(frozen=True, eq=False)
class FittedStream:
    """The distributions of a log's jobs, and streams drawn from them; ``str(fitted)`` is a readable summary.

    Use ``dataclasses.replace`` to change a distribution, as ``size=Empirical(log.jobs["tasks"])``.

    Parameters
    ----------
    jobs
        Number of jobs in the log, and by default in each instance.
    arrival
        The seconds between consecutive submissions.
    size
        The number of processors.
    run_time
        Seconds.
    requested_time
        Seconds; drawn per job under the condition that it is at least the run time.
    largest
        The largest job.
    fits
        The results of `fit` for ``arrival``, ``run_time`` and ``requested_time``, if a fit was possible.
    header
        The header of each instance.
    """

    jobs: int
    arrival: Distribution
    size: Distribution
    run_time: Distribution
    requested_time: Distribution
    largest: int
    fits: "Mapping[str, Fit]"
    header: Header

    def instances(self, count: SupportsIndex, *, seed: int = 0, jobs: int | None = None) -> "list[Workload]":
        """Draw several streams from the same distributions.

        Parameters
        ----------
        count
            Number of streams, >= 0.
        seed
            The same seed generates the same streams; the first streams do not depend on the count.
        jobs
            Number of jobs per stream; by default that of the log.

        Returns
        -------
        list
            Independent workloads.

        Raises
        ------
        WorkloadError
            If a number breaks a rule.
        """
        number = rules.check(WorkloadError, "count", count, rules.WHOLE)
        each = self.jobs if jobs is None else count_of_jobs(jobs)
        return [self._instance(each, seed, index) for index in range(number)]

    def _instance(self, jobs: int, seed: int, index: int) -> "Workload":
        own = int(stream(seed, f"instance {index}").integers(0, 2**63))
        made = from_distributions(
            jobs,
            arrival=self.arrival,
            size=self.size,
            run_time=self.run_time,
            largest=self.largest,
            header=self.header,
            seed=own,
        )
        requested = self._requested(made.jobs["run_time"].to_numpy(), own)
        return replace(made, jobs=made.jobs.with_columns(requested_time=requested))

    def _requested(self, run_time: Floats, seed: int) -> Floats:
        """Draw requested times, in whole seconds and not below the run time (its value as a last resort)."""
        random = stream(seed, "requested_time")
        requested = drawn_again(
            np.zeros(len(run_time)),
            lambda drawn: drawn < run_time,
            lambda missing: np.ceil(self.requested_time.sample(random, missing)),
        )
        return np.maximum(requested, run_time)

    def __str__(self) -> str:
        lines = [f"{name:13} {getattr(self, name)}" for name in _LAWS]
        return "\n".join([f"laws of {self.jobs:,} jobs of at most {self.largest:,} processors", *lines])


def fit_stream(
    log: "Workload", families: Sequence[str] | None = None, *, by: Criterion = "distance"
) -> FittedStream:
    """Fit distributions to the arrivals, sizes, run times and requested times of a log's jobs.

    Each distribution is the best of several families, by maximum likelihood, truncated to the range of the
    log; zeros have a separate probability. Sizes follow Lublin's model with parameters from the log. The four
    distributions are independent, except that no job requests less than its run time, and jobs are
    independent of each other; if the daily cycle matters, use `like`.

    Parameters
    ----------
    log
        At least 2 jobs.
    families
        The families to try, as for `fit`; by default exponential, gamma, lognormal, Pareto and Weibull.
    by
        The criterion, as for `fit`; by default the distance, since the model with the least AIC may have a
        very different mean.

    Returns
    -------
    FittedStream
        The fitted stream; ``instances`` generates workloads.

    Raises
    ------
    WorkloadError
        If the log is too short, has jobs with applications, or a family is unknown.

    Examples
    --------
    >>> from batchlab.generate import demo_workload
    >>> fitted = fit_stream(demo_workload(), ["expon", "lognorm"])
    >>> first, second = fitted.instances(2, seed=1)
    >>> len(first) == fitted.jobs, first.jobs.equals(second.jobs)
    (True, False)
    """
    if log.applications:
        raise WorkloadError("fit_stream: jobs with applications have no run times. Filter them out first.")
    if len(log) < _FEWEST_JOBS:
        raise WorkloadError(f"fit_stream: the log has {len(log)} jobs; must be at least {_FEWEST_JOBS}.")
    run_time = log.jobs["run_time"].to_numpy()
    requested = log.jobs["requested_time"].to_numpy()
    sizes = _sizes(log)
    values = {
        "arrival": np.diff(np.sort(log.jobs["submit_time"].to_numpy())),
        "run_time": run_time,
        "requested_time": requested,
    }
    laws = {name: _law(numbers, families or _FAMILIES, by) for name, numbers in values.items()}
    return FittedStream(
        jobs=len(log),
        arrival=laws["arrival"][0],
        size=SizeModel.fit(sizes),
        run_time=laws["run_time"][0],
        requested_time=laws["requested_time"][0],
        largest=int(sizes.max()),
        fits={name: found for name, (_, found) in laws.items() if found is not None},
        header=_header(log),
    )


def _law(values: Floats, families: Sequence[str], by: Criterion) -> tuple[Distribution, Fit | None]:
    """Fit a distribution to numbers >= 0, many of which may be 0."""
    above = values[values > 0]
    share = 1 - len(above) / len(values)
    if not above.size:
        return Constant(0.0), None
    low, high = float(above.min()), float(above.max())
    found = None if low == high else fit(above, families, by=by)
    law: Distribution = Constant(low) if found is None else Truncated(found.best, low, high)
    return (Mixture((Constant(0.0), law), (share, 1 - share)) if share else law), found


def _sizes(log: "Workload") -> Integers:
    """Return the processors of each job: its cores if it requests cores, else its tasks."""
    tasks = log.jobs["tasks"].to_numpy()
    if "core" in log.resources:
        tasks = tasks * log.jobs["core"].to_numpy()
    return np.asarray(np.maximum(tasks, 1), dtype=np.int64)


def _header(log: "Workload") -> Header:
    """Return a header with the size of the machine."""
    known = log.header
    fields = {"MaxNodes": known.max_nodes, "MaxProcs": known.max_processors}
    given = {label: value for label, value in fields.items() if value is not None}
    return Header.from_fields({**given, "Note": "jobs of distributions fitted to a log"})
