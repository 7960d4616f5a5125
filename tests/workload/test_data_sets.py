"""Each public data set, on invented lines with all of its fields, gives the sums counted by hand."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from batchlab.system.machines import catalogue as machines
from batchlab.workload import Workload, read_mapped, read_pbs, read_sacct, read_swf
from batchlab.workload.formats import is_table, log_format, reader_of
from batchlab.workload.mappings.catalogue import entries
from batchlab.workload.mappings.read import mapping_of_source
from support.data_sets import SAMPLES, Sample

NAMED = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def test_every_data_set_has_a_sample() -> None:
    """All mappings are of data sets with lines here, but for those that are logs of a known format."""
    logs = {mapping.name for mapping in entries() if mapping.file.format == "pbs"}
    assert {sample.name for sample in SAMPLES} == {mapping.name for mapping in entries()} - logs
    assert {mapping.machine for mapping in entries()} - {""} <= set(machines.NAMES)


def asked(workload: Workload) -> dict[str, float]:
    """Sum what all tasks of all jobs ask for."""
    jobs = workload.jobs
    sums = {name: float((jobs[name] * jobs["tasks"]).sum()) for name in workload.resources}
    sums["tasks"] = float(jobs["tasks"].sum())
    return sums | ({"exclusive": float(jobs["exclusive"].sum())} if "exclusive" in jobs.columns else {})


@NAMED
def test_sums(sample: Sample, tmp_path: Path) -> None:
    """The jobs, their waits, run times, limits, and requests; by name and found by the columns."""
    path = sample.write(tmp_path)
    workload = read_mapped(path, sample.name)
    jobs = workload.jobs
    assert (jobs.height, workload.report.dropped.height) == (sample.jobs, sample.dropped)
    waits = jobs.filter(pl.col("logged_wait_time") >= 0)["logged_wait_time"].sum()
    assert (waits, jobs["run_time"].sum()) == (sample.waits, sample.runs)
    assert jobs["requested_time"].sum() == sample.limits
    assert asked(workload) == sample.asked
    if sample.name != "alibaba-pai":
        # Its files have no names of columns.
        assert mapping_of_source(path).name == sample.name
        assert (log_format(path), is_table(path)) == ("mapped", False)
        assert reader_of(path)(path).jobs.equals(jobs)


def test_jobs_begin_when_they_are_eligible(tmp_path: Path) -> None:
    """PM100's second job could start 240 s after its submission, and schedulers may not start it before."""
    sample = next(sample for sample in SAMPLES if sample.name == "pm100")
    assert read_mapped(sample.write(tmp_path)).jobs["begin_time"].to_list() == [None, 300.0]


def test_cancelled_jobs_leave_the_queue_when_the_log_says_so(tmp_path: Path) -> None:
    """Frontier's third job was cancelled 50 s after its submission, MIT's after 80 s."""
    after = {}
    for sample in SAMPLES:
        if sample.name in {"frontier", "mit-supercloud"}:
            waited = read_mapped(sample.write(tmp_path)).jobs["cancelled_after"]
            after[sample.name] = waited.drop_nulls().to_list()
    assert after == {"frontier": [50.0], "mit-supercloud": [80.0]}


def test_components_are_counted(tmp_path: Path) -> None:
    """Different tasks of a job of PAI need not start together, and the report says so."""
    sample = next(sample for sample in SAMPLES if sample.name == "alibaba-pai")
    noted = read_mapped(sample.write(tmp_path), sample.name).report.counts()["noted"]
    assert noted["component of a job of several: a job by itself, which may start at another time"] == 2


def test_a_table_may_have_the_names_that_others_lack(tmp_path: Path) -> None:
    """A first line with the names of PAI's columns is no row, and tells the data set."""
    sample = next(sample for sample in SAMPLES if sample.name == "alibaba-pai")
    plain = read_mapped(sample.write(tmp_path), sample.name)
    (mapping,) = (each for each in entries() if each.name == sample.name)
    assert mapping.file.names is not None
    named = tmp_path / "named.csv"
    named.write_text(f"{','.join(mapping.file.names)}\n{sample.text}", "utf-8")
    assert read_mapped(named).jobs.equals(plain.jobs)


