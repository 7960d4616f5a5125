"""The gallery: a page for each example, with its picture, source and output."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["FOLDER", "KINDS", "PICTURES", "TOPICS", "Example", "examples", "index"]

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
# For other examples, a plot of the same measure in another run.
KINDS = {
    "compare_policies": "slowdown",
    "look_at_a_run": "allocation_map",
    "malleable": "gantt_resized",
    "plots": "gantt",
    "power_capped": "power",
    "service_rate_control": "rates",
}
_SHOWN = PICTURES | KINDS
# The examples by topic, with the titles of their pages.
TOPICS = {
    "Compare policies": {
        "compare_policies": "Compare policies",
        "plots": "Plot several policies",
        "report": "Write a report",
        "look_at_a_run": "Inspect one day of a run",
        "experiment_on_dask": "Run an experiment on Dask",
        "experiment_on_parsl": "Run an experiment on Parsl",
    },
    "Write a policy": {
        "priority_rule": "A site's priority rule",
        "formula_as_order": "Tune a priority formula",
        "keep_users_apart": "An allocator in Python",
        "easy_plus_plus": "EASY++ with predicted run times",
        "learn_run_times": "Learn run times with scikit-learn",
        "look_ahead": "Choose a policy by simulation",
        "decision_points": "Step a simulation, as in reinforcement learning",
        "constraint_programming": "Constraint programming with OR-Tools",
        "aware_of_the_machine": "Topology-, storage- and progress-aware schedulers",
    },
    "Energy and failures": {
        "power_capped": "Power capping",
        "carbon_aware": "Carbon-aware scheduling",
        "fault_aware": "Fault-aware allocation",
        "service_rate_control": "CPU frequency scaling with service rates",
    },
    "Workloads and real systems": {
        "generated_workload": "A synthetic workload with GPUs",
        "own_reader": "Read your own log format",
        "fit_a_twin": "Calibrate a twin of a Slurm cluster",
        "adequacy_reference": "Measure the adequacy of a model",
        "fcfs_validation": "Validate first come, first served",
        "intrepid": "FCFS, SJF and LJF on Intrepid",
    },
    "Applications and networks": {
        "applications": "Applications instead of run times",
        "malleable": "Malleable jobs",
        "deep_learning_study": "Deep-learning jobs on a GPU cluster",
        "epoch_times": "Epoch times of six neural networks",
        "elastisim_project": "Run an ElastiSim project",
        "platforms": "Compare topologies",
        "share_a_network": "Network contention of two jobs",
        "task_mapping": "Task mappings on Cielo",
        "interference": "Interference between jobs",
        "stencil_among_jobs": "Hop-bytes of a stencil among other jobs",
    },
}
_TITLES = {name: title for topic in TOPICS.values() for name, title in topic.items()}


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
        return _TITLES[self.name]

    @cached_property
    def about(self) -> str:
        """Its docstring."""
        return ast.get_docstring(ast.parse(self.script.read_text("utf-8"))) or ""

    @property
    def picture(self) -> str:
        """Markdown of its picture; empty without one."""
        name = _SHOWN.get(self.name)
        if name is None:
            return ""
        told = "" if self.name in PICTURES else "A similar plot, of another run ([Plots](../plots.md)):\n\n"
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
    """Return the examples, by topic."""
    return tuple(Example(ROOT / f"examples/{name}.py") for name in _TITLES)


def index() -> str:
    """Return the source of the gallery."""
    cards = {each.name: each.card for each in examples()}
    parts = ""
    for topic, names in TOPICS.items():
        grid = "\n".join(cards[name] for name in names)
        parts += f"## {topic}\n\n::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{grid}\n::::\n\n"
    listed = "\n".join(cards)
    about = "Complete scripts of the folder `examples/`. The tests run them and compare their output."
    return f"# Examples\n\n{about}\n\n{parts}```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
