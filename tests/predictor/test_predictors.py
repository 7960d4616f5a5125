"""The contract of every registered predictor, and what each says on cases that can be followed by hand."""

import math
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import batchlab as bl
from batchlab.core.vocabulary import PredictorName
from batchlab.policy import PREDICTORS as RULES
from batchlab.predictor import PREDICTORS, LastTwo, Quantile, RecursiveMean
from support.python_schedulers import FirstFit

ONE = bl.System.homogeneous(nodes=1, resources={"core": 1})


@pytest.fixture
def workload() -> bl.Workload:
    """Three hundred jobs of three users, each with run times of his own, that ask for more than they need."""
    rng = np.random.default_rng(3)
    user = rng.integers(3, size=300)
    run_time = np.round(rng.lognormal(np.array([3, 5, 7])[user], 0.4))
    return bl.Workload.from_table(
        {
            "submit_time": np.sort(rng.integers(100_000, size=300)).astype(float),
            "run_time": run_time,
            "requested_time": run_time * rng.integers(1, 9, size=300),
            "tasks": rng.integers(1, 5, size=300),
            "user_id": user,
            "walltime_class": rng.integers(3, size=300),
        }
    )


@pytest.fixture
def system() -> bl.System:
    """Eight cores."""
    return bl.System.homogeneous(nodes=8, resources={"core": 1})


class Recording(FirstFit):
    """First fit that keeps each job's estimate as it enters the queue."""

    def begin(self, view: bl.View) -> None:
        """Forget."""
        self.estimates: dict[int, float] = {}

    def schedule(self, view: bl.View) -> None:
        """Note the new ones."""
        for job in view.queue:
            self.estimates.setdefault(job.row, job.estimate)
        super().schedule(view)


def small(name: str) -> bl.Predictor:
    """Give a predictor that learns from few jobs."""
    return Quantile(batch=40) if name == "quantile" else PREDICTORS[name]()


def estimates(
    workload: bl.Workload, predictor: bl.Predictor | PredictorName, system: bl.System = ONE
) -> list[float]:
    """Give what each job was first taken to run for."""
    recording = Recording()
    bl.simulate(workload, system, bl.Policy(scheduler=recording, predictor=predictor))
    return [recording.estimates[row] for row in range(len(workload))]


def test_all_are_listed() -> None:
    """Whatever has a class has a line, and the other way round."""
    assert set(PREDICTORS) == set(RULES)
    assert all(issubclass(kind, bl.Predictor) for kind in PREDICTORS.values())


@pytest.mark.parametrize("name", PREDICTORS)
@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "easy(order=sjf, reservations=2)"])
def test_every_rule_plans_with_every_predictor(
    name: PredictorName, policy: str, workload: bl.Workload, system: bl.System
) -> None:
    """Every job completes, again in the same way; by its spec string too, which round-trips."""
    base = bl.Policy.parse(policy)
    pieces = (base.order, base.backfill, base.allocator, base.reservations)
    first, second = (
        bl.simulate(workload, system, bl.Policy(*pieces, predictor=small(name))).jobs for _ in range(2)
    )
    assert first.equals(second)
    assert (first["state"] == "completed").all()
    named = bl.Policy(*pieces, predictor=name)
    assert bl.Policy.parse(str(named)) == named
    assert bl.simulate(workload, system, named).jobs["state"].unique().to_list() == ["completed"]


@pytest.mark.parametrize("name", PREDICTORS)
def test_estimates_are_seconds(name: str, workload: bl.Workload, system: bl.System) -> None:
    """They are finite and >= 0, and never more than was requested."""
    said = np.array(estimates(workload, small(name), system))
    assert np.isfinite(said).all()
    assert (said >= 0).all()
    assert (said <= workload.jobs["requested_time"].to_numpy()).all()


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_second_run_begins_anew(name: str, workload: bl.Workload, system: bl.System) -> None:
    """One object gives the same in every run: nothing is left over from the one before."""
    predictor = small(name)
    assert estimates(workload, predictor, system) == estimates(workload, predictor, system)


@pytest.mark.parametrize("name", PREDICTORS)
def test_forks_learn_by_themselves(name: str, workload: bl.Workload, system: bl.System) -> None:
    """A fork goes on as the simulation itself does, and neither changes the other."""
    simulation = bl.Simulation(workload, system, bl.Policy(backfill="easy", predictor=small(name)))
    simulation.run_until(45_000)
    fork = simulation.fork()
    fork.run_until()
    simulation.run_until()
    assert fork.result().jobs.equals(simulation.result().jobs)