@NAMED
def test_order_of_columns_does_not_matter(sample: Sample, tmp_path: Path) -> None:
    """Nor do further columns; text and Parquet of it give the same jobs."""
    if sample.rows:
        table = pl.DataFrame(sample.rows)
    elif sample.file.endswith((".csv", ".tsv")) and sample.name != "alibaba-pai":
        separator = "\t" if sample.file.endswith(".tsv") else ","
        table = pl.read_csv(sample.text.encode(), separator=separator, infer_schema=False)
    else:
        pytest.skip("the fields have no names")
    columns = [*table.columns]
    random.Random(7).shuffle(columns)  # noqa: S311  # no secret
    other = tmp_path / f"{sample.name}.parquet"
    table.select(*columns, pl.lit(1).alias("another")).write_parquet(other)
    jobs = read_mapped(sample.write(tmp_path), sample.name).jobs
    again = read_mapped(other, sample.name).jobs
    assert again.select(jobs.columns).equals(jobs)


def test_logs_of_known_formats_have_names_too(tmp_path: Path) -> None:
    """Blue Waters is a log of Torque: its mapping names it, and the reader of PBS reads it."""
    path = tmp_path / "20170328"
    path.write_text(
        "03/28/2017 00:01:15;E;6335144.bw;user=U group=G account=A jobname=j queue=normal ctime=1490000000 "
        "qtime=1490000000 etime=1490000000 start=1490000600 owner=U@h exec_host=26742/0-31+26743/0-31 "
        "Resource_List.neednodes=2:ppn=32 Resource_List.nodect=2 Resource_List.nodes=2:ppn=32 "
        "Resource_List.walltime=04:00:00 session=1 total_execution_slots=64 unique_node_count=2 "
        "end=1490004200 Exit_status=0 resources_used.walltime=00:59:58\n",
        "utf-8",
    )
    assert read_mapped(path, "blue-waters").jobs.equals(read_pbs(path).jobs)


@pytest.mark.parametrize("name", ["kestrel", "helios"])
def test_files_read_in_parts_are_those_read_whole(name: str, tmp_path: Path) -> None:
    """Of many rows, from a path by the streaming engine, and from an open file."""
    sample = next(sample for sample in SAMPLES if sample.name == name)
    path = sample.write(tmp_path)
    if sample.rows:
        pl.concat([pl.read_parquet(path)] * 20_000).write_parquet(path, row_group_size=5_000)
    else:
        head, *lines = sample.text.splitlines()
        path.write_text("\n".join([head, *lines * 20_000]), "utf-8")
    workload = read_mapped(path, name)
    assert workload.report.read == 60_000
    with path.open("rb") as file:
        assert read_mapped(file, name).jobs.equals(workload.jobs)


_MEASURED = """
import resource, sys
import batchlab as bl
bl.read_mapped(sys.argv[1], "kestrel")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts KiB")
def test_columns_that_are_not_needed_cost_no_memory(tmp_path: Path) -> None:
    """A column of lists, 400 MB in memory, is not read with the jobs."""
    sample = next(sample for sample in SAMPLES if sample.name == "kestrel")
    table = pl.concat([pl.DataFrame(sample.rows)] * 5_000)
    peaks = []
    for name, column in (("slim", []), ("fat", [pl.lit([0.5] * 3_300).alias("power_per_node")])):
        path = tmp_path / f"{name}.parquet"
        table.lazy().with_columns(column).sink_parquet(path, row_group_size=1_000)
        done = subprocess.run([sys.executable, "-c", _MEASURED, path], capture_output=True, check=True)  # noqa: S603  # our own
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < 100


@pytest.mark.parametrize(
    ("name", "read"), [("frontier", read_swf), ("cc-in2p3", read_sacct)], ids=["frontier", "cc-in2p3"]
)
@pytest.mark.parametrize("as_lines", [False, True])
def test_readers_of_logs_name_the_mapping(
    name: str, read: Callable[..., Workload], tmp_path: Path, *, as_lines: bool
) -> None:
    """What looks like a log of another form, and has sizes or limits that its reader does not know."""
    path = next(sample for sample in SAMPLES if sample.name == name).write(tmp_path)
    source = path.read_text().splitlines() if as_lines else path
    with pytest.warns(UserWarning, match=f"data set {name}.* --mapping {name}"):
        read(source)


def test_limits_of_unknown_unit_are_noted() -> None:
    """Slurm writes limits as clocks; other dumps are noted in the report."""
    head = "JobID|Submit|Start|End|State|ReqCPUS|Timelimit"
    rows = ["7|100|160|220|COMPLETED|4|604800", "8|100|160|220|COMPLETED|4|01:00:00"]
    (reason,) = read_sacct([head, *rows]).report.counts()["noted"]
    assert "its unit is unknown" in reason
