"""The options of a run: one object, the same by whichever way it is given."""

import json
import pickle
import tomllib
from dataclasses import FrozenInstanceError, fields, replace
from inspect import getdoc, signature
from typing import Any, get_type_hints

import pytest

import batchlab as bl
from batchlab.options import ExperimentArguments, RunArguments
from batchlab.options.run_options import RECORDED
from batchlab.result.recorded import TABLES

OTHERS = bl.RunOptions(
    seed=3,
    walltime="kill",
    dispatch=True,
    invocation=bl.Invocation(on_submit=False, interval=7.0),
    sharing="fair_bottleneck",
    clip_requests=False,
    task_times=True,
    sensing=bl.Sensing(60, ("up", "down")),
)


def test_keyword_arguments_are_the_fields() -> None:
    """Checkers see of the keyword arguments what the dataclass has, name by name and type by type."""
    # The module imports these for checkers only, so that the command line starts without them.
    classes = (bl.Invocation, bl.NetworkModel, bl.NodeSleep, bl.Overheads, bl.RateControl, bl.Sensing)
    names = {each.__name__: each for each in classes}
    described = get_type_hints(bl.RunOptions, localns=names)
    assert get_type_hints(RunArguments, localns=names) == described
    assert get_type_hints(ExperimentArguments, localns=names) == {
        name: kind for name, kind in described.items() if name != "seed"
    }


def test_every_option_is_described() -> None:
    """The docstring names every option, in order; functions that take them name none by itself."""
    names = [field.name for field in fields(bl.RunOptions)]
    text = getdoc(bl.RunOptions) or ""
    places = [text.index(f"\n{name}\n    ") for name in names]
    assert places == sorted(places)
    for function in (bl.simulate, bl.Simulation, bl.Experiment):
        assert not set(names) & set(signature(function).parameters)
        assert signature(function).parameters["options"].default is None


@pytest.mark.parametrize("options", [bl.RunOptions(), OTHERS])
def test_plain_values_round_trip(options: bl.RunOptions) -> None:
    """Through a dictionary, JSON and a pickle."""
    plain = options.to_dict()
    assert list(plain) == [field.name for field in fields(bl.RunOptions)]
    assert bl.RunOptions.from_dict(plain) == options
    assert bl.RunOptions.from_dict(json.loads(json.dumps(plain))) == options
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301  # our own


def test_a_file_says_what_is_not_as_usual() -> None:
    """What is missing is as usual; invocation and sensing are tables."""
    text = 'seed = 3\nwalltime = "kill"\nsensing = { interval = 60, links = ["up"] }\n'
    options = bl.RunOptions.from_dict(tomllib.loads(text))
    assert options == bl.RunOptions(seed=3, walltime="kill", sensing=bl.Sensing(60, ("up",)))
    assert options.unusual == {"seed": 3, "walltime": "kill"}


def test_what_is_recorded_does_not_bear_on_the_schedule() -> None:
    """What is not as usual leaves them out."""
    assert replace(OTHERS, dispatch=False, task_times=False, sensing=None).unusual == OTHERS.unusual
    assert list(OTHERS.unusual) == ["seed", "walltime", "invocation", "sharing", "clip_requests"]


def test_options_of_recorded_tables_only_record() -> None:
    """An option that asks for a table says so where it is declared, so that replications stay together."""
    assert {table.option for table in TABLES.values() if table.option is not None} <= RECORDED


def test_options_are_values() -> None:
    """They cannot be changed, and can be keys."""
    assert {OTHERS: 1}[replace(OTHERS)] == 1
    with pytest.raises(FrozenInstanceError):
        OTHERS.seed = 4  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"walltim": "kill"}, r"^walltim: no such key\. Did you mean 'walltime'"),
        ({"walltime": "stop"}, r"^walltime = 'stop'; must be 'run' or 'kill'"),
        ({"sharing": None}, r"^sharing = None; no sharing model is called None\. Known: .*max_min"),
        ({"dispatch": 1}, r"^dispatch = 1; must be true or false"),
        ({"clip_requests": None}, r"^clip_requests = None; must be true or false"),
        ({"sensing": {"interval": 0}}, r"^sensing\.interval = 0; must be a finite number of seconds > 0"),
        ({"sensing": {"intervals": 1}}, r"^sensing\.intervals: no such key\. Did you mean 'interval'"),
        ({"sensing": {}}, r"^sensing\.interval is missing"),
        ({"sensing": [1]}, r"^sensing = \[1\]; must be a batchlab\.Sensing"),
        ({"invocation": {"on_submit": 1}}, r"^invocation\.on_submit = 1; must be true or false"),
    ],
)
def test_wrong_plain_values(values: dict[str, Any], message: str) -> None:
    """An error begins with the name of the option, so that a file's path can be put before it."""
    with pytest.raises(bl.SimulationError, match=message):
        bl.RunOptions.from_dict(values)


class TestCalls:
    """The ways in which options are given to a call."""

    WORKLOAD = bl.Workload.from_table({"submit_time": [0.0], "run_time": [5.0], "tasks": [1]})
    SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 1})

    def test_whole_or_by_name(self) -> None:
        """By name they replace those of the object."""
        whole = bl.RunOptions(seed=5, walltime="kill")
        run = bl.simulate(self.WORKLOAD, self.SYSTEM, "fcfs", options=whole, walltime="run")
        assert run.options == bl.RunOptions(seed=5)
        simulation = bl.Simulation(self.WORKLOAD, self.SYSTEM, "fcfs", options=whole)
        assert simulation.result().options == simulation.fork().result().options == whole
        experiment = bl.Experiment(self.WORKLOAD, self.SYSTEM, "fcfs", options=replace(whole, seed=0))
        assert experiment.options == bl.RunOptions(walltime="kill")

    @pytest.mark.parametrize("name", [field.name for field in fields(OTHERS) if field.name != "seed"])
    def test_an_experiment_takes_every_option(self, name: str) -> None:
        """Each by its name, all but the seed."""
        value = getattr(OTHERS, name)
        arguments: Any = {name: value}
        experiment = bl.Experiment(self.WORKLOAD, self.SYSTEM, "fcfs", **arguments)
        assert getattr(experiment.options, name) == value

    @pytest.mark.parametrize("function", [bl.simulate, bl.Simulation, bl.Experiment])
    def test_unknown_names(self, function: Any) -> None:  # noqa: ANN401  # any of the three
        """Are the caller's mistake, and the nearest name is suggested."""
        name = function.__name__
        with pytest.raises(TypeError, match=rf"^{name}\(\) takes no argument 'waltime'\. .*'walltime'\?"):
            function(self.WORKLOAD, self.SYSTEM, "fcfs", waltime="kill")
        with pytest.raises(TypeError, match="Did you mean 'events'"):
            function(self.WORKLOAD, self.SYSTEM, "fcfs", external_events=[])
        with pytest.raises(bl.SimulationError, match=r"^options = 3; must be a batchlab\.RunOptions"):
            function(self.WORKLOAD, self.SYSTEM, "fcfs", options=3)

    def test_seeds_of_an_experiment(self) -> None:
        """Are those of its own argument."""
        with pytest.raises(TypeError, match=r"takes no argument 'seed'; pass seeds="):
            bl.Experiment(self.WORKLOAD, self.SYSTEM, "fcfs", seed=1)  # type: ignore[call-arg]  # the point
        with pytest.raises(bl.ExperimentError, match=r"^options\.seed = 5; .* pass seeds=5"):
            bl.Experiment(self.WORKLOAD, self.SYSTEM, "fcfs", options=bl.RunOptions(seed=5))
