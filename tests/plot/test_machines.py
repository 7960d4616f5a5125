"""Free nodes, messages and links, and where jobs are on the machine."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.errors import ResultError
from support.plotted_results import communicating, dragonfly, no_jobs, simulated, torus
from support.results import Job, make_result


def test_free_nodes_are_those_without_jobs() -> None:
    """Two jobs share a node; one follows another at one instant; the last ends."""
    jobs = [
        Job(0, 0, 10, nodes=((0, 1),)),
        Job(0, 5, 20, nodes=((0, 1), (1, 1)), tasks=2),
        Job(0, 20, 30, nodes=((1, 1),)),
    ]
    result = make_result(jobs)
    (line,) = bl.plot.free_nodes(result, of="nodes", window=0).lines
    nodes = result.system.nodes
    found = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))  # type: ignore[arg-type]
    assert found == {0: nodes - 1, 5: nodes - 2, 10: nodes - 2, 20: nodes - 1, 30: nodes}
    both = bl.plot.free_nodes(result, window=0).lines
    assert [each.get_label() for each in both] == ["free nodes", "running jobs"]


def test_a_zoom_is_a_span_of_curves() -> None:
    """It shows the same curves in axes of its own; of boxes there is none."""
    result = simulated("fcfs", 40)
    ax = bl.plot.wait(result, kind="cdf", zoom=(0, 600))
    (part,) = ax.child_axes
    assert part.get_xlim() == (0, 600)
    assert len(part.get_lines()) == 1
    with pytest.raises(ResultError, match=r"zoom = \(0, 600\); it is for kind='cdf'"):
        bl.plot.wait(result, zoom=(0, 600))
    with pytest.raises(ResultError, match=r"zoom = \(9, 1\); must be two values"):
        bl.plot.wait(result, kind="cdf", zoom=(9, 1))
    assert not bl.plot.wait(no_jobs(), kind="cdf", zoom=(0, 600)).child_axes


def test_hops_are_those_of_the_tables() -> None:
    """A point for each label, the mean over replications; curves by name."""
    results = {"a": communicating(torus(4, 4)), "b": communicating(torus(8, 2))}
    ax = bl.plot.hops(results, along="machine")
    table = results["a"].messages
    mean = np.average(table["mean_hops"], weights=table["messages"])
    assert np.asarray(ax.lines[0].get_ydata())[0] == pytest.approx(mean)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]
    assert ax.get_xlabel() == "machine"
    curves = bl.plot.hops({"one": results, "other": results}, of="max_hops")
    assert len(curves.lines) == 2
    times = np.asarray(bl.plot.hops(results, of="run_time").lines[0].get_ydata())
    assert times[0] == pytest.approx(results["a"].jobs["run_time"].mean())
    total = np.asarray(bl.plot.hops(results, of="hop_bytes").lines[0].get_ydata())
    assert total[0] == pytest.approx(table["hop_bytes"].sum())
    with pytest.raises(ResultError, match="mappings of labels to results, all of them or none"):
        bl.plot.hops({"one": results, "other": results["a"]})  # type: ignore[arg-type]
    with pytest.raises(ResultError, match=r"of = 'hop'; must be a known one. Known: hop_bytes"):
        bl.plot.hops(results, of="hop")  # type: ignore[arg-type]
    with pytest.raises(ResultError, match="pass messages=True"):
        bl.plot.hops(simulated("fcfs", 5))


def test_nothing_to_show_is_said() -> None:
    """Results without messages or applications."""
    plain = bl.Workload.from_jobs([bl.JobDescription(submit_time=0.0, tasks=1, run_time=5.0)])
    result = bl.simulate(plain, bl.System.of(torus(2, 2)), "fcfs", messages=True)
    for plot in (bl.plot.hops, bl.plot.hop_bytes):
        assert plot(result).texts[0].get_text() == "no job has sent a message"
    assert bl.plot.interference(result).texts[0].get_text() == "no job has an application"
    bl.plot.link_loads(result)


@pytest.mark.parametrize("of", ["mean_load", "peak_load", "bytes", "congested_time"])
@pytest.mark.parametrize("platform", [torus(5), torus(4, 3), torus(3, 2, 2), torus(2, 2, 2, 3), dragonfly()])
def test_links_of_tori_and_dragonflies(platform: bl.Platform, of: str) -> None:
    """Each is drawn, with a scale of colours."""
    ranks = min(12, len(platform.nodes))
    ax = bl.plot.link_loads(communicating(platform, 3, ranks=ranks), of=of)  # type: ignore[arg-type]
    figure = ax.get_figure(root=True)
    assert figure is not None
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    assert len(figure.axes) == 2


def test_a_link_has_the_colour_of_its_load() -> None:
    """One message: one line of a ring is not grey, nor is the cell of its groups in a matrix."""

    def sends(world: bl.skeleton.Communicator) -> None:
        world.send(1, 1e6) if world.rank == 0 else world.recv(0)

    application = bl.Application([bl.Phase([bl.skeleton.Skeleton(sends, 2)])])
    job = bl.JobDescription(submit_time=0.0, tasks=2, requested_time=9.0, application=application)
    workload = bl.Workload.from_jobs([job])
    ax = bl.plot.link_loads(bl.simulate(workload, bl.System.of(torus(6)), "fcfs", messages=True))
    colours = ax.collections[0].get_colors()  # type: ignore[attr-defined]
    grey = np.isclose(np.asarray(colours)[:, :3], to_rgb("#d8dee4")).all(axis=1)
    # The link round the edge is two short lines.
    assert len(grey) == 7
    assert np.count_nonzero(~grey) == 1
    far = bl.Platform.dragonfly(groups=3, chassis=1, blades=3, nodes_per_blade=1, bandwidth=1e9)
    policy = "fcfs(allocator=blocks(2, of=machine))"
    result = bl.simulate(workload, bl.System.of(far), policy, messages=True)
    (mesh,) = bl.plot.link_loads(result, of="bytes").collections
    cells = np.asarray(mesh.get_array()).reshape(3, 3, 4)[..., :3]
    marked = np.argwhere(~np.isclose(cells, to_rgb("#d8dee4")).all(axis=2))
    nodes = result.jobs["nodes"][0].to_list()
    assert [nodes[0] // 3, nodes[1] // 3] in marked.tolist()


def test_maps_refuse_other_networks() -> None:
    """And axes of another kind."""
    with pytest.raises(ResultError, match="connected by a Crossbar; this map is for a torus"):
        bl.plot.link_loads(communicating(bl.Platform.crossbar(16, bandwidth=1e9)))
    with pytest.raises(ResultError, match="connected by a Dragonfly"):
        bl.plot.link_loads(communicating(dragonfly()), view="3d")
    with pytest.raises(ResultError, match="at most three dimensions"):
        bl.plot.link_loads(communicating(torus(2, 2, 2, 2)), view="3d")
    with pytest.raises(ResultError, match="needs a torus of at most three dimensions"):
        bl.plot.job_nodes(communicating(dragonfly()), view="3d")
    with pytest.raises(ResultError, match="view = '3d': the system has no platform"):
        bl.plot.job_nodes(simulated("fcfs", 5), view="3d")
    with pytest.raises(ResultError, match="must be axes of projection='3d'"):
        bl.plot.job_nodes(communicating(torus(4, 4)), view="3d", ax=Figure().add_subplot())


@pytest.mark.parametrize("platform", [torus(4, 4), torus(3, 3, 2), torus(3, 3, 2, nodes_per_router=2)])
def test_in_three_dimensions(platform: bl.Platform) -> None:
    """Nodes and links, on axes of one's own or new ones."""
    result = communicating(platform)
    for plot in (bl.plot.job_nodes, bl.plot.link_loads):
        ax = plot(result, view="3d", title="A title")
        assert ax.get_title(loc="left") == "A title"
        own = Figure().add_subplot(projection="3d")
        assert plot(result, view="3d", ax=own) is own
        figure = ax.get_figure(root=True)
        assert figure is not None
        FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "platform",
    [
        torus(4, 4),
        torus(2, 2, 2, 2),
        dragonfly(),
        bl.Platform.fat_tree(down=(4, 2, 2), up=(1, 2, 2), bandwidth=1e9),
        bl.Platform.crossbar(13, bandwidth=1e9),
    ],
)
def test_a_job_on_its_nodes(platform: bl.Platform) -> None:
    """As many squares as nodes; those of the job have colours from its first node to its last."""
    result = communicating(platform, 2)
    ax = bl.plot.job_nodes(result, job=1)
    (squares,) = ax.collections
    colours = np.asarray(squares.get_facecolor())[:, :3]
    assert len(colours) == len(platform.nodes)
    nodes = result.jobs["nodes"][0].to_list()
    brightness = colours[nodes].sum(axis=1)
    assert len({*map(tuple, colours[nodes])}) == len(nodes)
    assert brightness[0] < brightness[-1]
    with pytest.raises(ResultError, match="job = 99; no job has this job_id"):
        bl.plot.job_nodes(result, job=99)
    with pytest.raises(ResultError, match="time = nan s; must be a number"):
        bl.plot.job_nodes(result, time=np.nan)


def test_a_job_that_has_not_run_has_no_nodes() -> None:
    """It says so."""
    result = make_result([Job(0, state="queued")])
    with pytest.raises(ResultError, match="it has not run"):
        bl.plot.job_nodes(result, job=int(result.jobs["job_id"][0]))


def test_counting_messages_makes_no_other_group() -> None:
    """Results that differ in what is recorded alone are replications."""
    one = communicating(torus(4, 4))
    other = replace(one, options=replace(one.options, messages=False))
    assert len(bl.plot.wait([one, other]).get_yticklabels()) == 1
