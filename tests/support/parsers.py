"""Every reader of batchlab, with sound inputs; any other input gives a value or one `BatchlabError`."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import batchlab as bl
from batchlab.bridge import batsim
from batchlab.bridge.elastisim.configuration import read_configuration
from batchlab.bridge.elastisim.project import read_workload
from batchlab.bridge.elastisim.protocol import read_transcript, replies
from batchlab.core.documents import DocumentReader
from batchlab.experiment.specification import read_specification
from batchlab.experiment.store import Store
from batchlab.options import RunOptions
from batchlab.slurm import read_dump, translate_dump
from support.accounting_logs import COBALT, GWF, JOBCOMP, LSF, MAUI, PBS, SACCT, SACCT_JSON, SGE, reading_of
from support.live_dumps import FOLDER, NOW, RELEASES, jobs_of, nodes_of, recorded, rows_of_sinfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.slurm import SlurmConfiguration

__all__ = ["PARSERS", "Parser"]

EXAMPLE = Path(__file__).parents[2] / "examples" / "elastisim" / "input"
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 4})

CONFIGURATION = (EXAMPLE / "configuration.json").read_bytes().replace(b"input/", f"{EXAMPLE}/".encode())
LOG = b"""; Version: 2.2
; MaxProcs: 8
; Queue: 1 batch
1 0 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1
2 10.5 -1 60 2 -1 -1 -1 -1 -1 0 7 8 9 1 2 1 0.5
3 20 0 -1 2 -1 -1 2 100 -1 0 12 1 -1 1 -1 -1 -1
"""
BATSIM = b"""{"nb_res": 4, "jobs": [
{"id": "w0!1", "subtime": 0, "walltime": 100, "res": 4, "profile": "wait"},
{"id": 2, "subtime": 5.5, "res": 2, "profile": "steps"}], "profiles": {
"wait": {"type": "delay", "delay": 20},
"work": {"type": "parallel", "cpu": [1e9, 2e9], "com": [0, 1e6, 2e6, 0]},
"all": {"type": "parallel_homogeneous_total", "cpu": 1e9, "com": 1e6},
"steps": {"type": "composed", "repeat": 2, "seq": ["wait", "work", "all"]}}}"""
TABLE = b"""job_id,submit_time,run_time,requested_time,tasks,core,exclusive,depends_on,node_group
1,0,60,100,4,1,true,,cpu|fat
2,10,200,,2,1,false,1,cpu
3,20.5,7e2,100,2,1,false,1 2,
"""
STREAM = b"""job_id,state,submit_time,start_time,end_time,run_time,requested_time,tasks,nodes,core
1,completed,0.0,10.0,70.0,60.0,100.0,4,0-3,1
2,rejected,10.5,,,200.0,200.0,2,,
3,killed,20.0,7e1,1.7e2,100.0,100.0,2,"1,3",1
"""
STREAMS = (
    LOG.replace(b"10.5 -1", b"10.5 30"),
    b"JobID|Submit|Start|End|State|ReqCPUS|TimelimitRaw\n7|100|160|220|COMPLETED|4|5\n8|130|Unknown|150|CANCELLED|4|5\n",
    (
        b"03/01/2024 10:02:00;E;7.server;user=ann queue=batch ctime=1709287200 qtime=1709287200 "
        b"start=1709287260 end=1709287320 Resource_List.ncpus=4 Resource_List.walltime=00:05:00\n"
    ),
)
SYSTEMS = (
    (
        b'{"name": "Mixed", "start_time": 1.5, "equivalence": {"core": 2}, "groups": '
        b'[{"name": "thin", "count": 2, "resources": {"core": 4, "gpu": 0}}]}'
    ),
    (
        b'{"system_name": "Mixed", "start_time": 1.5, "equivalence": {"processor": {"core": 2}}, '
        b'"groups": {"thin": {"core": 4}, "fat": {"core": 4, "gpu": 2}}, "resources": {"thin": 2, "fat": 1}}'
    ),
    (
        b'name = "Mixed"\nequivalence = { core = 2 }\n[[groups]]\nname = "thin"\ncount = 2\n'
        b'resources = { core = 4, "gpu" = 0x2 }\n'
    ),
)
PLATFORMS = (
    b"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="S" routing="Full">
<cluster id="C" prefix="n" suffix="" radical="0-7" speed="2Tf" bw="12.5GBps" lat="1us" topology="TORUS"
 topo_parameters="4,2" loopback_bw="1GBps" core="2"><prop id="num_gpus" value="4"/>
<prop id="flops_per_gpu" value="1Tf"/><prop id="gpu_to_gpu_bw" value="50GBps"/></cluster>
<zone id="P" routing="Cluster"><host id="PFS" speed="0Gf"><prop id="pfs_host" value="true"/></host>
<link id="u" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/>
<host_link id="PFS" up="u_UP" down="u_DOWN"/></zone>
<link id="r" bandwidth="80GBps" latency="5us"/>
<zoneRoute src="P" dst="C" gw_src="PFS" gw_dst="n0"><link_ctn id="r"/></zoneRoute></zone></platform>
""",
    b"""name = "example"
[[clusters]]
name = "c"
nodes = 4
bandwidth = "12.5GBps"
node = { speed = "1Tf", gpus = 4, disk = { read = "2GBps", write = 1e9 } }
topology = { kind = "fat_tree", down = [2, 2], up = [1, 2], cables = [1, 1] }
[[zones]]
name = "z"
routing = "star"
hosts = [{ name = "a", role = "storage" }]
links = [{ name = "x", bandwidth = 1 }]
rays = [{ member = "a", up = ["x"], down = ["x"] }]
[[routes]]
source = "c"
target = "z"
links = ["x"]
source_gateway = "node0"
target_gateway = "a"
""",
)
EXPERIMENT = b"""title = "Order matters"
policies = { first = "fcfs", second = "easy(order=sjf)" }
seeds = [0, 1]
replications = 2
[workloads]
made = { generator = "demo", jobs = 20 }
cut = { path = "log.swf", overrun = "cut", max_jobs = 2 }
[systems]
small = { nodes = 16, resources = { core = 4 } }
[dispatchers]
schedulers = { FIFO = "fcfs" }
allocators = ["first_fit", "best_fit"]
[options]
walltime = "run"
dispatch = true
sensing = { interval = 60 }
[run]
executor = "threads"
workers = 2
[output]
plots = ["slowdown"]
"""
ORDERS = (
    b"requested_time * tasks",
    b"-log(wait_time + 1) / (tasks ** 0.5) + 3e2",
    b"max(submit_time, 5) - min(1, 2, job_id) * 7",
)
MODELS = (
    b"work/num_nodes + (phase_iteration < steps/2 ? 1.5e3 : 2) ^ 2",
    b"if (mode == 'fast', max(1, 2, x), [sqrt(x) % 3]) + {clamp(0, x, 1)}",
    b"not(x and y or 1) + log2(avg(1, 2, 3)) * -x",
)
SPECS = (
    b"easy(order=sjf, allocator=best_fit)",
    b'expression("requested_time * tasks", backfill=easy)',
    b"random(7, backfill=conservative, allocator=worst_fit)",
    b"malleable(order=srtf)",
)
OPTIONS = (
    (
        b'{"seed": 7, "walltime": "kill", "order_at_instant": "arrivals_first", "dispatch": true, '
        b'"task_times": false, "sensing": {"interval": 60}}'
    ),
)
FAILURES = b"node,time,repair_time\n0,5,10\n1,7.5,\n0,100,inf\n"
SIGNAL = b"time,value\n0,1\n3600,2.5\n"
CALLS = (
    b'{"n": 0, "time": 1.0, "type": "INVOKE_JOB_SUBMIT", "job": 0, "sent_jobs": 1, "sent_nodes": 2, '
    b'"reply": [{"id": 0, "assigned_node_ids": [1, 0], "assigned_num_gpus_per_node": 1}]}\n'
    b'{"time": 2.5, "type": "INVOKE_EVOLVING_REQUEST", "job": 0, "nodes": 2, "reply": []}\n'
)
ANSWERS = (
    (
        b'[{"id": 0, "assigned_node_ids": [1, 0], "assigned_num_gpus_per_node": 1, "kill_flag": false, '
        b'"modified_runtime_args": true, "runtime_arguments": {"a": "1"}}]'
    ),
)


