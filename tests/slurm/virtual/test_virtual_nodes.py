"""What is given to a virtual cluster, and what is made of its answer; without any Slurm."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import batchlab as bl
from batchlab.bridge import slurm
from batchlab.errors import BridgeError, SystemDescriptionError
from batchlab.slurm.virtual.clock import Course
from batchlab.slurm.virtual.configuration import equal_nodes
from batchlab.slurm.virtual.experiment import returned_stream
from batchlab.slurm.virtual.feed import Fed, Issued, feed
from batchlab.slurm.virtual.layout import prepare
from batchlab.slurm.virtual.processes import find_programs
from support.virtual_clusters import configured

WHOLE = """
# A machine's own file.
ClusterName=site
SlurmctldHost=head(10.0.0.1)
SlurmctldPort=6817
Epilog=/site/epilog.sh
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,\\
bf_job_part_count_reserve=1   # EASY
SelectType=select/linear
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 State=UNKNOWN
NodeName=n[01-03] NodeAddr=10.0.0.[1-3]
NodeName=fat Sockets=8 RealMemory=1000
PartitionName=day Nodes=n[01-03],fat Default=YES MaxTime=60 AllowGroups=staff
partitionname=night Nodes=fat
"""

FEATURES = """
SchedulerType=sched/builtin
NodeName=n[1-2] CPUs=1
NodeName=n3 CPUs=1 Features=gpu,new
NodeName=n4 CPUs=1 Feature=fat
"""

CORES = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core"
MULTIFACTOR = "PriorityType=priority/multifactor\nPriorityWeight"


def submission(job: int, submit: float, run: float = 10.0, tasks: int = 1) -> slurm.Submission:
    return slurm.Submission(job, submit, run, 60.0, 1, tasks, 1)


def record(job: int, state: str, start: str, end: str, nodes: str = "n1") -> str:
    day = "2026-11-22T"
    return (
        f"JobId={job} UserId=root(0) GroupId=root(0) Name=x y JobState={state} Partition=batch TimeLimit=2 "
        f"StartTime={day}{start} EndTime={day}{end} NodeList={nodes} NodeCnt=1 ProcCnt=3 WorkDir=/tmp "
        f"ReservationName= Tres=cpu=3,node=1 Account= SubmitTime={day}10:00:01 ExitCode=0:0 \n"
    )


class TestConfiguration:
    """What is taken of a slurm.conf."""

    def test_of_a_machine(self, tmp_path: Path) -> None:
        """Scheduling, nodes and partitions are; hosts and ports are not; scripts do nothing."""
        read = slurm.read_configuration(configured(tmp_path, WHOLE))
        assert [(node.name, node.cores) for node in read.nodes] == [
            *((f"n0{n}", 16) for n in (1, 2, 3)),
            ("fat", 64),
        ]
        assert read.partitions == ("day", "night")
        assert read.replaced == ("ClusterName", "SlurmctldHost", "SlurmctldPort", "Epilog")
        assert "PartitionName=day Nodes=n[01-03],fat Default=YES MaxTime=60" in read.lines
        assert "Epilog=/bin/true" in read.lines
        assert read.read.selection.type == "linear"
        assert not read.accounts
        assert slurm.system_of(read.nodes, read).policy == (
            "slurm(epilog=true, bf_interval=2, bf_job_part_count_reserve=1)"
        )

    def test_of_nothing(self, tmp_path: Path) -> None:
        """An empty file makes one partition of all nodes."""
        read = slurm.read_configuration(configured(tmp_path))
        assert (read.partitions, read.nodes, read.default_partition) == (("batch",), (), "batch")
        assert slurm.system_of(equal_nodes(2, 4), read).policy == "slurm(select=cores)"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "SelectTypeParameters=CR_CPU\n",
            "SelectTypeParameters=CR_Core_Memory,CR_LLN\nDefMemPerCPU=100\n",
            "SelectType=select/cons_tres\n",
            "SelectType=select/linear\nSelectTypeParameters=CR_Memory\n",
        ],
    )
    def test_the_selection_is_what_the_daemons_read(self, text: str, tmp_path: Path) -> None:
        """The reader of Slurm's files finds the same selection in the cluster's own file."""
        configuration = slurm.read_configuration(configured(tmp_path, f"{text}NodeName=n1 CPUs=2\n"))
        (tmp_path / "cluster").mkdir()
        prepare(tmp_path / "cluster", configuration, configuration.nodes, [10_000, 10_001], [])
        read = bl.slurm.read_configuration(tmp_path / "cluster/slurm.conf", version="22.05.8")
        assert configuration.selection == read.selection

    def test_the_last_default_partition_counts(self, tmp_path: Path) -> None:
        """Slurm, its twin and the virtual cluster take the last of two lines with Default=YES."""
        lines = [f"PartitionName={name} Nodes=ALL Default=YES" for name in ("a", "b")]
        folder = configured(tmp_path, "\n".join(["NodeName=n1 CPUs=2", *lines, "PartitionName=c Nodes=ALL"]))
        read = slurm.read_configuration(folder)
        assert read.default_partition == "b"
        assert [each.name for each in bl.read_system(folder).partitions] == ["b", "a", "c"]

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ("SchedulerType=x\nInclude other.conf\n", r"slurm.conf:2: Include other.conf: there is no file"),
            ("NodeName=n1 CPUs=none\n", r"slurm.conf:1: CPUs = 'none'; must be a whole number from 0"),
        ],
    )
    def test_refused(self, tmp_path: Path, text: str, match: str) -> None:
        """What is no setting is named with its line."""
        with pytest.raises(SystemDescriptionError, match=match):
            slurm.read_configuration(configured(tmp_path, text))

    def test_missing(self, tmp_path: Path) -> None:
        """A directory without slurm.conf is refused."""
        with pytest.raises(BridgeError, match="no such file; put Slurm's policy lines there"):
            slurm.read_configuration(tmp_path)

    def test_files(self, tmp_path: Path) -> None:
        """Every path is in the cluster's directory; keys are for its owner alone."""
        configuration = slurm.read_configuration(configured(tmp_path, WHOLE))
        (configuration.path.parent / "topology.conf").write_text("SwitchName=s Nodes=n[01-03]\n")
        (tmp_path / "cluster").mkdir()
        prepare(tmp_path / "cluster", configuration, configuration.nodes, range(10_000, 10_005), [])
        text = (tmp_path / "cluster/slurm.conf").read_text()
        own = "NodeHostname=localhost NodeAddr=127.0.0.1 State=UNKNOWN"
        assert f"NodeName=fat {own} Port=[10004] CPUs=64 Boards=1 SocketsPerBoard=8 CoresPerSocket=8" in text
        assert text.count("NodeName=") == WHOLE.count("NodeName=n") + WHOLE.count("NodeName=fat")
        paths = [word for word in text.replace("=", " ").split() if word.startswith("/")]
        assert {path for path in paths if not path.startswith(str(tmp_path))} == {
            "/bin/true",
            "/usr/bin/true",
        } & {*paths}
        assert (tmp_path / "cluster/munge.key").stat().st_mode & 0o077 == 0
        assert (tmp_path / "cluster/topology.conf").is_file()

    @pytest.mark.parametrize(
        ("text", "nodes", "lines"),
        [
            ("NodeName=n[1-2] CPUs=2\nNodeName=n3 CPUs=2\n", None, ["n1,n2", "n3"]),
            ("NodeName=a,b[1-2] CPUs=2\n", None, ["a,b1,b2"]),
            ("", equal_nodes(4, 2), ["n1,n2,n3,n4"]),
            (
                "",
                [slurm.Node("n1", 2, ("CPUs=2",)), *(slurm.Node(f"n{k}", 1, ("CPUs=1",)) for k in (2, 3))],
                ["n1", "n2,n3"],
            ),
        ],
    )
    def test_lines_of_nodes(
        self, tmp_path: Path, text: str, nodes: Sequence[slurm.Node] | None, lines: list[str]
    ) -> None:
        """Nodes of one line stay on one line, as select/linear goes by lines; equal ones of ours are one."""
        configuration = slurm.read_configuration(configured(tmp_path, text))
        (tmp_path / "cluster").mkdir()
        chosen = configuration.nodes if nodes is None else nodes
        prepare(tmp_path / "cluster", configuration, chosen, range(10_000, 10_001 + len(chosen)), [])
        text = (tmp_path / "cluster/slurm.conf").read_text()
        found = re.findall(r"NodeName=(\S+) .* Port=\[(\S+)\] ", text)
        assert [names for names, _ in found] == lines
        ports = ",".join(each for _, each in found).split(",")
        assert ports == [str(port) for port in range(10_001, 10_001 + len(chosen))]

    @pytest.mark.parametrize(
        ("text", "policy"),
        [
            (f"SchedulerType=sched/builtin\n{CORES}", "slurm(select=cores, backfill=false)"),
            ("SelectType=select/linear\nSchedulerParameters=bf_interval=60", "slurm(bf_interval=60)"),
            (
                f"SchedulerType=sched/builtin\n{CORES}\n{MULTIFACTOR}Age=100\nPriorityMaxAge=1-12\n",
                "slurm(select=cores, backfill=false, order=multifactor(age=100, max_age=129600, period=300))",
            ),
        ],
    )
    def test_model(self, tmp_path: Path, text: str, policy: str) -> None:
        """The model is the system of the configuration, with its policy, as everywhere else."""
        whole = (
            f"ClusterName=c\n{text}\nNodeName=a[1-3] CPUs=8 RealMemory=2000 Features=x Weight=3\n"
            "NodeName=b Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 Gres=gpu:2\nGresTypes=gpu\n"
            "PartitionName=p Nodes=a[1-2],b MaxTime=10\nPartitionName=q Nodes=ALL Default=YES\n"
        )
        folder = configured(tmp_path, whole)
        configuration = slurm.read_configuration(folder)
        model, system = slurm.system_of(configuration.nodes, configuration), bl.read_system(folder)
        assert model.policy == policy
        names = [group.name for group in system.groups]
        renamed = [replace(group, name=name) for group, name in zip(model.groups, names, strict=True)]
        assert renamed == [*system.groups]
        assert model.partitions == system.partitions
        assert model.policy == system.policy

    def test_values_with_blanks(self, tmp_path: Path) -> None:
        """They are kept in quotation marks, and are not among what was replaced."""
        text = 'SchedulerParameters="bf_interval=2 ,bf_resolution=1"\n'
        read = slurm.read_configuration(configured(tmp_path, text))
        assert (read.lines[0], read.replaced) == (text.strip(), ())

    def test_included(self, tmp_path: Path) -> None:
        """Files that are included are parts of the configuration."""
        folder = configured(tmp_path, "Include nodes.conf\nSchedulerType=sched/builtin\n")
        (folder / "nodes.conf").write_text("NodeName=n[1-2] CPUs=2\n")
        read = slurm.read_configuration(folder)
        assert ([node.name for node in read.nodes], read.lines[0]) == (
            ["n1", "n2"],
            "SchedulerType=sched/builtin",
        )


