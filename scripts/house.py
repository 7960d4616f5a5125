"""Measure the sources: `python scripts/house.py [--root DIR] [--picture FILE] [--out FILE]`.

Prints lines, public items of Rust, files and functions that are long, and in how many places each word of the
vocabulary is written. `--picture` draws the parts of the package and of the kernel, in layers by their
imports, as SVG or PNG: docs/pictures/architecture.svg is made so. `--out` writes the figures as JSON.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from house_count import Source, count_terms, read_python, read_rust

ROOT = Path(__file__).resolve().parents[1]
LONG_FILE, LONG_FUNCTION = 500, 50
# What is code that users run; the other parts are tests and tools.
CODE = ("Rust kernel", "Rust binding", "Rust clock", "Python package")
PYTHON = {
    "Python package": "src/batchlab",
    "Python tests": "tests",
    "benchmarks, scripts, examples": "benchmarks scripts examples",
}
TERMS = {
    "job states": ("loaded", "queued", "running", "completed", "killed", "rejected"),
    "changes": (
        "submitted",
        "started",
        "ended",
        "interrupted",
        "resized",
        "node_closed",
        "node_opened",
        "node_changed",
    ),
    "triggers": ("submit", "finalise", "scheduling_point", "evolving_request", "interval", "kill"),
    "options": (
        "seed",
        "walltime",
        "order_at_instant",
        "dispatch",
        "observers",
        "invocation",
        "sharing",
        "clip_requests",
        "task_times",
        "sensing",
    ),
    "values of options": ("completions_first", "arrivals_first", "max_min", "fair_bottleneck"),
    "job types": ("rigid", "moldable", "malleable", "evolving", "adaptive"),
    "allocators": ("first_fit", "best_fit", "worst_fit", "next_fit", "contiguous", "balanced"),
}


def sources_of(root: Path) -> list[Source]:
    """Read every source file."""
    found: list[Source] = []
    for folder, part, tests in (
        ("rust/kernel", "Rust kernel", "Rust tests"),
        ("rust/python", "Rust binding", "Rust tests"),
        ("rust/clock", "Rust clock", "Rust tests"),
    ):
        for path in sorted((root / folder).rglob("*.rs")):
            found += read_rust(path, part, tests)
    for part, folders in PYTHON.items():
        for folder in folders.split():
            found += [read_python(path, part) for path in sorted((root / folder).rglob("*.py"))]
    return found


def lines_table(sources: list[Source]) -> list[str]:
    """Give files, lines, code and functions of each part."""
    head = f"{'':<32}{'files':>7}{'lines':>9}{'code':>9}{'functions':>11}{'> 50 lines':>12}"
    rows = [head]
    groups = [*dict.fromkeys(source.part for source in sources)]
    chosen = [(part, [each for each in sources if each.part == part]) for part in groups]
    chosen.append(("all that users run", [each for each in sources if each.part in CODE]))
    for part, group in chosen:
        functions = [each for source in group for each in source.functions]
        long = sum(each.lines > LONG_FUNCTION for each in functions)
        rows.append(
            f"{part:<32}{len(group):>7,}{sum(each.lines for each in group):>9,}"
            f"{sum(each.code for each in group):>9,}{len(functions):>11,}{long:>12,}"
        )
    return [*rows, "code: lines that are neither blank nor comment nor docstring"]


def public_items(sources: list[Source]) -> dict[str, Counter[str]]:
    """Count Rust's public items by crate and kind."""
    counts = {part: Counter[str]() for part in CODE[:2]}
    for source in sources:
        if source.part in counts:
            counts[source.part].update(source.public)
    return counts


def public_table(sources: list[Source]) -> list[str]:
    """Give the number of public items of Rust."""
    rows = [f"{'pub in Rust':<32}{'items':>7}{'fields':>9}{'pub(…)':>9}   by kind"]
    for part, counts in public_items(sources).items():
        items = counts.total() - counts["field"] - counts["crate"]
        kinds = ", ".join(
            f"{count} {kind}" for kind, count in counts.most_common() if kind not in ("field", "crate")
        )
        rows.append(f"{part:<32}{items:>7,}{counts['field']:>9,}{counts['crate']:>9,}   {kinds}")
    return rows


def long_ones(sources: list[Source], root: Path) -> list[str]:
    """List files and functions of the code that are too long."""
    rows = [f"files above {LONG_FILE} lines and functions above {LONG_FUNCTION}, docstrings not counted:"]
    files = Counter[Path]()
    for source in sources:
        files[source.path] += source.lines
    rows += [
        f"  {path.relative_to(root)}: {lines} lines"
        for path, lines in sorted(files.items())
        if lines > LONG_FILE
    ]
    for source in sources:
        rows += [
            f"  {source.path.relative_to(root)}:{each.line} {each.name}: {each.lines} lines"
            for each in source.functions
            if each.lines > LONG_FUNCTION and (source.part in CODE)
        ]
    return rows if len(rows) > 1 else [rows[0], "  none"]


def terms_table(sources: list[Source]) -> list[str]:
    """Give in how many places of the code each word of the vocabulary is written."""
    rows = ["places in the code that name each word (strings; of options also parameters and fields), files:"]
    for kind, words in count_terms([each for each in sources if each.part in CODE], TERMS).items():
        places = sum(count for count, _ in words.values())
        rows.append(f"  {kind}: {places} in all")
        each = [f"{word} {count}/{files}" for word, (count, files) in words.items()]
        rows += [f"    {', '.join(each[first : first + 4])}" for first in range(0, len(each), 4)]
    return rows


def figures(sources: list[Source]) -> dict[str, Any]:
    """Give the figures, for JSON."""
    parts = dict.fromkeys(source.part for source in sources)
    return {
        "lines": {part: sum(each.lines for each in sources if each.part == part) for part in parts},
        "code": {part: sum(each.code for each in sources if each.part == part) for part in parts},
        "public": {part: dict(counts) for part, counts in public_items(sources).items()},
        "terms": count_terms([each for each in sources if each.part in CODE], TERMS),
    }


def main() -> None:
    """Print the tables; draw the picture and write the figures where asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args()
    root = options.root.resolve()
    if options.picture is not None:
        from house_picture import draw  # noqa: PLC0415  # counting needs no matplotlib

        draw(root, options.picture)
        return
    sources = sources_of(root)
    tables = (lines_table(sources), public_table(sources), long_ones(sources, root), terms_table(sources))
    print("\n\n".join("\n".join(table) for table in tables))
    if options.out is not None:
        options.out.write_text(json.dumps(figures(sources), indent=1))


if __name__ == "__main__":
    main()
