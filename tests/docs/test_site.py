"""The site: every public name is documented, and the pages of the repository become its own.

`scripts/documentation.py` builds it, with warnings as errors, and looks for the names in what was built.
"""

import doctest
import importlib
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import batchlab

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
_DOCUMENTED = re.compile(r"^\.\. (?:autoclass|autofunction|py:data):: (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    """Give the script that puts the site together."""
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module("documentation")
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.fixture(scope="module")
def pages(docs: ModuleType) -> dict[str, str]:
    """Give the text of every page."""
    return {name: text.decode() for name, text in docs.sources().items() if name.endswith(".md")}


def values_of(names: list[str]) -> set[int]:
    """Tell which objects stand behind names."""
    found = set()
    for name in names:
        value: object = batchlab
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        found.add(id(value))
    return found


def test_every_public_name_is_documented(pages: dict[str, str]) -> None:
    """Whatever a package or a module that it offers exports is on a page of the reference, once."""
    names = [name for page in pages.values() for name in _DOCUMENTED.findall(page)]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    documented = values_of(names)
    modules = [
        value for value in map(batchlab.__dict__.get, batchlab.__all__) if isinstance(value, ModuleType)
    ]
    assert len(names) > 400
    for module in (batchlab, *modules):
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType) and not name.startswith("__"):
                assert id(value) in documented, f"{module.__name__}.{name}"


def test_every_page_and_example_is_reached(pages: dict[str, str]) -> None:
    """The map leads to every page of docs, and the gallery to every example."""
    listed = re.findall(
        r"^```{toctree}\n:hidden:\n(?::caption: [^\n]*\n)?\n(.*?)^```",
        pages["index.md"],
        re.MULTILINE | re.DOTALL,
    )
    reached = {f"{name}.md" for block in listed for name in block.split()}
    of_docs = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert of_docs - {"index.md"} <= reached
    assert {"reference/index.md", "examples/index.md"} <= reached
    examples = {f"examples/{path.stem}.md" for path in (ROOT / "examples").glob("*.py")}
    assert examples <= pages.keys()


def test_the_home_page_has_a_card_for_each_reader(docs: ModuleType, pages: dict[str, str]) -> None:
    """The table of readers becomes four cards on the site; without the table the build stops."""
    cards = re.findall(r"^:::{grid-item-card} (\w+)\n(.*?)^:::$", pages["index.md"], re.MULTILINE | re.DOTALL)
    assert [name for name, _ in cards] == ["Researcher", "Operator", "Learner", "Developer"]
    assert (
        "Compare policies on a log.\n\n**[Tutorial for researchers](tutorials/researcher.md)**\n\n"
        in cards[0][1]
    )
    assert "| you are a |" not in pages["index.md"]
    with pytest.raises(LookupError, match="no table"):
        docs.with_doors("# batchlab\n")


def test_links_stay_on_the_site_where_they_can(docs: ModuleType) -> None:
    """Links to examples lead to the gallery, those to other files to the repository."""
    text = "[a](../examples/plots.py) [b](../CONTRIBUTING.md#the-layout) [c](../examples) [d](systems.md)"
    assert docs.with_links_of_the_site(text, "results.md") == (
        "[a](examples/plots.md) [b](https://github.com/batchlab/batchlab/blob/main/CONTRIBUTING.md#the-layout)"
        " [c](examples/index.md) [d](systems.md)"
    )
    assert docs.with_links_of_the_site("[a](../../examples/plots.py)", "tutorials/x.md") == (
        "[a](../examples/plots.md)"
    )


def test_pictures_of_examples_are_there(docs: ModuleType) -> None:
    """Every picture of the gallery is committed, and belongs to an example."""
    gallery = docs.documentation_gallery
    shown = gallery.PICTURES | gallery.KINDS
    assert all((ROOT / f"docs/pictures/{name}.png").exists() for name in shown.values())
    assert shown.keys() <= {example.name for example in gallery.examples()}


def test_the_gallery_has_every_example_under_one_topic(docs: ModuleType) -> None:
    """The topics name each example once, and policies are compared first."""
    gallery = docs.documentation_gallery
    names = [name for topic in gallery.TOPICS.values() for name in topic]
    assert sorted(names) == sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
    assert gallery.index().index("Compare policies") < gallery.index().index("Write a policy")
    assert names[0] == "compare_policies"


def test_searches_are_entries_of_the_page_that_answers_them(docs: ModuleType, pages: dict[str, str]) -> None:
    """Each search is a main entry of the index below its heading; no search leads to two pages."""
    every = [phrase for phrases in docs.SEARCHES.values() for phrase in phrases]
    assert [phrase for phrase, times in Counter(every).items() if times > 1] == []
    assert all(phrase == phrase.lower() for phrase in every)
    assert {"when will my job start", "walltime", "gymnasium", "backfill depth"} <= {*every}
    found = "\n".join(pages.values())
    for phrase in every:
        assert re.search(rf"^```{{index}} .*! {re.escape(phrase)}(,|$)", found, re.MULTILINE), phrase
    text = "# Title\n\nAbout.\n\n## The store\n\nMore.\n"
    assert docs.with_searches(text, "experiments.md").endswith(
        "## The store\n\n```{index} ! cache, ! result cache\n```\n\n\nMore.\n"
    )
    with pytest.raises(LookupError, match="the-store: no such heading"):
        docs.with_searches("# Title\n", "experiments.md")


def test_inherited_members_are_in_the_reference(pages: dict[str, str]) -> None:
    """Classes with a base without a page show its members; others do not repeat those of public bases."""
    entry = re.compile(r"^\.\. autoclass:: batchlab\.(\w+)\n((?:   :[^\n]*\n)*)", re.MULTILINE)
    shown = dict(entry.findall("\n".join(pages.values())))
    for name in ("View", "Simulation", "Result"):
        assert ":inherited-members:" in shown[name]
    assert ":inherited-members:" not in shown["Scheduler"]
    assert ":members:" in shown["Job"]


def test_the_site_draws_its_pictures(
    docs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the gallery are today's, in place of the committed ones; the others are the committed ones."""
    monkeypatch.setattr(docs, "SOURCE", tmp_path)
    monkeypatch.setattr(docs.gallery, "plots", lambda: {"gantt": lambda: Figure().subplots()})
    docs.gather()
    kept = ROOT / "docs/pictures"
    changed = {
        path.stem
        for path in kept.iterdir()
        if (tmp_path / "pictures" / path.name).read_bytes() != path.read_bytes()
    }
    assert changed == {"gantt"}


def test_pictures_of_the_gallery_are_on_pages(docs: ModuleType, pages: dict[str, str]) -> None:
    """Each is committed, and some page shows it."""
    shown = {name for page in pages.values() for name in re.findall(r"pictures/(\w+)\.png", page)}
    committed = {path.stem for path in (ROOT / "docs/pictures").glob("*.png")}
    assert set(docs.gallery.plots()) <= shown & committed


# They show how fast a machine is.
_OF_TIMES = {"cpu_time_by_queue_size", "scalability"}


@pytest.mark.campaign
def test_committed_pictures_are_those_of_today(docs: ModuleType) -> None:
    """GitHub shows the committed ones."""
    changed = {}
    for name, plot in docs.gallery.plots().items():
        with Image.open(ROOT / f"docs/pictures/{name}.png") as kept:
            changed[name] = _difference(docs.gallery.rendered(plot()), kept)
    apart = {name for name, each in changed.items() if each >= _MOST_APART}
    assert apart <= _OF_TIMES, "run python scripts/gallery.py, and look"


# Of 255, the root of the mean square.
_MOST_APART = 6.0


def _difference(one: Image.Image, other: Image.Image) -> float:
    pixels = [np.asarray(each.convert("RGB"), dtype=np.float64) for each in (one, other)]
    if pixels[0].shape != pixels[1].shape:
        return np.inf
    return float(np.sqrt(np.mean((pixels[0] - pixels[1]) ** 2)))


def test_the_picture_of_the_readme_is_what_its_lines_draw(docs: ModuleType) -> None:
    """The first example draws the picture above it, by today's code."""
    readme = (ROOT / "README.md").read_text("utf-8")
    picture = re.search(r"docs/pictures/(\w+\.png)", readme)
    block = re.search(r"```pycon\n(.*?)```", readme, re.DOTALL)
    assert picture is not None
    assert block is not None
    *lines, last = doctest.DocTestParser().get_examples(block[1])
    names: dict[str, Any] = {}
    for line in lines:
        exec(line.source, names)  # noqa: S102  # our own page
    drawn = docs.gallery.rendered(eval(last.source.partition(".figure")[0], names))  # noqa: S307  # our own page
    with Image.open(ROOT / "docs/pictures" / picture[1]) as kept:
        assert _difference(drawn, kept) < _MOST_APART, "run python scripts/gallery.py, and look"