class TestSubmissions:
    """What is submitted of a workload."""

    def test_times(self, tmp_path: Path) -> None:
        """The first comes at 0; limits are whole minutes, rounded up."""
        jobs = {"submit_time": [100, 40], "run_time": [90, 5], "requested_time": [130, 60], "tasks": [2, 1]}
        configuration = slurm.read_configuration(configured(tmp_path))
        workload = bl.Workload.from_table(jobs)
        found = slurm.submissions(workload, configuration)
        assert [(job.job_id, job.submit_time, job.run_time, job.limit) for job in found] == [
            (2, 0.0, 5.0, 1),
            (1, 60.0, 90.0, 3),
        ]
        assert slurm.rounding(found).mean == 25.0
        assert slurm.rounding(found).most == 50.0
        assert len(slurm.submissions(workload, configuration, duration=59.0)) == 1

    def test_requests(self, tmp_path: Path) -> None:
        """Cores per task, whole nodes, tasks per node and partitions that the cluster has are handed on."""
        jobs = {
            "submit_time": [0, 0],
            "run_time": [1, 1],
            "tasks": [2, 1],
            "core": [4, 1],
            "exclusive": [True, False],
            "tasks_per_node": [1, 0],
            "partition": ["night", "other"],
        }
        configuration = slurm.read_configuration(configured(tmp_path, WHOLE))
        first, second = slurm.submissions(bl.Workload.from_table(jobs), configuration)
        for several in ("night|day", "night, day", "night|other|day"):
            listed = bl.Workload.from_table({**jobs, "partition": [several, None]})
            assert slurm.submissions(listed, configuration)[0].partition == "night,day"
        assert first.options == ("--ntasks-per-node=1", "--exclusive")
        assert (first.cores, second.cores, second.options) == (4, 1, ())
        assert (first.partition, second.partition) == ("night", None)

    def test_features(self, tmp_path: Path) -> None:
        """What jobs ask for is handed on where nodes have features, and else named in a note."""
        jobs = {"submit_time": [0, 0], "run_time": [1, 1], "tasks": [1, 1], "constraint": ["gpu|fat", None]}
        workload = bl.Workload.from_table(jobs)
        configuration = slurm.read_configuration(configured(tmp_path, FEATURES))
        found = slurm.submissions(workload, configuration)
        assert [job.constraint for job in found] == ["gpu|fat", None]
        assert not any("constraint" in note for note in slurm.notes_of(workload, configuration, found))
        plain = slurm.nodes_of(bl.System.homogeneous(nodes=2, resources={"core": 1}))
        found = slurm.submissions(workload, configuration, nodes=plain)
        assert [job.constraint for job in found] == [None, None]
        notes = slurm.notes_of(workload, configuration, found, plain)
        assert "not handed on to Slurm: constraint of 1 job (no node has features)" in notes

    @pytest.mark.parametrize(
        ("asked", "match"),
        [
            ("gpus", r"job 1: constraint = 'gpus': no node has the feature 'gpus'\..* Did you mean 'gpu'\?"),
            ("gpu*2", r"job 1: constraint = 'gpu\*2': .* counts \(\*\)"),
        ],
    )
    def test_unknown_features(self, tmp_path: Path, asked: str, match: str) -> None:
        """They are refused before anything is started."""
        jobs = {"submit_time": [0], "run_time": [1], "tasks": [1], "constraint": [asked]}
        configuration = slurm.read_configuration(configured(tmp_path, FEATURES))
        with pytest.raises(BridgeError, match=match):
            slurm.submissions(bl.Workload.from_table(jobs), configuration)

    def test_no_jobs(self, tmp_path: Path) -> None:
        """A workload without jobs is refused."""
        workload = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]}).head(0)
        with pytest.raises(BridgeError, match="has no jobs"):
            slurm.submissions(workload, slurm.read_configuration(configured(tmp_path)))


