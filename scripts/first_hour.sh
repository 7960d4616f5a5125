#!/usr/bin/env bash
# The first hour of a new user, in minutes: install the wheel without Rust into a fresh environment, and do there what
# README.md and the tutorials say, with a log so short that it takes seconds, and report a wrong schedule.
# `bash scripts/first_hour.sh [WHEEL]`; without a wheel the maturin on the path makes one from the objects in target.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=HPC2N-2002-2.2-cln.swf.gz

step() {
    printf '%4d s  %s\n' "$SECONDS" "$*"
}

wheel=${1:-}
if [[ -z $wheel ]]; then
    step "make the wheel"
    python3 "$root/scripts/wheel.py" "$work/wheels"
    wheel=$(echo "$work"/wheels/*.whl)
    step "make the source distribution; it must have the kernel, its locked dependencies and the example"
    maturin sdist --manifest-path "$root/rust/python/Cargo.toml" --out "$work/source"
    tar -tzf "$work"/source/*.tar.gz >"$work/files"
    for file in Cargo.lock rust/kernel/src/lib.rs rust/python/src/lib.rs src/batchlab/trace/examples/slurm/sacct.txt; do
        grep -q "/$file\$" "$work/files"
    done
fi

step "install $(basename "$wheel")"
python3 -m venv "$work/environment"
"$work/environment/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$wheel[pandas,report,serve]"

# Nothing of the developer's: no sources, no other Python, no logs and runs of before; and no Rust: to call it is an error.
for program in cargo rustc; do
    printf '#!/bin/sh\necho "%s was called" >&2\nexit 1\n' $program >"$work/environment/bin/$program"
    chmod +x "$work/environment/bin/$program"
done
export PATH="$work/environment/bin:/usr/bin:/bin" BATCHLAB_CACHE="$work/cache" BATCHLAB_RUNTIME="$work/runtime" MPLBACKEND=agg
unset PYTHONPATH VIRTUAL_ENV
mkdir "$work/user" && cd "$work/user"
python -c "import batchlab, sys; sys.exit(not batchlab.__file__.startswith(sys.prefix))"
python -c "import batchlab; batchlab.show_versions()" | head -1

step "demonstration"
batchlab demo

step "the example of the package, changes of its slurm.conf, and a bundle that repeats its schedule"
batchlab run --example slurm --out recorded
cp -r "$(batchlab traces example slurm)" centre
cp -r centre more-nodes
sed -i.before 's/n\[1-16\]/n[1-20]/' more-nodes/slurm.conf
batchlab slurm check centre
batchlab slurm what-if centre/sacct.txt --conf centre --conf more-nodes --seeds 1 --resamples 100
batchlab bundle make recorded --out fault.zip --note "job 12 starts too late"
batchlab bundle check fault.zip

step "README.md, on a short log"
batchlab generate lublin --jobs 5000 --nodes 120 --cores 2 --out "$log"
python "$root/scripts/snippets.py" "$root/README.md"

step "a comparison with a report, a run in files, a plot of it, a page that is served, tables for pandas"
machine=(--nodes 120 --cores 2)
batchlab compare "$log" "${machine[@]}" --policy fcfs --policy easy --report report.html
batchlab run "$log" "${machine[@]}" --policy easy --out easy
batchlab plot wait easy -o wait.png
ls -l report.html wait.png
python - "$log" <<'PYTHON'
import sys
from urllib.request import urlopen

import batchlab as bl

workload, system = bl.read_swf(sys.argv[1]), bl.System.homogeneous(nodes=120, resources={"core": 2})
simulation = bl.Simulation(workload, system, "easy")
with bl.Monitor(simulation, serve=True) as monitor:
    print("served:", len(urlopen(monitor.url).read()), "bytes")
    result = monitor.run()
print("pandas:", result.jobs.to_pandas().shape)
PYTHON

step "tutorials, two at a time"
printf '%s\0' "$root"/docs/tutorials/*.ipynb | xargs -0 -n 1 -P 2 python "$root/scripts/snippets.py"
step "done"
