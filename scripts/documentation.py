"""Build the documentation as a site: `python scripts/documentation.py`. Warnings are errors.

The sources are docs/ as it is, the examples, the docstrings of every public name, and the pictures of
`scripts/gallery.py`, drawn by today's code. They are put together in target/site/source, where only what has
changed is written, so that a second build takes seconds; the pages are in target/site/html.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from sphinx.util.inventory import InventoryFile

import documentation_gallery
import documentation_reference
import gallery

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "target/site"
SOURCE, PAGES = TARGET / "source", TARGET / "html"
_REPOSITORY = "https://github.com/batchlab/batchlab"

# Pages of the site for files of the repository to which pages link.
_STAND_INS = {
    "src/batchlab/__init__.pyi": f"{documentation_reference.FOLDER}/index.md",
    "examples": f"{documentation_gallery.FOLDER}/index.md",
}
# What people search for, and the section that answers it: the first result of the site's search.
SEARCHES = {
    "adequacy.md": ("validation of a simulator", "model error"),
    "cli.md": ("command line", "exit code"),
    "coming-from.md": ("accasim", "batsim", "hpcwld", "pyss", "evalys", "ppt", "simgrid"),
    "events.md": ("cancelled jobs", "node failure", "node outages"),
    "experiments.md": ("parameter sweep", "replications", "parallel runs"),
    "experiments.md#the-store": ("cache", "result cache"),
    "forecast.md": ("when will my job start", "start time prediction", "queue wait prediction"),
    "generate.md": ("synthetic workload", "synthetic workloads", "workload generator"),
    "getting-started.md": ("first simulation", "quick start"),
    "getting-started.md#options-of-a-run": ("walltime", "wall time", "default options", "seed"),
    "installation.md": ("install", "pip install"),
    "malleable.md": ("malleable jobs", "moldable jobs", "elastic jobs"),
    "monitor.md": ("progress", "live view", "dashboard"),
    "observers.md": ("power cap", "energy", "carbon", "temperature"),
    "placement.md": ("hop-bytes", "interference", "network contention"),
    "plots.md": ("gantt", "plot", "figure"),
    "policies.md": ("fcfs", "sjf", "node hours", "shortest job first"),
    "policies.md#backfilling-rules": (
        "backfill depth",
        "easy backfilling",
        "conservative backfilling",
        "backfilling",
    ),
    "policies.md#task-mappings": ("task mapping", "virtual partitioning", "cartesian splitting"),
    "python-policies.md": ("custom scheduler", "python scheduler"),
    "python-policies.md#a-predictor": ("run time prediction",),
    "results.md#metrics": (
        "turnaround",
        "bounded slowdown",
        "utilisation",
        "utilization",
        "makespan",
        "wait",
    ),
    "semantics.md": ("specification", "event order"),
    "service-rates.md": ("cpu frequency scaling", "dvfs", "governor"),
    "skeletons.md": ("mpi", "collectives", "allreduce"),
    "sleeping-nodes.md": ("node sleep", "power down idle nodes"),
    "slurm-twin.md": ("slurm.conf", "slurm", "sacctmgr"),
    "slurm-twin.md#what-if": ("what if",),
    "systems.md#accounts-and-shares": ("fair share", "fairshare"),
    "systems.md": ("partitions", "queues", "advance reservation"),
    "traces.md": ("parallel workloads archive", "download logs"),
    "tutorials/learner.md": ("gymnasium", "reinforcement learning", "train a scheduler"),
    "virtual-nodes.md": ("real slurm", "slurmctld"),
    "why.md": ("why is my job waiting", "why does my job wait"),
    "workloads.md": ("swf", "sacct", "standard workload format"),
}
# Tables whose columns have widths in site.css, by their first line.
_TABLES = {"| option | default | meaning |": "options", "| key | default | values | meaning |": "parameters"}
_OUTSIDE = re.compile(r"\]\((?:\.\./)+((?!pictures/)[^)#\s]+)(#[^)\s]*)?\)")
_LINK = re.compile(r"\]\(([^)#:\s]+)\.md\)")
_DOORS = re.compile(r"^\| you are a \| .*\n\|[-|]+\|\n((?:\| .*\n)+)", re.MULTILINE)


def sources() -> dict[str, bytes]:
    """Return every file from which the site is built, by its path."""
    docs = ROOT / "docs"
    found = {str(path.relative_to(docs)): path.read_bytes() for path in docs.rglob("*.*") if path.is_file()}
    for name in [name for name in found if name.endswith(".md")]:
        text = with_tables(with_searches(with_links_of_the_site(found[name].decode(), name), name))
        found[name] = (with_contents(with_doors(text)) if name == "index.md" else text).encode()
    for example in documentation_gallery.examples():
        found[f"{documentation_gallery.FOLDER}/{example.name}.md"] = example.text.encode()
    found[f"{documentation_gallery.FOLDER}/index.md"] = documentation_gallery.index().encode()
    return found | {
        f"{documentation_reference.FOLDER}/{name}": text.encode() for name, text in _reference().items()
    }


def with_links_of_the_site(text: str, name: str) -> str:
    """Replace links to files outside docs by links to pages of the site, or to the repository."""
    up = "../" * name.count("/")

    def address(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        if path.endswith(".md") and (ROOT / "docs" / path).exists():
            return match[0]
        example = re.fullmatch(r"examples/(\w+)\.py", path)
        inside = f"{documentation_gallery.FOLDER}/{example[1]}.md" if example else _STAND_INS.get(path)
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({up}{inside})" if inside else f"]({_REPOSITORY}/{kind}/main/{path}{anchor})"

    return _OUTSIDE.sub(address, text)


def with_searches(text: str, name: str) -> str:
    """Add the searches that a page or one of its sections answers to the index of the site."""
    for place, phrases in SEARCHES.items():
        page, _, anchor = place.partition("#")
        if page != name:
            continue
        for heading in re.finditer(r"^#+ (.+)$", text, re.MULTILINE):
            if not anchor or _slug(heading[1]) == anchor:
                entries = ", ".join(f"! {phrase}" for phrase in phrases)
                text = f"{text[: heading.end()]}\n\n```{{index}} {entries}\n```\n{text[heading.end() :]}"
                break
        else:
            raise LookupError(f"{place}: no such heading, for the searches {', '.join(phrases)}.")
    return text


def with_tables(text: str) -> str:
    """Add the class of options to their tables."""
    for head, kind in _TABLES.items():
        text = text.replace(f"\n{head}", f"\n{{.{kind}}}\n{head}")
    return text


def _slug(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def with_doors(text: str) -> str:
    """Replace the table of readers on the home page by cards, which GitHub cannot show."""

    def cards(match: re.Match[str]) -> str:
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in match[1].splitlines()]
        grid = "\n".join(
            f":::{{grid-item-card}} {reader}\n{aim[0].upper()}{aim[1:]}.\n\n**{first}**\n\n{then}\n:::\n"
            for reader, aim, first, then in rows
        )
        return f"::::{{grid}} 1 2 2 2\n:gutter: 3\n\n{grid}\n::::\n"

    if not _DOORS.search(text):
        raise LookupError("index.md: no table that begins with | you are a |.")
    return _DOORS.sub(cards, text)


def with_contents(text: str) -> str:
    """Add a table of contents to each section of the home page, with the pages to which the section links."""
    seen: set[str] = set()
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    for number, part in enumerate(parts[1:], 1):
        new = [page for page in dict.fromkeys(_LINK.findall(part)) if page not in seen]
        seen.update(new)
        title = part.partition("\n")[0].removeprefix("## ")
        if new:
            listed = "\n".join(new)
            parts[number] = (
                f"{part.rstrip()}\n\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{listed}\n```\n\n"
            )
    return "".join(parts)


def _reference() -> dict[str, str]:
    pages = documentation_reference.pages()
    rows = "\n".join(f"- [{page.title}]({page.file}): {page.about}" for page in pages)
    listed = "\n".join(page.file for page in pages)
    about = "All public names with their docstrings, each under its shortest name."
    index = f"# Reference of the package\n\n{about}\n\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    return {"index.md": index} | {page.file: page.text for page in pages}


def pictures() -> dict[str, bytes]:
    """Draw the pictures of the pages. Those of Seth's log and of examples stay as they are in docs."""
    with redirect_stdout(StringIO()):  # of the tutorials
        return {f"pictures/{name}.png": gallery.png(plot()) for name, plot in gallery.plots().items()}