def test_returned_stream() -> None:
    """Slurm's records become the columns of a result's jobs, whatever became of them."""
    issued = [
        Issued(submission(7, 1.0), 1.0, 1.2, 1),
        Issued(submission(8, 1.0), 1.0, 1.3, 2),
        Issued(submission(9, 2.0), 2.0, 2.5, 3),
        Issued(submission(10, 3.0), 3.0, 3.5, None, "no"),
        Issued(submission(11, 3.0), 3.0, 3.5, 4),
    ]
    origin = 1_795_341_600
    text = (
        record(2, "TIMEOUT", "10:00:03", "10:01:30", "n[1-2]")
        + record(1, "COMPLETED", "10:00:02", "10:00:12", "n[2-3]")
        + record(3, "CANCELLED", "10:00:20", "10:00:20", "(null)")
        + record(4, "PREEMPTED", "10:00:05", "10:00:06", "n1")
        + record(4, "COMPLETED", "10:00:30", "10:00:40", "n3")
    )
    jobs = returned_stream(
        text, Fed(origin, issued), slurm.nodes_of(bl.System.homogeneous(nodes=3, resources={"core": 2}))
    )
    assert jobs["state"].to_list() == ["completed", "killed", "queued", "rejected", "completed"]
    assert jobs["submit_time"].to_list() == [1.0, 1.0, 1.0, 3.0, 1.0]
    assert jobs["start_time"].to_list() == [2.0, 3.0, None, None, 30.0]
    assert jobs["run_time"].to_list() == [10.0, 87.0, None, None, 10.0]
    assert jobs["nodes"].to_list() == [[1, 2], [0, 1], [], [], [2]]
    assert jobs["requested_time"].to_list() == [120.0, 120.0, 120.0, 60.0, 120.0]
    assert jobs["lateness"].to_list() == pytest.approx([0.2, 0.3, 0.5, 0.5, 0.5])


