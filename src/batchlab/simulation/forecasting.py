"""The methods of a simulation that forecast when jobs start."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from batchlab.core.lazy import import_late

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab.core.vocabulary import DrawMethod, ForecastArrivals
    from batchlab.forecast.answer import Forecast, SubmissionForecast

__all__ = ["ForecastsStarts"]


class ForecastsStarts:
    """A simulation, as far as it forecasts starts; the part `forecast` does the work."""

    def forecast(
        self,
        samples: int = 200,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        *,
        horizon: float | None = None,
        draws: DrawMethod = "user_request",
        correlation: float = 1.0,
        arrivals: ForecastArrivals | None = None,
        seed: int = 0,
        precision: float | None = None,
        at: float | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Forecast:
        """Forecast when each waiting job starts: quantiles over simulated samples of the future.

        Each sample is a fork in which run times are drawn from the facts known now (semantics, S30).

        Parameters
        ----------
        samples
            The number of samples; with `precision`, the largest one.
        quantiles
            The levels of the forecast, between 0 and 1, ascending.
        horizon
            Seconds from now after which a start is only "later". [default: none]
        draws
            How run times are drawn: ``"user_request"``: from the user's last jobs of the same size and time
            limit, or else as by ``"user"``; ``"user"``: from the user's last jobs, or else from the size
            class; ``"class"``: from the size class; ``"forest"``: from a forest learnt from the requests and
            the users' latest jobs (extra ``predict``); ``"limits"``: every job runs to its limit;
            ``"true"``: the true run times, for tests.
        correlation
            The chance with which jobs of a user share their uniform in a sample, from 0 to 1.
        arrivals
            ``"week"``: in each sample, one of the past weeks arrives again from the same hour and weekday on,
            as far as the workload reaches back; ``"none"``. [default: ``"week"`` if forks can have other
            arrivals, else ``"none"``]
        seed
            Seed of the draws: one uniform per sample and job, independent of the other jobs.
        precision
            Seconds: after every 25 samples, no more are simulated if the 95 % confidence interval of each
            quantile is within ± this time. [default: all samples are simulated]
        at
            The time of the forecast, if nothing happened since the present time, seconds. [default: now]
        threads
            The number of threads. [default: the number of CPUs]
        progress
            Called with the numbers of finished and of all samples.

        Returns
        -------
        Forecast
            One row per waiting job; `Forecast.jobs` is the table.

        Raises
        ------
        SimulationError
            If an argument is invalid, or a job has no time limit to draw by.
        MissingExtraError
            If draws are ``"forest"`` and scikit-learn is not installed.

        Examples
        --------
        >>> import batchlab as bl
        >>> system = bl.System.homogeneous(nodes=4, resources={"core": 1})
        >>> simulation = bl.Simulation(bl.generate.lublin(400, nodes=4, seed=1), system, "easy")
        >>> simulation.run_until(20_000)
        >>> simulation.forecast(samples=20, seed=1).jobs.columns[:3]
        ['job_id', 'tasks', 'waited']
        """
        function = import_late("batchlab.forecast.forecast", "forecast")
        return cast(
            "Forecast",
            function(
                self,
                samples,
                quantiles,
                horizon=horizon,
                draws=draws,
                correlation=correlation,
                arrivals=arrivals,
                seed=seed,
                precision=precision,
                at=at,
                threads=threads,
                progress=progress,
            ),
        )

    def forecast_submission(
        self,
        tasks: Sequence[int],
        limits: Sequence[float],
        *,
        like: int | None = None,
        samples: int = 200,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        draws: DrawMethod = "user_request",
        correlation: float = 1.0,
        seed: int = 0,
        at: float | None = None,
        threads: int | None = None,
    ) -> SubmissionForecast:
        """Forecast how long a job would wait if it were submitted now, for each size and time limit.

        Every size and limit is simulated with the same run times of the other jobs, and without later
        arrivals.

        Parameters
        ----------
        tasks
            The numbers of tasks.
        limits
            The time limits, which are also the requested times, seconds.
        like
            The ``job_id`` of a job that has ended, or is not yet submitted: the new job takes its place, and
            has its user, partition and resources per task. [default: the job that ended last]
        samples, quantiles, draws, correlation, seed, at, threads
            As for `forecast`.

        Returns
        -------
        SubmissionForecast
            One row per size and limit.

        Raises
        ------
        SimulationError
            If an argument is invalid or no job has ended; or if another size than that of the job `like` is
            requested while the policy or limits use values of its size (multifactor, slurm, limits).

        Examples
        --------
        >>> import batchlab as bl
        >>> system = bl.System.homogeneous(nodes=4, resources={"core": 1})
        >>> simulation = bl.Simulation(bl.generate.lublin(400, nodes=4, seed=1), system, "easy")
        >>> simulation.run_until(20_000)
        >>> simulation.forecast_submission([1, 4], [600, 3600], samples=20).table.shape
        (4, 5)
        """
        function = import_late("batchlab.forecast.forecast", "forecast_submission")
        return cast(
            "SubmissionForecast",
            function(
                self,
                tasks,
                limits,
                like=like,
                samples=samples,
                quantiles=quantiles,
                draws=draws,
                correlation=correlation,
                seed=seed,
                at=at,
                threads=threads,
            ),
        )