@dataclass(frozen=True)
class Parser:
    """A reader, and what it reads.

    Parameters
    ----------
    seeds
        Sound inputs.
    read
        Takes an input and an empty directory; gives a value, or raises a `BatchlabError`.
    sample
        How many mutants every run feeds it.
    """

    seeds: tuple[bytes, ...]
    read: Callable[[bytes, Path], object]
    sample: int = 60


def _from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    """Read from a file of this name."""

    def of_file(content: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(content)
        return read(path)

    return of_file


def _log(content: bytes, _folder: Path) -> object:
    workload = bl.read_swf(io.BytesIO(content))
    report = workload.report
    assert report.read == report.kept + report.dropped.height
    assert report.kept == len(workload)
    return repr(workload), str(report), workload.header.fields, workload.header.queues


def _table(path: Path) -> object:
    workload = bl.read_table(path)
    bl.write_table(workload, path.with_name("again.parquet"))
    again = bl.read_table(path.with_name("again.parquet"))
    assert again.jobs.equals(workload.jobs)
    return str(workload.report)


def _stream(path: Path) -> object:
    stream = bl.adequacy.read(path)
    found = bl.adequacy.compare(stream, stream)
    assert found.P == 0
    return str(found), bl.adequacy.reference([stream, stream]).P_max


def _platform(content: bytes, _folder: Path) -> object:
    platform = bl.read_platform(io.BytesIO(content))
    return [platform.route(platform.hosts[0].name, host.name) for host in platform.hosts[:2]]


def _order(content: bytes, _folder: Path) -> object:
    policy = bl.Policy.parse(f'expression("{content.decode("utf-8", "replace")}")')
    return bl.simulate(_jobs(), SYSTEM, policy).jobs


def _model(content: bytes, _folder: Path) -> object:
    formula = bl.Formula(content.decode("utf-8", "replace"))
    values = {"work": 1e9, "num_nodes": 4.0, "phase_iteration": 1.0, "steps": 8.0, "x": 0.5, "y": 0.0}
    return formula(**values, mode="fast"), repr(formula)


def _spec(content: bytes, _folder: Path) -> object:
    policy = bl.Policy.parse(content.decode("utf-8", "replace"))
    assert bl.Policy.parse(str(policy)) == policy
    return policy


def _options(content: bytes, _folder: Path) -> object:
    return RunOptions.from_dict(_object(content))


def _answer(content: bytes, _folder: Path) -> object:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return replies(answer)


def _record(content: bytes, folder: Path) -> object:
    """Put the bytes in the place of a record of the store, and of a failure; look at all of `Runs`."""
    store = folder / "runs"
    experiment = bl.Experiment(_jobs(), SYSTEM, "fcfs")
    (run,) = experiment.plan()
    for kind in ("runs", "failures"):
        path = Store(store).path(kind, run.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(b"KEY", run.key.encode()))
    runs = experiment.load(store)
    return runs.table, runs.failures, repr(runs), runs.summary(), runs.results()


def _object(content: bytes) -> dict[str, object]:
    documents = DocumentReader(bl.ExperimentError)
    try:
        found = documents.json(documents.text(content))
    except RecursionError:
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _jobs() -> bl.Workload:
    return bl.Workload.from_table(
        {"submit_time": [0, 1, 2], "run_time": [5, 5, 5], "tasks": [4, 8, 1], "requested_time": [9, 5, 7]}
    )


def _parquet() -> bytes:
    content = io.BytesIO()
    pl.read_csv(TABLE).write_parquet(content)
    return content.getvalue()


RECORD = (
    (
        b'{"key": "KEY", "schedule": "0123456789abcdef0123456789abcdef", "costs": {"elapsed": 0.5, '
        b'"cpu_time": 0.25, "dispatch_cpu_time": null, "dispatch_passes": null, '
        b'"memory_average": 1e8, "memory_maximum": 100000000}, '
        b'"metrics": {"jobs": {"submitted": 3}, "wait": {"mean": 1.5, "max": null}}}'
    ),
    b'{"error": "ValueError", "message": "no", "traceback": "Traceback"}',
)


def _zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("log.swf"), content)
    return file.getvalue()


