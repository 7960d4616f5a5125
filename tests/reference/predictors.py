"""Predictors: what schedulers take the run times of jobs to be."""

from reference.model import Job

INCREMENTS = (60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000)


def user(job: Job) -> int:
    """Give whose a job is: every third one is of the same user."""
    return job.row % 3


class Predictor:
    """The requested time, which is never corrected."""

    corrects = False

    def estimate(self, job: Job) -> float:
        return job.requested_time

    def correct(self, job: Job, _estimate: float) -> float:
        return job.requested_time

    def learn(self, job: Job, run_time: float) -> None:
        """Learn nothing."""


class Clairvoyant(Predictor):
    """The run time, even where it is longer than what was requested."""

    corrects = True

    def estimate(self, job: Job) -> float:
        return job.run_time


class ByUser(Predictor):
    """Goes by the run times of the user's jobs that have ended; more than was requested is never said."""

    corrects = True

    def __init__(self) -> None:
        self.ran: dict[int, list[float]] = {}
        self.outlived: dict[int, int] = {}

    def summary(self, run_times: list[float]) -> float:
        raise NotImplementedError

    def estimate(self, job: Job) -> float:
        known = self.ran.get(user(job), [])
        return min(self.summary(known), job.requested_time) if known else job.requested_time

    def correct(self, job: Job, estimate: float) -> float:
        times = self.outlived.get(job.row, 0)
        self.outlived[job.row] = times + 1
        return min(estimate + INCREMENTS[min(times, len(INCREMENTS) - 1)], job.requested_time)

    def learn(self, job: Job, run_time: float) -> None:
        self.ran.setdefault(user(job), []).append(run_time)


class LastTwo(ByUser):
    """The average of the last two."""

    def summary(self, run_times: list[float]) -> float:
        return sum(run_times[-2:]) / len(run_times[-2:])


class RecursiveMean(ByUser):
    """A mean in which each new run time counts for half."""

    def summary(self, run_times: list[float]) -> float:
        mean = run_times[0]
        for run_time in run_times[1:]:
            mean += 0.5 * (run_time - mean)
        return mean


PREDICTORS: dict[str, type[Predictor]] = {
    "requested": Predictor,
    "clairvoyant": Clairvoyant,
    "last_two": LastTwo,
    "recursive_mean": RecursiveMean,
}