def test_model_of_a_stream(tmp_path: Path) -> None:
    """The model runs what was started, on the same nodes under the same rule; both are compared."""
    configuration = slurm.read_configuration(configured(tmp_path, "SchedulerType=sched/builtin\n"))
    nodes = slurm.nodes_of(bl.System.homogeneous(nodes=2, resources={"core": 1}))
    planned = slurm.planned_stream([submission(1, 0.0, tasks=2), submission(2, 1.0), submission(3, 1.0, 5.0)])
    modelled = slurm.run_model(planned, nodes, configuration, "fcfs")
    assert modelled.jobs["start_time"].to_list() == [0.0, 10.0, 10.0]

    def outcome(late: float, overhead: float) -> slurm.Outcome:
        """Make what Slurm gives when it starts all jobs later, and needs time to launch them."""
        real = modelled.jobs.with_columns(
            pl.col("start_time") + late,
            pl.col("end_time") + late + overhead,
            pl.col("run_time") + overhead,
            lateness=pl.lit(0.0),
            planned_run_time=pl.col("run_time"),
            slurm_state=pl.lit("COMPLETED"),
        )
        run = slurm.RealRun(real, 0, "22.05.8", "", nodes, course=Course(10.0, 400.0))
        return slurm.Outcome([submission(1, 0.0)], nodes, run, modelled, clock="auto")

    single = outcome(2.0, 0.0)
    assert single.metrics()["P"] == 2.0
    assert "P             2.00 s between Slurm and the model; 3 of 3 waits differ" in single.summary()
    assert "auto: 00:06:40 in 10 s, 40 times real time; jobs lasted 0.00 s longer" in single.summary()
    single.write(tmp_path / "single")
    manifest = json.loads((tmp_path / "single/manifest.json").read_text())
    assert manifest["slurm"]["clock"] == {"name": "auto", "factor": 40.0, "real": 10.0, "virtual": 400.0}

    repeated = slurm.Repeated([single, outcome(1.0, 0.0), outcome(4.0, 0.0)])
    facts = dict(repeated.facts())
    assert facts["Slurm, Slurm"] == "P 2.00 s (1.00 to 3.00) between 3 runs of Slurm"
    assert facts["Slurm, model"] == "P 2.00 s (1.00 to 4.00); adequate for 2 of 3 runs"
    repeated.write(tmp_path / "runs")
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["run-1", "run-2", "run-3"]


