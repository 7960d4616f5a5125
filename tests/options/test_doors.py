"""Options of a run and of reading: one meaning and one error, from Python, a TOML file and a command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

import batchlab as bl
from batchlab.cli.application import application
from batchlab.cli.declared_options import takes_reading_options, takes_run_options
from batchlab.cli.stream import check_streamed
from batchlab.core.declared import declared, option_of
from batchlab.core.distributions import NAMES, distribution_of, draw
from batchlab.core.random_streams import stream
from batchlab.experiment.source import LogFile
from batchlab.experiment.specification import read_specification
from batchlab.observer.description import failures_of
from batchlab.options import RunOptions
from batchlab.options.run_options import RECORDED
from batchlab.result.recorded import TABLES
from batchlab.workload.log_options import ReadingOptions, check_reading
from support.option_values import RUNS, WRONG_RUNS, Said, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


SYSTEM = """
[[systems.two.groups]]
name = "a"
count = 4
resources = { core = 1 }
sleep_states = [{ name = "suspend", power = 25 }, { name = "off", power = 5 }]
[[systems.two.groups]]
name = "b"
count = 4
resources = { core = 1 }
"""
SWITCHES = {"clip_requests", *RECORDED} - {"sensing"}
READINGS = [
    said("overrun", "cut"),
    said("invalid", "raise"),
    said("processors", "allocated"),
    said("use_memory", "--use-memory", toml="true"),
    said("log_events", "--no-log-events", toml="false"),
    said("timezone", "Europe/Berlin"),
    said("time_format", "%d.%m.%Y"),
    said("requeues", "each"),
    said("unfinished", "keep"),
    said("dependencies", "--dependencies", toml="true"),
    said("log_format", "pbs"),
    said("fields", "JobID,Submit"),
    said("delimiter", ";"),
    said("mapping", "pm100"),
    said("unlimited", "3600", toml="3600"),
    said("max_jobs", "3", toml="3"),
]
WRONG_READINGS = [
    (said("overrun", "stop"), "'stop'; must be 'extend', 'cut' or 'keep'"),
    (said("invalid", "keep"), "'keep'; must be 'drop' or 'raise'"),
    (said("processors", "all"), "'all'; must be 'requested' or 'allocated'"),
    (said("timezone", "Mars"), "'Mars'; must be a name of the IANA's list"),
    (said("requeues", "none"), "'none'; must be 'join' or 'each'"),
    (said("unfinished", "wait"), "'wait'; must be 'drop' or 'keep'"),
    (said("log_format", "csv"), "'csv'; must be 'swf', "),
    (said("time_format", ""), "''; must be a text that is not empty"),
    (said("fields", ""), "''; must be a text that is not empty"),
    (said("delimiter", ""), "''; must be a text that is not empty"),
    (said("mapping", ""), "''; must be a text that is not empty"),
    (said("unlimited", "-1", toml="-1.0"), "-1.0; must be a number of seconds from 0 to 2^53"),
    (said("unlimited", "long"), "'long'; must be a number of seconds from 0 to 2^53"),
    (said("max_jobs", "-1", toml="-1"), "-1; must be a whole number >= 0"),
    (said("max_jobs", "few"), "'few'; must be a whole number >= 0"),
]


def by_line(kind: type, option: Said) -> Any:  # noqa: ANN401  # options of either kind
    """Read the words of a command line as a command does that has the options."""
    found: list[object] = []

    @takes_run_options()
    def run(*, options: RunOptions) -> None:
        found.append(options)

    @takes_reading_options
    def read(*, reading: ReadingOptions) -> None:
        found.append(reading)

    probe = typer.Typer()
    probe.command()(run if kind is RunOptions else read)
    name = option_of(kind, option.name)
    words = [
        word for text in option.words for word in ((text,) if text.startswith("--") else (f"{name}={text}",))
    ]
    probe(words, standalone_mode=False)
    return found[0]


def by_file(folder: Path, *, options: str = "", log: str = "") -> bl.Experiment:
    """Read an experiment with a line of options, or with an option of reading its log."""
    (folder / "log.swf").write_text("1 0 -1 60 4 -1 -1 4 100 -1 1 1 1 -1 1 -1 -1 -1\n")
    file = folder / "experiment.toml"
    file.write_text(
        f'policies = ["fcfs"]\n{options if options.startswith("seeds") else ""}\n'
        f'[workloads]\nlog = {{ path = "log.swf"{log} }}\n'
        f"{SYSTEM}[options]\n{'' if options.startswith('seeds') else options}\n"
    )
    return read_specification(file).experiment


@pytest.mark.parametrize("option", RUNS, ids=lambda each: f"{each.name}-{each.toml}")
def test_options_of_a_run(option: Said, tmp_path: Path) -> None:
    """Python, file and command line have equal options, which differ from the default."""
    by_python = RunOptions(**{option.name: option.value})  # type: ignore[arg-type]  # of its kind
    assert by_python != RunOptions()
    assert by_line(RunOptions, option) == by_python
    assert RunOptions.from_dict(by_python.to_dict()) == by_python
    if option.name == "seed":
        assert by_file(tmp_path, options=f"seeds = [{option.toml}]").seeds == (by_python.seed,)
    else:
        assert by_file(tmp_path, options=f"{option.name} = {option.toml}").options == by_python


@pytest.mark.parametrize("option", RUNS, ids=lambda each: f"{each.name}-{each.toml}")
def test_words_of_options(option: Said) -> None:
    """The words with which a report repeats a run mean the same options."""
    options = RunOptions(**{option.name: option.value})  # type: ignore[arg-type]  # of its kind
    name, *texts = options.words
    again = Said(option.name, tuple(texts[0::2]) if texts else (name,), "")
    assert by_line(RunOptions, again) == options


@pytest.mark.parametrize(("option", "message"), WRONG_RUNS, ids=lambda each: getattr(each, "name", ""))
def test_wrong_options_of_a_run(option: Said, message: str, tmp_path: Path) -> None:
    """The same rule is said; a file says where, and a command which option."""
    with pytest.raises(bl.SimulationError) as by_python:
        RunOptions(**{option.name: option.value})  # type: ignore[arg-type]  # of its kind
    with pytest.raises(typer.BadParameter) as line:
        by_line(RunOptions, option)
    assert line.value.param_hint == option_of(RunOptions, option.name)
    said_of = [str(by_python.value), line.value.message]
    if option.name != "seed":
        with pytest.raises(bl.ExperimentError) as file:
            by_file(tmp_path, options=f"{option.name} = {option.toml}")
        assert f"options.{option.name}" in str(file.value)
        said_of.append(str(file.value))
    assert all(message in text for text in said_of), said_of


@pytest.mark.parametrize("option", READINGS, ids=lambda each: each.name)
def test_options_of_reading(option: Said, tmp_path: Path) -> None:
    """Python, file and command line give the reader the same."""
    check_reading({option.name: option.value})
    by_python = ReadingOptions(**{option.name: option.value})  # type: ignore[arg-type]  # of its kind
    assert by_python.given == {option.name: option.value}
    assert by_line(ReadingOptions, option) == by_python
    source = by_file(tmp_path, log=f", {option.name} = {option.toml}").workloads["log"]
    assert isinstance(source, LogFile)
    assert source.options == by_python.given


@pytest.mark.parametrize(("option", "message"), WRONG_READINGS, ids=lambda each: getattr(each, "name", ""))
def test_wrong_options_of_reading(option: Said, message: str, tmp_path: Path) -> None:
    """The same rule is said, by the readers of logs too."""
    with pytest.raises(bl.WorkloadError) as by_python:
        ReadingOptions(**{option.name: option.value})  # type: ignore[arg-type]  # of its kind
    with pytest.raises(typer.BadParameter) as line:
        by_line(ReadingOptions, option)
    assert line.value.param_hint == option_of(ReadingOptions, option.name)
    with pytest.raises(bl.ExperimentError) as file:
        by_file(tmp_path, log=f", {option.name} = {option.toml}")
    assert f"workloads.log.{option.name} = " in str(file.value)
    said_of = [str(by_python.value), line.value.message, str(file.value)]
    if option.name in {"overrun", "invalid", "processors", "timezone", "requeues", "unfinished"}:
        with pytest.raises(bl.WorkloadError) as by_reader:
            bl.read_sacct([], **{option.name: option.value})  # type: ignore[arg-type]  # the point
        said_of.append(str(by_reader.value))
    assert all(message in text for text in said_of), said_of


def test_every_option_is_asked() -> None:
    """Right and wrong, but for switches, which have no wrong value on a command line."""
    assert {each.name for each in RUNS} == set(declared(RunOptions))
    assert {each.name for each, _ in WRONG_RUNS} == set(declared(RunOptions)) - SWITCHES
    assert {each.name for each in READINGS} == set(declared(ReadingOptions))
    switches = {"use_memory", "log_events", "dependencies"}
    assert {each.name for each, _ in WRONG_READINGS} == set(declared(ReadingOptions)) - switches


@pytest.mark.parametrize("name", sorted(SWITCHES))
def test_a_switch_is_true_or_false(name: str, tmp_path: Path) -> None:
    """Python and files refuse other values with one rule."""
    with pytest.raises(bl.SimulationError, match=f"^{name} = 1; must be true or false"):
        RunOptions(**{name: 1})  # type: ignore[arg-type]  # the point
    with pytest.raises(bl.ExperimentError, match=f"options.{name} = 1; must be true or false"):
        by_file(tmp_path, options=f"{name} = 1")


DISTRIBUTIONS = {
    "constant": "constant(value=7)",
    "expon": "expon(mean=60)",
    "gamma": "gamma(shape=2, scale=30)",
    "lognorm": "lognorm(mu=3, sigma=1)",
    "loguniform": "loguniform(low=1, high=100)",
    "norm": "norm(mean=60, sd=5)",
    "pareto": "pareto(shape=3, minimum=10)",
    "uniform": "uniform(low=10, high=12)",
    "weibull": "weibull(shape=0.7, scale=60)",
}
WRONG_DISTRIBUTIONS = (
    ("uniform(10, 12)", "uniform: name each parameter: uniform(low=…, high=…). Without names it was "),
    ("norm(mean=1)", "norm: sd is missing; write norm(mean=…, sd=…)."),
    ("unifrom(low=1, high=2)", "no distribution named 'unifrom'. Did you mean 'uniform'?"),
    ("uniform(low=1, low=2)", "key 'low' is given twice; keep one."),
    ("weibull(shape=2, scale=yes)", "weibull: scale = yes; must be a finite number."),
)


def by_doors(folder: Path) -> dict[str, Callable[[str], object]]:
    """Return what reads the text of a distribution, by door."""

    def overhead(options: RunOptions) -> object:
        assert options.job_overheads is not None
        return options.job_overheads.delay("launch").distribution

    def by_toml(text: str) -> object:
        return overhead(by_file(folder, options=f'overheads = {{ launch = "{text}" }}').options)

    def by_failures(text: str) -> object:
        outages: Any = failures_of(f"uptime={text}, repair_time=60", seed=1).outages
        return outages.uptime

    return {
        "Python": lambda text: bl.Overheads(launch=text).delay("launch").distribution,
        "TOML": by_toml,
        "command line": lambda text: overhead(by_line(RunOptions, said("overheads", f"launch={text}"))),
        "failures": by_failures,
        "arrivals": lambda text: bl.queueing.renewal(text).distribution,
        "generator": lambda text: draw("interarrival", text, 3, 0).tolist(),
    }


@pytest.mark.parametrize("name", NAMES)
def test_distributions(name: str, tmp_path: Path) -> None:
    """A text has one meaning in overheads, by three doors, in failures, arrivals and generators."""
    text = DISTRIBUTIONS[name]
    found = {door: read(text) for door, read in by_doors(tmp_path).items()}
    meaning = distribution_of(text, bl.WorkloadError)
    drawn = meaning.sample(stream(0, "interarrival"), 3)
    assert found.pop("generator") == list(drawn)
    assert all(each == meaning for each in found.values()), found


@pytest.mark.parametrize(("text", "message"), WRONG_DISTRIBUTIONS)
def test_wrong_distributions(text: str, message: str, tmp_path: Path) -> None:
    """The same rule is said at each."""
    for door, read in by_doors(tmp_path).items():
        with pytest.raises((bl.BatchlabError, typer.BadParameter)) as error:
            read(text)
        said_of = error.value.message if isinstance(error.value, typer.BadParameter) else str(error.value)
        assert message in said_of, (door, said_of)


def options_of_commands() -> Iterator[tuple[str, set[str]]]:
    """Give the names of the options of each command."""
    root: Any = typer.main.get_command(application([]))
    for name, command in root.commands.items():
        subcommands = getattr(command, "commands", None)
        for sub, each in (subcommands or {"": command}).items():
            yield f"{name} {sub}".strip(), {parameter.name for parameter in each.params}


def test_commands_have_the_options_of_a_run() -> None:
    """Commands that run jobs leave out records that they do not write, and what they decide themselves."""
    names = set(declared(RunOptions))
    # `run --dispatch FILE` writes the record.
    has = {"run": names, "compare": names, "slurm fit": names - RECORDED, "slurm what-if": names - RECORDED}
    found = dict(options_of_commands())
    for command, options in has.items():
        assert found[command] & names == options, command


def test_commands_have_all_options_or_none() -> None:
    """A command that has two options of reading or of a run has all; records may be missing.

    One of them may have a meaning without the others: the seed of a generator, the time zone of a dump.
    """
    reading, runs = set(declared(ReadingOptions)), set(declared(RunOptions))
    for command, options in options_of_commands():
        assert len(options & reading) <= 1 or options >= reading, command
        assert len(options & runs) <= 1 or options >= runs - RECORDED, command


@pytest.mark.parametrize("option", RUNS, ids=lambda each: f"{each.name}-{each.toml}")
def test_streamed_runs_have_an_option_or_refuse_it(option: Said) -> None:
    """None is without effect."""
    options = RunOptions(**{option.name: option.value})  # type: ignore[arg-type]  # of its kind
    if declared(RunOptions)[option.name].help.tables is None:
        check_streamed(options)
        return
    with pytest.raises(typer.BadParameter, match="which --stream does without") as error:
        check_streamed(options)
    assert error.value.param_hint == option_of(RunOptions, option.name)


def rows(page: str, head: str) -> list[list[str]]:
    """Return the cells of the tables of a page that have this head."""
    tables = (Path(__file__).parents[2] / "docs" / page).read_text("utf-8").split(head)[1:]
    lines = [line for table in tables for line in table.split("\n\n")[0].splitlines()[2:]]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_table_of_options_of_a_run() -> None:
    """In order, with its default; the page of results has those that record a table."""
    listed = rows("getting-started.md", "| option | default | meaning |")
    found = {row[0].strip("`"): row[1].strip("`") for row in listed}
    tables = {table.option for table in TABLES.values()}
    defaults = {
        name: repr(option.default).replace("'", '"')
        for name, option in declared(RunOptions).items()
        if name not in tables
    }
    assert list(found.items()) == list(defaults.items())


def test_the_table_of_options_of_the_command() -> None:
    """The page of the command line has every option of ``batchlab run``, and no other."""
    root: Any = typer.main.get_command(application([]))
    parameters = [each for each in root.commands["run"].params if each.param_type_name == "option"]
    known = {name for each in parameters for name in (*each.opts, *each.secondary_opts)}
    found = {
        name
        for row in rows("cli.md", "| option | default | meaning |")
        for name in re.findall(r"(?<![\w-])--?[a-z][\w-]*", row[0])
    }
    assert found == known - {"--help", "-h"}


def test_defaults_in_the_table_of_the_command() -> None:
    """Of declared options; those that no value says are sentences."""
    cells = {
        name: row[1].strip("`")
        for row in rows("cli.md", "| option | default | meaning |")
        for name in re.findall(r"--[a-z][\w-]*", row[0])
    }
    for kind in (RunOptions, ReadingOptions):
        for option in declared(kind).values():
            if option.name == "dispatch":
                continue
            if option.is_switch and option.default is not None:
                assert cells[option.option] == (option.option if option.default else option.off)
            elif option.default is not None:
                assert (
                    cells[option.option] == f"{option.default:g}"
                    if isinstance(option.default, float)
                    else str(option.default)
                )
            elif option.help.default is None:
                assert cells[option.option] in {"", "all", "from the header"}
            else:
                assert cells[option.option]
