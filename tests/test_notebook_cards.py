"""What notebooks show of the package's objects."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]  # its stubs are a package of their own
import pytest
from matplotlib.figure import Figure

import batchlab as bl

STRANGE = "<b>&x"


class _Checker(HTMLParser):
    """Collects texts, and holds that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        style = dict(attrs).get("style") or ""
        assert not re.search(r"(^|;)color|background:(?!transparent)", style), "it is lost in dark mode"

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Give one of each, with a name that is no HTML."""
    workload = bl.generate.lublin(50, nodes=16, seed=1)
    system = bl.System.homogeneous(nodes=16, resources={"core": 1}, name=STRANGE)
    simulation = bl.Simulation(workload, system, "easy")
    simulation.run_until(20_000)
    experiment = bl.Experiment({STRANGE: workload}, system, {"FCFS": "fcfs", STRANGE: "easy"})
    result = bl.simulate(workload, system, "easy(order=sjf)")
    return {
        "Workload of no jobs": bl.Workload.from_table({"submit_time": [], "run_time": [], "tasks": []}),
        "Workload": workload,
        "System": system,
        "Policy": result.policy,
        "Result": result,
        "Status": simulation.status(),
        "Simulation": simulation,
        "Twin": bl.twin.Twin(name=STRANGE, system=system, policy=bl.Policy.parse("easy")),
        "Experiment": experiment,
        "Runs": experiment.run(store=tmp_path_factory.mktemp("notebook") / "runs"),
    }


SAYS = {
    "Workload of no jobs": ["Workload", "0 jobs"],
    "Workload": ["Workload", "columns", "model of Lublin and Feitelson, all"],
    "System": [f"System {STRANGE}", "16 in all", "core of a node"],
    "Policy": ["Policy easy(order=sjf)", "backfill", "reservations"],
    "Result": ["Result of easy(order=sjf)", "50 completed", "bounded slowdown", "p95"],
    "Status": ["in use", "0 of 16 nodes"],
    "Simulation": ["Simulation of easy", "in use", "next event"],
    "Twin": [f"Twin {STRANGE}", "policy", "easy", "16"],
    "Experiment": ["Experiment of 2 runs", f"FCFS, {STRANGE}"],
    "Runs": ["2 done", STRANGE, "mean wait"],
}


@pytest.mark.parametrize("name", SAYS)
def test_objects_are_shown_in_notebooks(name: str, objects: dict[str, object]) -> None:
    """Each is a small piece of HTML, whose text is escaped and whose colours are the notebook's."""
    shown = objects[name]._repr_html_()  # type: ignore[attr-defined]
    checker = _Checker()
    checker.feed(shown)
    assert not checker.opened
    assert len(shown) < 8000
    for text in SAYS[name]:
        assert text in checker.texts


def test_plots_of_a_result_are_its_methods(objects: dict[str, object]) -> None:
    """`result.plot` has each function of `plot` that takes a result or its workload, and no other."""
    result = objects["Result"]
    assert isinstance(result, bl.Result)
    takes = {"results", "result", "workloads"}
    functions = {name: getattr(bl.plot, name) for name in bl.plot.__all__}
    of_result = {name for name, draw in functions.items() if takes & {*draw.__code__.co_varnames[:1]}}
    assert {name for name in dir(result.plot) if not name.startswith("_")} - {"result"} == of_result
    assert result.plot.gantt.__doc__ == bl.plot.gantt.__doc__
    ax = result.plot.wait(kind="cdf", title="Waits")
    assert ax.get_title(loc="left") == "Waits"
    assert result.plot.arrivals(per="day", ax=ax) is ax


def test_a_plot_is_shown_by_the_cell_that_ends_with_it(objects: dict[str, object]) -> None:
    """As a picture of its figure, of axes in the plane and in space; axes of one's own stay as they are."""
    result = objects["Result"]
    assert isinstance(result, bl.Result)
    assert result.plot.wait()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert not hasattr(result.plot.wait(ax=Figure().add_subplot()), "_repr_png_")
    torus = bl.System.of(bl.Platform.torus((2, 2, 2), bandwidth="1GBps", latency="1us"))
    jobs = bl.Workload.from_table({"submit_time": [0], "run_time": [9], "tasks": [3]})
    space = bl.simulate(jobs, torus, "easy").plot.job_nodes(view="3d")
    assert space._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_objects_are_shown_in_a_line(objects: dict[str, object]) -> None:
    """A machine, a twin and a simulation; a summary is shown as it is printed."""
    for name in ("System", "Twin", "Simulation"):
        shown = repr(objects[name])
        assert "\n" not in shown
        assert len(shown) < 120
    result = objects["Result"]
    assert isinstance(result, bl.Result)
    assert repr(result.summary()) == str(result.summary())
    assert "\n" in repr(result.summary())


def test_tables_can_be_of_pandas(objects: dict[str, object]) -> None:
    """For measures, events, signals, initial states, and what observers observe."""
    result = objects["Result"]
    assert isinstance(result, bl.Result)

    class Watcher(bl.Observer):
        name = "seen"

        def observations(self, view: bl.View) -> object:  # type: ignore[override]  # of pandas
            del view
            return pd.DataFrame({"time": [0.0, 5.0], "what": ["a", None]})

    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    jobs = bl.Workload.from_table(pd.DataFrame({"submit_time": [0], "run_time": [9], "tasks": [1]}))
    seen = bl.simulate(jobs, system, "easy", observers=[Watcher()]).observations["seen"]
    assert seen.rows() == [(0.0, "a"), (5.0, None)]
    table = result.jobs.drop("nodes")
    frame = pd.DataFrame(table.to_dict(as_series=False))
    assert bl.metrics.bounded_slowdown(frame).to_list() == bl.metrics.bounded_slowdown(table).to_list()
    signal = bl.Signal("price", pd.DataFrame({"time": [0.0, 5.0], "value": [1.0, 2.0]}))
    priced = bl.simulate(jobs, system, "easy", observers=[signal]).observations["price"]
    assert priced["value"].to_list()[:2] == [1.0, 2.0]


CELL = """
import batchlab as bl
from batchlab.generate import demo_system, demo_workload
class Mine(bl.Scheduler):
    def schedule(self, view):
        for job in view.queue:
            if not view.start(job):
                break
runs = bl.Experiment(demo_workload(5), demo_system(), [Mine()]).run(executor="processes", store="runs")
print(repr(runs), runs.failures.to_dicts())
"""


@pytest.mark.parametrize("installed", [True, False])
def test_classes_of_a_cell_in_processes(tmp_path: Path, installed: bool) -> None:
    """They run if cloudpickle is installed, else the error says why they cannot."""
    hidden = "" if installed else "import sys; sys.modules['cloudpickle'] = None\n"
    hide = hidden + ("import batchlab.experiment.execution as e; e._CLOUDPICKLE = None\n" if hidden else "")
    command = [sys.executable, "-c", hide + CELL]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603  # our own code
    if installed:
        assert "1 done" in done.stdout, done.stdout + done.stderr
    else:
        assert "is defined in a cell or at a prompt" in done.stderr