def test_the_model_rounds_times_of_the_clock(tmp_path: Path) -> None:
    """Plans begin at multiples of bf_resolution on the clock; job 5 fits before one of them."""
    configuration = slurm.read_configuration(configured(tmp_path, "SelectType=select/linear\n"))
    stream = pl.DataFrame(
        {
            "job_id": range(1, 7),
            "submit_time": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            "run_time": [60.0, 30.0, 100.0, 30.0, 60.0, 120.0],
            "requested_time": [120.0, 180.0, 120.0, 60.0, 60.0, 120.0],
            "tasks": [1, 1, 1, 2, 1, 2],
            "core": [1] * 6,
            "partition": ["batch"] * 6,
        }
    )
    policy = "slurm(main_phase=0.3, backfill_phase=0.5)"

    def fifth(origin: int | None, policy: str | None = policy) -> float:
        run = slurm.run_model(stream, equal_nodes(2, 1), configuration, policy, origin=origin)
        return cast("float", run.jobs["start_time"][4])

    assert fifth(None) == fifth(0) == fifth(600) == pytest.approx(163.3)
    assert fifth(30) == pytest.approx(60.5)
    # What the user says counts.
    assert fifth(30, f"{policy[:-1]}, epoch=0)") == pytest.approx(163.3)


def test_overhead() -> None:
    """A note warns where jobs last longer than they sleep, unless there are too few jobs to say so."""

    def run(jobs: int, overhead: float) -> slurm.RealRun:
        """Make what Slurm gives of equal jobs."""
        columns = {"run_time": 5.0 + overhead, "planned_run_time": 5.0, "slurm_state": "COMPLETED"}
        table = pl.DataFrame({"job_id": range(jobs)}).with_columns(
            **{name: pl.lit(value) for name, value in columns.items()}
        )
        return slurm.RealRun(table, 0, "22.05.8", "", ())

    assert run(30, 0.25).overhead() == pytest.approx(0.25)
    assert "jobs lasted 0.25 s longer than they slept, on average; above 0.2 s" in run(30, 0.25).notes()[0]
    assert run(30, 0.15).notes() == run(29, 0.25).notes() == []


