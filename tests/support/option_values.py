"""Values of each option of a run, other than the default and wrong: words on a command line, and TOML."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields

from batchlab.options.run_options import RECORDED, RunOptions

__all__ = ["RUNS", "WRONG_RUNS", "Said", "said"]


@dataclass(frozen=True)
class Said:
    """An option by its words on a command line, and as TOML writes it."""

    name: str
    words: tuple[str, ...]
    toml: str

    @property
    def value(self) -> object:
        """What Python is given."""
        return tomllib.loads(f"x = {self.toml}")["x"]


def said(name: str, *texts: str, toml: str | None = None) -> Said:
    """Return an option; TOML has the text unless it is given."""
    return Said(name, texts, repr(texts[0]) if toml is None else toml)


NUMBERS = {each.name: each.default for each in fields(RunOptions) if isinstance(each.default, float)}
RUNS = [
    said("seed", "7", toml="7"),
    said("walltime", "kill"),
    said("order_at_instant", "arrivals_first"),
    said("job_check", "total"),
    said("odd_jobs", "leave_out"),
    said("overheads", "launch=2", "resume=norm(mean=0,sd=1)", toml='"launch=2, resume=norm(mean=0,sd=1)"'),
    said("overheads", "launch=2, billed=FALSE", toml="{ launch = 2, billed = false }"),
    said("overheads", "suspend={base: 2, per_task: 0.5}", toml="{ suspend = { base = 2, per_task = 0.5 } }"),
    said("overheads", "launch=[1, 2]", "completion=setup", toml='{ launch = [1, 2], completion = "setup" }'),
    said("control", "count(1, 3)"),
    said("control", "constant(2, groups=['a'])", "constant(1, groups=['b'])",
         toml="""["constant(2, groups=['a'])", "constant(1, groups=['b'])"]"""),
    said("sleep", "timeout(suspend=60, off=1800)"),
    said("sleep", "timeout(60)", toml="{ after = 60 }"),
    said("invocation", "interval=60, on_submit=false", toml="{ interval = 60, on_submit = false }"),
    said("sharing", "fair_bottleneck"),
    said("sharing", "fair_bottleneck(window=65536)", toml='{ model = "fair_bottleneck", window = 65536 }'),
    said("sensing", "interval=60, links=[up, 'a b']", toml='{ interval = 60, links = ["up", "a b"] }'),
    said("clip_requests", "--no-clip-requests", toml="false"),
    *(said(name, f"{usual + 1.5:g}", toml=f"{usual + 1.5:g}") for name, usual in NUMBERS.items()),
    *(said(name, f"--{name.replace('_', '-')}", toml="true") for name in sorted(RECORDED - {"sensing"})),
]  # fmt: skip
"""Right values."""
WRONG_RUNS = [
    *((said(name, "inf", toml="inf"), "inf; must be a finite number") for name in NUMBERS),
    *((said(name, "fast"), "'fast'; must be a finite number") for name in NUMBERS),
    (said("seed", "-1", toml="-1"), "-1; must be a whole number from 0 to 2^64 - 1"),
    (said("seed", "half"), "'half'; must be a whole number from 0 to 2^64 - 1"),
    (said("walltime", "stop"), "'stop'; must be 'run' or 'kill'"),
    (said("order_at_instant", "any"), "'any'; must be 'completions_first', 'arrivals_first' or"),
    (said("job_check", "all"), "'all'; must be 'nodes', 'total' or 'none'"),
    (said("odd_jobs", "drop"), "'drop'; must be 'error', 'reject' or 'leave_out'"),
    (said("overheads", "lanch=2"), "overheads.lanch: no such key. Did you mean 'launch'?"),
    (said("overheads", "2"), "'2'; must name each value, as launch=2"),
    (said("overheads", "launch=-2"), "overheads.launch.base = -2; must be a finite number of seconds >= 0"),
    (said("overheads", "billed=no"), "overheads.billed = 'no'; must be true or false: write false"),
    (said("overheads", "launch=2, launch=3"), "key 'launch' is given twice; keep one"),
    (said("control", "wrokload(1, 3)"), "no rule named 'wrokload'. Did you mean 'workload'?"),
    (said("sleep", "timeout(-1)"), "must be a finite number of seconds >= 0"),
    (said("sleep", "rest(1)"), "no rule named 'rest'"),
    (said("invocation", "interval=-1"), "invocation.interval = -1; must be a finite number of seconds >= 0"),
    (said("invocation", "on_submit=yes"), "invocation.on_submit = 'yes'; must be true or false: write true"),
    (said("sharing", "fair"), "no sharing model is called 'fair'"),
    (said("sharing", "max_min(window=-1)"), "window = -1; must be a finite number >= 0"),
    (said("sensing", "intervals=1"), "sensing.intervals: no such key. Did you mean 'interval'?"),
    (said("sensing", "interval=0"), "sensing.interval = 0; must be a finite number of seconds > 0"),
]  # fmt: skip
"""Wrong values, and what is said of each by whichever way it comes."""
