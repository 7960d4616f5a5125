"""What notebooks show of the package's objects."""

import re
from html.parser import HTMLParser

import pytest

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