def test_partitions(tmp_path: Path) -> None:
    """The model has the partitions with their nodes and tiers; jobs that name none are in the default one."""
    text = (
        "SchedulerType=sched/builtin\nNodeName=n[1-4] CPUs=1\nNodeSet=last Nodes=n4\n"
        "PartitionName=DEFAULT PriorityTier=2\n"
        "PartitionName=few Nodes=n[1,3],last\nPartitionName=all Nodes=ALL Default=YES PriorityTier=1\n"
    )
    configuration = slurm.read_configuration(configured(tmp_path, text))
    system = slurm.system_of(configuration.nodes, configuration)
    assert [(each.name, each.nodes, each.tier) for each in system.partitions] == [
        ("all", "0-3", 1),
        ("few", "0,2-3", 2),
    ]
    few = replace(submission(3, 1.0, tasks=3), partition="few")
    jobs = [submission(1, 0.0, tasks=2), submission(2, 1.0, tasks=3), few]
    run = slurm.run_model(slurm.planned_stream(jobs), configuration.nodes, configuration, "fcfs")
    assert run.jobs["start_time"].to_list() == [0.0, 20.0, 10.0]


def test_several_partitions(tmp_path: Path) -> None:
    """The model has the partitions that a job named, not the one where Slurm ran it."""
    text = (
        "SchedulerType=sched/builtin\nNodeName=n[1-4] CPUs=1\n"
        "PartitionName=few Nodes=n1 Default=YES\nPartitionName=all Nodes=n[2-4]\n"
    )
    configuration = slurm.read_configuration(configured(tmp_path, text))
    jobs = [submission(1, 0.0), replace(submission(2, 1.0), partition="few,all")]
    stream = slurm.planned_stream(jobs)
    returned = stream.with_columns(planned_partition="partition", partition=pl.lit("few"))
    for each in (stream, returned):
        run = slurm.run_model(each, configuration.nodes, configuration, "fcfs")
        assert run.jobs["start_time"].to_list() == [0.0, 1.0]


class Recorder:
    """A cluster that keeps the options of what is submitted, and has nothing left to run."""

    def __init__(self) -> None:
        self.options: list[list[str]] = []
        self.clock = slurm.RealClock()

    def submit(self, _name: str, *, options: list[str], **_more: object) -> int:
        self.options.append(options)
        return len(self.options)

    def queue(self) -> dict[int, str]:
        return {}

    def check(self) -> None:
        """All daemons are there."""

    def completions(self) -> str:
        return ""


def test_options_of_sbatch() -> None:
    """Partition and features are options of sbatch; its answer has them beside the job."""
    job = replace(submission(1, 0.0), partition="night", constraint="gpu|fat", options=("--exclusive",))
    recorder = Recorder()
    fed = feed(cast("Any", recorder), [job])
    assert recorder.options == [["--exclusive", "--partition=night", "--constraint=gpu|fat"]]
    assert returned_stream("", fed, ())["constraint"].to_list() == ["gpu|fat"]


def test_features(tmp_path: Path) -> None:
    """The model runs jobs on nodes with the features that they ask for."""
    configuration = slurm.read_configuration(configured(tmp_path, FEATURES))
    system = slurm.system_of(configuration.nodes, configuration)
    assert [(group.count, group.features) for group in system.groups] == [
        (2, ()),
        (1, ("gpu", "new")),
        (1, ("fat",)),
    ]
    jobs = [replace(submission(job, 0.0), constraint="gpu&new") for job in (1, 2)]
    run = slurm.run_model(slurm.planned_stream(jobs), configuration.nodes, configuration, "fcfs")
    assert run.jobs["start_time"].to_list() == [0.0, 10.0]
    assert run.placements["node"].to_list() == [2, 2]


def test_unknown_node(tmp_path: Path) -> None:
    """A partition of nodes that are not there is refused before anything is started."""
    configuration = slurm.read_configuration(configured(tmp_path, "PartitionName=p Nodes=c[1-2]\n"))
    nodes = slurm.nodes_of(bl.System.homogeneous(nodes=2, resources={"core": 1}))
    with pytest.raises(
        SystemDescriptionError,
        match=r"slurm.conf, on the virtual nodes: Nodes: c1 is no node\. Known: n1, n2\.",
    ):
        slurm.system_of(nodes, configuration)


def test_slurm_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that installs what is missing."""
    monkeypatch.setattr("shutil.which", lambda name, path: None if name.startswith("slurm") else name)
    match = r"no slurmctld, slurmd. Install with: apt-get install slurmctld slurmd$"
    with pytest.raises(BridgeError, match=match):
        find_programs()