def gather() -> None:
    """Write the sources that changed, and remove those that no longer exist."""
    found = sources() | pictures()
    for path in [path for path in SOURCE.rglob("*") if path.is_file()]:
        if str(path.relative_to(SOURCE)) not in found:
            path.unlink()
    for name, content in found.items():
        path = SOURCE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def undocumented() -> list[str]:
    """Return the public names without an entry in the built site."""
    with (PAGES / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: base + path)
    entries = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    return sorted(set(documentation_reference.public_names()) - entries)


def misplaced() -> list[str]:
    """Return the searches whose first result is another page.

    The search of Sphinx puts the main entry of the index first that is the search itself, with 100 points;
    titles and words of pages have less than 40.
    """
    index = json.loads((PAGES / "searchindex.js").read_text("utf-8").removeprefix("Search.setIndex(")[:-1])
    wrong = []
    for place, phrases in SEARCHES.items():
        page = place.partition("#")[0].removesuffix(".md")
        for phrase in phrases:
            found = {index["docnames"][row[0]] for row in index["indexentries"].get(phrase, []) if row[2]}
            if found != {page}:
                wrong.append(f"{phrase!r} finds {', '.join(sorted(found)) or 'no entry'}, not {page}")
    return wrong


def main() -> int:
    """Build the site, check it, and print the number of pages and names."""
    gather()
    shutil.rmtree(PAGES, ignore_errors=True)
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--doctree-dir", str(TARGET / "doctrees")]
    command = [sys.executable, "-m", "sphinx", "-b", "html", *options, str(SOURCE), str(PAGES)]
    code = subprocess.run(command, check=False).returncode
    if code:
        return code
    missing = undocumented()
    if missing:
        print(f"Not in the reference: {', '.join(missing)}")
        return 1
    if wrong := misplaced():
        print("\n".join(["Searches:", *wrong]))
        return 1
    names, pages = len(documentation_reference.public_names()), len([*PAGES.rglob("*.html")])
    print(f"{PAGES.relative_to(ROOT)}/index.html: {pages} pages, {names} public names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