def one_after_the_other(run_time: list[float], requested: float, user: list[object]) -> bl.Workload:
    """Make jobs that are submitted when the one before has ended."""
    return bl.Workload.from_table(
        {
            "submit_time": np.cumsum([0, *run_time[:-1]]).tolist(),
            "run_time": run_time,
            "requested_time": [requested] * len(run_time),
            "tasks": [1] * len(run_time),
            "user_id": user,
        },
        overrun="keep",
    )


@pytest.mark.parametrize("name", PREDICTORS)
def test_what_was_learnt_can_be_pickled(name: str, workload: bl.Workload, system: bl.System) -> None:
    """A predictor goes to another process with all that it has learnt."""
    predictor = PREDICTORS[name]()
    bl.simulate(workload, system, bl.Policy("sjf", predictor=predictor))
    copy = pickle.loads(pickle.dumps(predictor))  # noqa: S301  # our own
    assert vars(copy).keys() == vars(predictor).keys()


def test_last_two() -> None:
    """A new user's request, then his last job, then the average of his last two; at most the request."""
    workload = one_after_the_other([10, 20, 40, 6, 900], 500, ["a", "a", "b", "a", "a"])
    assert estimates(workload, "last_two") == [500, 10, 500, 15, 13]
    assert estimates(one_after_the_other([600, 1], 50, [1, 1]), "last_two") == [50, 50]


def test_recursive_mean() -> None:
    """The latest run time counts for the weight, all those before for the rest."""
    workload = one_after_the_other([10, 20, 40, 6, 9], 500, [1, 1, 1, 1, 1])
    assert estimates(workload, "recursive_mean") == [500, 10, 15, 27.5, 16.75]
    assert estimates(workload, RecursiveMean(weight=0.1)) == pytest.approx([500, 10, 11, 13.9, 13.11])


def test_users_may_be_in_another_column(workload: bl.Workload, system: bl.System) -> None:
    """A column that is named is gone by; one that is not there is named by the error."""
    assert estimates(workload, LastTwo("walltime_class"), system) != estimates(workload, LastTwo(), system)
    with pytest.raises(bl.PolicyError, match=r"LastTwo goes by column 'usr': .* Did you mean 'user_id'"):
        estimates(workload, LastTwo("usr"), system)


def test_orders_and_formulas_go_by_estimates(workload: bl.Workload, system: bl.System) -> None:
    """Shortest first is by the estimate, by name and as a formula; requested_time stays the user's."""

    def starts(policy: str) -> list[float]:
        return bl.simulate(workload.scale_load(4), system, policy).jobs["start_time"].to_list()

    by_name = starts("easy(order=sjf, predictor=last_two)")
    assert starts('easy(order=expression("estimate"), predictor=last_two)') == by_name
    assert starts('easy(order=expression("requested_time"), predictor=last_two)') != by_name
    assert starts('easy(order=expression("estimate"))') == starts("easy(order=sjf)")


def test_clairvoyance_is_the_true_time() -> None:
    """Longer than what was requested if need be."""
    assert estimates(one_after_the_other([10, 60], 50, [1, 1]), "clairvoyant") == [10, 60]


@pytest.mark.parametrize(
    "options",
    [{"reference_rate": 3.0}, {"overheads": bl.Overheads(launch=2.0, execution=5.0, completion=1.0)}],
    ids=["work", "overheads"],
)
def test_the_clairvoyant_know_run_times(options: dict[str, Any]) -> None:
    """What is estimated is the run_time of the workload: no work, and no overheads of executions."""
    workload = one_after_the_other([10, 60], 50, [1, 1])
    recording = Recording()
    bl.simulate(workload, ONE, bl.Policy(scheduler=recording, predictor="clairvoyant"), **options)
    assert [recording.estimates[row] for row in range(len(workload))] == [10, 60]


def test_corrections() -> None:
    """A job that outlives its estimate gets ever longer ones, up to its request; then it ends any time."""
    seen: list[tuple[float, float, float | None]] = []

    class Watching(FirstFit):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            super().schedule(view)
            if view.job(1).state == "running":
                seen.append((view.now - 10, view.job(1).estimate, view.job(1).expected_end))

    workload = one_after_the_other([10, 2000], 1500, [1, 1])
    bl.simulate(workload, ONE, bl.Policy(scheduler=Watching(), predictor="last_two"))
    assert seen == [
        (0, 10, 20),
        (10, 70, 80),
        (70, 370, 380),
        (370, 1270, 1280),
        (1270, 1500, 1510),
        (1500, 1500, 1510),
    ]


