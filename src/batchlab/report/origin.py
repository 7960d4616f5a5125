"""The section on the origin of the runs: workloads, systems, versions, and policies with their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from batchlab.core.markup import Html, element, table
from batchlab.report.reproduce import reproduced_by
from batchlab.result.manifest import manifest
from batchlab.result.output import identify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.plot.results import Group
    from batchlab.result.result import Result

__all__ = ["what_was_run"]


def what_was_run(groups: Sequence[Group], command: str | None = None) -> Html:
    """Describe everything that determines the runs, and the command; equal descriptions appear once."""
    described = [(group, [_described(result) for result in group.results]) for group in groups]
    everything = [each for _, found in described for each in found]
    parts = [
        _listed("Workload", [_workload(each) for each in everything]),
        _listed("System", [_system(each) for each in everything]),
        _listed("Options", [element("span", _options(each)) for each in everything]),
        _listed("Versions", [_versions(each) for each in everything]),
        reproduced_by(groups, command),
    ]
    return Html(element("dl", *parts) + _policies(described))


def _policies(described: Sequence[tuple[Group, list[dict[str, object]]]]) -> Html:
    """List every policy with its runs, and the options that differ between policies."""
    columns: dict[str, list[str]] = {
        "policy": [group.label for group, _ in described],
        "as it was written": [_policies_of(found) for _, found in described],
        "runs": [str(len(found)) for _, found in described],
        "seeds": [_numbers([each["seed"] for each in found]) for _, found in described],
        "options": [_options(found[0]) for _, found in described],
    }
    if columns["as it was written"] == columns["policy"]:
        del columns["as it was written"]
    if len(set(columns["options"])) == 1:
        del columns["options"]
    return table("Every policy", columns, zip(*columns.values(), strict=True))


def _policies_of(found: Sequence[dict[str, object]]) -> str:
    written = [*dict.fromkeys(str(each["policy"]) for each in found)]
    few = len(written) <= 3  # noqa: PLR2004  # what fits on a line
    return ", ".join(written) if few else f"{written[0]}, …, {written[-1]}"


def _options(described: Mapping[str, object]) -> str:
    # Skip options that are off or not given.
    options = cast("dict[str, object]", described["options"])
    return ", ".join(f"{name} = {value}" for name, value in options.items() if value not in (None, False))


def _described(result: Result) -> dict[str, object]:
    return manifest(
        result.policy,
        result.system,
        options=result.options,
        workload={**identify(result.workload), "source": result.workload.report.source},
        inputs={},
        command=None,
    )


def _listed(term: str, descriptions: Sequence[Html]) -> Html:
    """Write each distinct description once."""
    different = dict.fromkeys(descriptions)
    name = term if len(different) == 1 or term.endswith("s") else f"{term}s"
    return Html(element("dt", name) + "".join(element("dd", each) for each in different))


def _workload(described: Mapping[str, object]) -> Html:
    workload = cast("dict[str, object]", described["workload"])
    report = cast("dict[str, object]", workload["report"])
    changed = ", ".join(
        f"{sum(cast('dict[str, int]', report[name]).values()):,} {name}"
        for name in ("dropped", "mended")
        if report[name]
    )
    text = f"{workload['source']}: {workload['jobs']:,} jobs"
    hashed = element("code", str(workload["sha256"]))
    return Html(
        element("span", text + (f" ({changed} by the reader)" if changed else "")) + " sha256 " + hashed
    )


def _system(described: Mapping[str, object]) -> Html:
    system = cast("dict[str, object]", described["system"])
    groups = cast("list[dict[str, object]]", system["groups"])
    texts = [f"{group['count']:,} × ({_amounts(group['resources'])})" for group in groups]
    one = _amounts(system["equivalence"])
    return element("span", f"{system['name'] or 'nodes'}: {'; '.join(texts)}; one processor is {one}")


def _amounts(resources: object) -> str:
    return ", ".join(f"{amount:,} {name}" for name, amount in cast("dict[str, int]", resources).items())


def _versions(described: Mapping[str, object]) -> Html:
    versions = cast("dict[str, str]", described["versions"])
    return element("span", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _numbers(values: Sequence[object]) -> str:
    """Format a list of seeds; consecutive seeds as a range."""
    numbers = sorted({value for value in values if isinstance(value, int)})
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:  # noqa: PLR2004  # two are written out
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers)) or "none"