def _read_gwf(content: bytes, folder: Path) -> object:
    """Read with the options that this reader has too."""

    def read(source: object, **options: object) -> bl.Workload:
        known = {key: value for key, value in options.items() if key not in ("node_names", "requeues")}
        return bl.read_gwf(source, **known)  # type: ignore[arg-type]

    return reading_of(read)(content, folder)


def _live(option: str) -> Callable[[bytes, Path], object]:
    """Read a dump of a live cluster, beside sound dumps of the rest, and build a simulation of it."""

    def read(content: bytes, folder: Path) -> object:
        path = folder / "dump"
        path.write_bytes(content)
        given = {"jobs": FOLDER / "squeue.json", "nodes": FOLDER / "sinfo.json"} | {option: path}
        state = read_dump(**given, now=NOW)  # type: ignore[arg-type]
        made = translate_dump(state, _configuration(), incomplete="keep")
        return state.table, made.workload, made.remarks

    return read


@cache
def _configuration() -> SlurmConfiguration:
    return bl.slurm.read_configuration(FOLDER / "slurm.conf")


def _dumped(*documents: object) -> tuple[bytes, ...]:
    return tuple(json.dumps(each).encode() for each in documents)


LIVE_JOBS = tuple(recorded(name) for name in ("squeue.json", "job.txt", "job-details.txt", "squeue.txt"))
LIVE_NODES = (recorded("sinfo.json"), recorded("node.txt"))