def test_an_estimate_of_no_time_is_corrected_at_once() -> None:
    """Else the job would be taken to end now for as long as it runs."""
    seen = []

    class Watching(FirstFit):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            super().schedule(view)
            seen.append((view.now, view.job(1).estimate))

    table = {
        "submit_time": [0, 1],
        "run_time": [0, 90],
        "requested_time": [100, 100],
        "tasks": [1, 1],
        "user_id": [1, 1],
    }
    bl.simulate(bl.Workload.from_table(table), ONE, bl.Policy(scheduler=Watching(), predictor="last_two"))
    assert seen[-4:] == [(1.0, 0.0), (1.0, 60.0), (61.0, 100.0), (91.0, 100.0)]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [(math.nan, "nan"), (math.inf, "inf"), (-1.0, "-1.0"), (None, "None"), ("ten", "'ten'")],
)
@pytest.mark.parametrize("method", ["estimate", "correct"])
def test_estimates_that_are_none(method: str, answer: object, shown: str) -> None:
    """They are refused by name, and the job is taken to run for its requested time."""

    class Guessing(bl.Predictor):
        answers = 0

        def estimate(self, job: bl.Job, view: bl.View) -> float:
            return self.answer(method == "estimate", 1.0)

        def correct(self, job: bl.Job, view: bl.View) -> float:
            return self.answer(method == "correct", 5.0)

        def answer(self, is_wrong: bool, right: float) -> float:
            self.answers += is_wrong
            return answer if is_wrong and self.answers == 1 else right  # type: ignore[return-value]  # the test

    workload = one_after_the_other([3], 9, [1])
    simulation = bl.Simulation(workload, ONE, bl.Policy(predictor=Guessing()))
    message = f"Guessing estimates job 1 at {shown}; must be a finite number of seconds >= 0"
    with pytest.raises(bl.PolicyError, match=message):
        simulation.run_until()
    simulation.run_until()
    assert simulation.result().jobs["state"].to_list() == ["completed"]


def test_who_waits_for_nothing_teaches_nothing() -> None:
    """A job that was killed in the queue has no run time to learn from."""

    class Killing(FirstFit):
        def schedule(self, view: bl.View) -> None:
            super().schedule(view)
            for job in view.queue:
                view.kill(job)

    workload = bl.Workload.from_table(
        {"submit_time": [0, 0], "run_time": [5, 5], "tasks": [1, 1], "user_id": [1, 1]}
    )
    for name in PREDICTORS:
        policy = bl.Policy(scheduler=Killing(), predictor=small(name))
        assert bl.simulate(workload, ONE, policy).jobs["state"].to_list() == ["completed", "killed"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RecursiveMean(weight=0), r"weight = 0; must be in \(0, 1\]"),
        (lambda: Quantile(1.0), r"quantile = 1\.0; must be a number > 0 and < 1"),
        (lambda: Quantile(batch=0), "batch = 0; must be a whole number >= 1"),
        (lambda: Quantile(window=0), "window = 0; must be a whole number >= 1"),
        (
            lambda: bl.Policy(predictor="last_tow"),  # type: ignore[arg-type]  # that is the point
            "no predictor named 'last_tow'. Did you mean 'last_two'",
        ),
        (lambda: bl.Policy.parse("easy(predictor=last_tow)"), "Did you mean 'last_two'.* At character 16"),
        (lambda: bl.Policy.parse("easy(predictor=last_two(3))"), "this value of last_two needs a key"),
    ],
)
def test_parameters(make: Callable[[], object], message: str) -> None:
    """What is out of range or unknown is refused."""
    with pytest.raises(bl.PolicyError, match=message):
        make()


def test_the_quantile_learns(workload: bl.Workload, system: bl.System) -> None:
    """Trained on enough jobs, it comes nearer to the run times than what was requested does."""
    run_time = workload.jobs["run_time"].to_numpy()

    def error(said: list[float]) -> float:
        return float(np.abs(np.log(np.array(said) / run_time))[100:].mean())

    learnt = estimates(workload, Quantile(0.5, batch=50, further=["walltime_class"]), system)
    assert error(learnt) < 0.5 * error(estimates(workload, "requested", system))
    high = estimates(workload, Quantile(0.95, batch=50), system)
    outlived = [(np.array(said)[100:] < run_time[100:]).mean() for said in (learnt, high)]
    assert outlived[1] < 0.15 < outlived[0] < 0.65


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named with the command that installs it."""
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(bl.BatchlabError, match=r"-m pip install 'scikit-learn>="):
        Quantile()
    with pytest.raises(ImportError, match="Quantile needs scikit-learn"):
        bl.simulate(one_after_the_other([3], 9, [1]), ONE, bl.Policy.parse("easy(predictor=quantile)"))
