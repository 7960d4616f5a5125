"""The gallery: a page for each example, with its picture, its source and what it prints."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["FOLDER", "KINDS", "PICTURES", "Example", "examples", "index"]

FOLDER = "examples"
ROOT = Path(__file__).resolve().parents[1]
# The committed picture that an example draws.
PICTURES = {
    "adequacy_reference": "adequacy_reference",
    "deep_learning_study": "deep_learning_jobs",
    "fcfs_validation": "fcfs_validation",
    "interference": "interference_study",
    "intrepid": "intrepid_waits",
    "stencil_among_jobs": "stencil_among_jobs",
    "task_mapping": "task_mapping",
}
# For others a plot that shows the same measure of another run.
KINDS = {
    "compare_policies": "slowdown",
    "look_at_a_run": "allocation_map",
    "malleable": "gantt_resized",
    "plots": "gantt",
    "power_capped": "power",
    "service_rate_control": "rates",
}
_SHOWN = PICTURES | KINDS


@dataclass(frozen=True)
class Example:
    """An example.

    Parameters
    ----------
    script
        Its file.
    """

    script: Path

    @property
    def name(self) -> str:
        """Its name."""
        return self.script.stem

    @property
    def title(self) -> str:
        """Its heading."""
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def about(self) -> str:
        """What its docstring says."""
        return ast.get_docstring(ast.parse(self.script.read_text("utf-8"))) or ""

    @property
    def picture(self) -> str:
        """Markdown of its picture; nothing where there is none."""
        name = _SHOWN.get(self.name)
        if name is None:
            return ""
        told = "" if self.name in PICTURES else "Such a plot, of another run ([Plots](../plots.md)):\n\n"
        return f"{told}![{self.title}](../pictures/{name}.png)\n\n"

    @property
    def text(self) -> str:
        """The source of its page."""
        script = self.script.relative_to(ROOT)
        printed = self.script.with_suffix(".out").read_text("utf-8").rstrip()
        return (
            f"# {self.title}\n\n{self.about}\n\n{self.picture}"
            f"`python {script}`:\n\n````python\n{self.script.read_text('utf-8').rstrip()}\n````\n\n"
            f"It prints:\n\n````text\n{printed}\n````\n"
        )

    @property
    def card(self) -> str:
        """Its place in the gallery."""
        name = _SHOWN.get(self.name)
        picture = f":img-top: ../pictures/{name}.png\n:img-alt: {self.title}\n" if name else ""
        first = self.about.partition("\n")[0]
        options = f":link: {self.name}\n:link-type: doc\n{picture}"
        return f":::{{grid-item-card}} {self.title}\n{options}\n{first}\n:::\n"


def examples() -> tuple[Example, ...]:
    """Give the examples: those with pictures first, then by name."""
    found = [Example(path) for path in (ROOT / "examples").glob("*.py")]
    return tuple(sorted(found, key=lambda each: (each.name not in _SHOWN, each.name)))


def index() -> str:
    """Give the source of the gallery."""
    found = examples()
    cards = "\n".join(each.card for each in found)
    names = "\n".join(each.name for each in found)
    return (
        "# Examples\n\nThe tests run these scripts of `examples/`, and compare what they print.\n\n"
        f"::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{cards}\n::::\n\n"
        f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )
