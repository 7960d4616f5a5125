"""Network models: what they take, and what is wrong with what they are given."""

import pickle
from collections.abc import Callable

import pytest

import batchlab as bl
from batchlab.experiment import Experiment
from batchlab.platform.network_model import MODELS

DOUBLED = {
    "bandwidth_factor": 0.5,
    "latency_factor": 2.0,
    "weight": 3.0,
    "window": 4.0,
    "cross_traffic": True,
    "loopback_bandwidth": 5.0,
    "loopback_latency": 6.0,
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_goes_through_plain_values_and_pickles(name: str) -> None:
    """Its name alone, or a mapping that JSON and TOML can hold."""
    model = bl.NetworkModel(name)
    assert (model.plain, model.changed) == (name, {})
    changed = {each: DOUBLED[each] for each in model.parameters}
    other = bl.NetworkModel.of({"model": name, **changed})
    assert other.plain == {"model": name, **changed}
    assert bl.NetworkModel.of(other.plain) == other == pickle.loads(pickle.dumps(other))  # noqa: S301  # our own
    assert other != model
    assert bl.NetworkModel.of(other) is other


def test_quantities_can_have_units() -> None:
    """The loopback is described as links are."""
    model = bl.NetworkModel(loopback_bandwidth="10GBps", loopback_latency="2us")
    assert (model.loopback_bandwidth, model.loopback_latency) == (1e10, 2e-6)
    assert repr(model) == "NetworkModel('max_min', loopback_bandwidth=10000000000.0, loopback_latency=2e-06)"


def test_a_configuration_of_simgrid_changes_what_the_model_takes() -> None:
    """Its model of parallel tasks looks at neither factors nor cross-traffic."""
    options: dict[str, float | bool | str] = {
        "host/model": "ptask_L07",
        "network/TCP-gamma": "65536",
        "network/bandwidth-factor": 0.97,
        "network/crosstraffic": "yes",
    }
    assert bl.NetworkModel.from_simgrid(options) == bl.NetworkModel("fair_bottleneck", window=65536)
    assert bl.NetworkModel.from_simgrid({"network/weight-S": 1.0}).plain == "max_min"


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "name": (lambda: bl.NetworkModel("maxmin"), r"called 'maxmin'\. Did you mean 'max_min'\?"),
    "kind": (lambda: bl.NetworkModel.of(7), r"no sharing model is called 7\."),
    "key": (
        lambda: bl.NetworkModel.of({"model": "max_min", "windw": 1}),
        r"windw = 1; is no parameter\. Did you mean 'window'\?",
    ),
    "taken": (
        lambda: bl.NetworkModel("fair_bottleneck", bandwidth_factor=0.9),
        r"bandwidth_factor = 0\.9; the model 'fair_bottleneck' takes only window, loopback_bandwidth",
    ),
    "weight": (lambda: bl.NetworkModel("max_min", weight=1.0), r"weight = 1\.0; the model 'max_min' takes"),
    "negative": (lambda: bl.NetworkModel(window=-1), r"window = -1; must be a finite number >= 0\."),
    "zero": (
        lambda: bl.NetworkModel(bandwidth_factor=0),
        r"bandwidth_factor = 0; must be a finite number > 0",
    ),
    "text": (lambda: bl.NetworkModel(window="big"), r"window = 'big'; must be a finite"),  # type: ignore[arg-type]
    "truth": (lambda: bl.NetworkModel(cross_traffic=1), r"cross_traffic = 1; must be true or false"),  # type: ignore[arg-type]
    "unit": (lambda: bl.NetworkModel(loopback_bandwidth="2GB"), r"loopback_bandwidth = '2GB'; .*unit 'GB'"),
    "chosen": (
        lambda: bl.NetworkModel.from_simgrid({"network/model": "LV08"}, "CM02"),
        r"model = 'CM02', but the options choose 'LV08'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_parameter_and_the_rule(name: str) -> None:
    """Whatever is wrong is said in one line."""
    call, message = WRONG[name]
    with pytest.raises(bl.PlatformError, match=message):
        call()


def test_share_takes_models_and_options_together() -> None:
    """Options change what the model says."""
    platform = bl.Platform.crossbar(2, bandwidth="1GBps", latency="1ms")
    flow = [("node0", "node1", 1e6)]
    model = bl.NetworkModel("bottleneck_max_min", window=1e4, loopback_latency=1.0)
    narrow = bl.share(platform, flow, model)
    assert narrow.tolist() == [0.002 + 1e6 * 2 * 0.002 / 1e4]
    assert bl.share(platform, flow, model, {"network/TCP-gamma": 0}) == pytest.approx([0.003])


def test_simulations_and_experiments_remember_the_model() -> None:
    """A result names the model, with what is changed."""
    application = bl.Application([bl.Phase([bl.tasks.Compute(flops=1e9, computation_pattern="uniform")])])
    workload = bl.Workload.from_jobs([bl.JobDescription(application=application, submit_time=0.0, tasks=1)])
    system = bl.System.of(bl.Platform.crossbar(2, bandwidth="1GBps", speed="1Gf"))
    model = bl.NetworkModel("max_min", window=1e4)
    result = bl.simulate(workload, system, "fcfs", sharing=model)
    assert result.options.sharing == model
    assert bl.simulate(workload, system, "fcfs", sharing="max_min").options.sharing == "max_min"
    runs = Experiment(workload, system, "fcfs", sharing=model).run()
    assert runs.results()["fcfs"][0].options.sharing == model
