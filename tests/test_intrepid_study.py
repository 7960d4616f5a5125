"""The study of three policies on three machines like Intrepid does what its paper says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import batchlab as bl

SCRIPT = Path(__file__).parents[1] / "examples/intrepid.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """Load the example as a module."""
    spec = importlib.util.spec_from_file_location("intrepid", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [0, 1])
def test_the_jobs_are_like_those_of_the_log(study: ModuleType, seed: int) -> None:
    """Number, days, sizes and load are those that are known of the log."""
    jobs = study.generated(study.LOGGED, seed).jobs
    cores, run_time = jobs["tasks"].to_numpy(), jobs["run_time"].to_numpy()
    period = float(np.ptp(jobs["submit_time"].to_numpy()))
    assert period / 86_400 == pytest.approx(240, abs=4)
    assert np.median(cores) == 2048
    assert cores.max() <= 163_840
    by_size = np.argsort(cores)
    weighted = cores[by_size][np.searchsorted(run_time[by_size].cumsum(), run_time.sum() / 2)]
    assert weighted == 2048
    assert cores @ run_time / (163_840 * period) == pytest.approx(0.6, abs=0.03)
    assert jobs["requested_time"].max() == 12 * 3600


@pytest.mark.parametrize("cores", [4, 16])
def test_racks_schedule_as_nodes_do(study: ModuleType, cores: int) -> None:
    """Start times are those on the nodes of the ready machine, or of a quarter of Cielo, one by one."""
    made = study.generated(600, 2)
    nodes = made.whole_nodes(cores)
    quarter = bl.System.homogeneous(nodes=2304, resources={"core": 16})
    whole = bl.read_system("intrepid-36864") if cores == 4 else quarter
    names = {"SJF": "sjf_node_hours(backfill=first_fit)", "LJF": "ljf_node_hours(backfill=first_fit)"}
    for name, policy in study.POLICIES.items():
        of_racks = bl.simulate(study.on_nodes(made, cores), study.machine(36_864, cores), policy).jobs
        of_nodes = bl.simulate(nodes, whole, names.get(name, policy)).jobs
        assert of_racks["start_time"].equals(of_nodes["start_time"]), name
        assert of_racks["start_time"].ne(of_racks["submit_time"]).any()


def test_policies_by_hand(study: ModuleType) -> None:
    """Node hours count whole nodes, ties go by arrival, none blocks, and too large a job is discarded."""
    # The first holds all 9,216 nodes for an hour. Of the others, but the last, any two are too many.
    cores = [36_864, 36_865, 20_000, 20_000, 19_997, 20_000, 17_200, 4]
    hours = [1, 1, 2, 1, 1, 3, 1.125, 0.25]
    run_time = [3600 * each for each in hours]
    jobs = bl.Workload.from_table({"submit_time": range(8), "run_time": run_time, "tasks": cores})
    starts = {}
    for name, policy in study.POLICIES.items():
        done = bl.simulate(study.on_nodes(jobs, 4), study.machine(36_864, 4), policy).jobs
        assert done["reason"].to_list() == [None, "never_fits", *[None] * 6]
        starts[name] = (done["start_time"] / 3600).to_list()
    assert starts == {
        "FCFS/BF": [0, None, 1, 3, 4, 5, 8, 1],
        # 4,837.5 node hours, 5,000 twice, 10,000 and 15,000.
        "SJF": [0, None, 4.125, 2.125, 3.125, 6.125, 1, 1],
        "LJF": [0, None, 4, 6, 7, 1, 8, 1],
    }


def test_a_log_takes_the_place_of_the_model(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its jobs are simulated, and the figure is drawn."""
    lines = [
        f"{job} {job * 60} -1 90 {4096 * job} -1 -1 {4096 * job} 120 -1 1 1 1 -1 -1 -1 -1 -1"
        for job in range(1, 21)
    ]
    log = tmp_path / "log.swf"
    log.write_text("\n".join(["; MaxProcs: 163840", *lines]))
    monkeypatch.setattr(sys, "argv", ["intrepid.py", "--log", str(log), "--out", str(tmp_path)])
    study.main()
    printed = capsys.readouterr().out
    assert printed.startswith("20 jobs submitted over 0.0 days")
    assert "36,864   FCFS/BF            11 " in printed
    assert (tmp_path / "intrepid_waits.png").stat().st_size > 10_000