PARSERS = {
    "live jobs": Parser(LIVE_JOBS, _live("jobs"), sample=100),
    "live jobs of all releases": Parser(_dumped(*map(jobs_of, RELEASES)), _live("jobs"), sample=100),
    "live nodes": Parser(
        (*LIVE_NODES, *_dumped(nodes_of("23.11"), rows_of_sinfo())), _live("nodes"), sample=100
    ),
    "live reservations": Parser((recorded("res.txt"),), _live("reservations")),
    "live priorities": Parser((recorded("sprio.txt"), recorded("spriol.txt")), _live("priorities")),
    "log": Parser((LOG, LOG.replace(b"\n", b"\r\n")), _log),
    "packed log": Parser((gzip.compress(LOG, mtime=0),), _log),
    "otherwise packed log": Parser((bz2.compress(LOG), lzma.compress(LOG), _zipped(LOG)), _log),
    "log on disk": Parser((LOG, gzip.compress(LOG, mtime=0)), _from_file("log.swf", bl.read_swf)),
    "sacct": Parser(SACCT, reading_of(bl.read_sacct, dependencies=True), sample=200),
    "sacct in JSON": Parser(SACCT_JSON, reading_of(bl.read_sacct, dependencies=True), sample=200),
    "jobcomp": Parser(JOBCOMP, reading_of(bl.read_jobcomp)),
    "LSF": Parser(LSF, reading_of(bl.read_lsf)),
    "SGE": Parser(SGE, reading_of(bl.read_sge)),
    "Cobalt": Parser(COBALT, reading_of(bl.read_cobalt)),
    "Maui": Parser(MAUI, reading_of(bl.read_maui)),
    "GWF": Parser(GWF, _read_gwf),
    "PBS": Parser(PBS, reading_of(bl.read_pbs)),
    "CSV": Parser((TABLE,), _from_file("jobs.csv", _table)),
    "Parquet": Parser((_parquet(),), _from_file("jobs.parquet", _table)),
    "stream of jobs": Parser((STREAM,), _from_file("jobs.csv", _stream)),
    "stream in a log": Parser(STREAMS, _from_file("jobs.log", _stream)),
    "JSON system": Parser(SYSTEMS[:2], _from_file("system.json", bl.read_system)),
    "TOML system": Parser(SYSTEMS[2:], _from_file("system.toml", bl.read_system)),
    "platform": Parser(PLATFORMS, _platform),
    "application": Parser(
        ((EXAMPLE / "solver.json").read_bytes(),), _from_file("application.json", bl.read_application)
    ),
    "ElastiSim jobs": Parser(
        ((EXAMPLE / "jobs.json").read_bytes(),),
        _from_file("jobs.json", lambda path: read_workload(path, folder=EXAMPLE.parent)),
    ),
    "Batsim workload": Parser((BATSIM,), _from_file("workload.json", batsim.read_workload)),
    "ElastiSim configuration": Parser((CONFIGURATION,), _from_file("configuration.json", read_configuration)),
    "transcript": Parser((CALLS,), _from_file("calls.jsonl", read_transcript)),
    "packed transcript": Parser(
        (gzip.compress(CALLS, mtime=0),), _from_file("calls.jsonl.gz", read_transcript)
    ),
    "answer": Parser(ANSWERS, _answer),
    "experiment": Parser((EXPERIMENT,), _from_file("experiment.toml", read_specification)),
    "options": Parser(OPTIONS, _options),
    "order": Parser(ORDERS, _order),
    "model": Parser(MODELS, _model),
    "spec": Parser(SPECS, _spec),
    "failures": Parser((FAILURES,), _from_file("failures.csv", bl.Failures)),
    "signal": Parser((SIGNAL,), _from_file("signal.csv", lambda path: bl.Signal("price", path))),
    "record": Parser(RECORD, _record),
}
