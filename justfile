# The verbs of the project. `just check` is exactly what CI does.

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")
export VIRTUAL_ENV := justfile_directory() / ".venv"
export PYO3_PYTHON := justfile_directory() / ".venv/bin/python"

[private]
default:
    @just --list --unsorted

# make .venv, install everything, build the kernel
setup:
    python3 scripts/environment.py

# build the kernel again, in release mode
build:
    python3 scripts/environment.py

# format Python and Rust
fmt:
    ruff check --select I --fix
    ruff format
    cargo fmt --all

# ruff, clippy, and both formats
lint:
    ruff check .
    ruff format --check .
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# mypy --strict
types:
    mypy

# write the stub anew from the compiled module, and hold its signatures against it
stubs:
    python scripts/stub.py
    python -m mypy.stubtest batchlab._kernel --mypy-config-file pyproject.toml --allowlist .ci/stubs

# the tests of both languages
test *arguments:
    python3 scripts/test.py {{ arguments }}
    cargo test --workspace

# the tests that use dependencies, with the oldest versions that are allowed
floors:
    python scripts/floors.py

# the long runs: fuzzing, whole logs, thousands of random cases
campaign *arguments:
    pytest -m campaign --timeout=0 {{ arguments }}
    cargo test --workspace --release -- --ignored

# known faults of the dependencies: needs cargo-audit and pip-audit
audit:
    cargo audit
    pip-audit --local --skip-editable

# the benchmarks (benchmarks/README.md says how to read them)
bench *arguments:
    python benchmarks/run.py {{ arguments }}

# the site in target/site/html, every snippet and example, and the kernel's documentation
docs:
    python scripts/documentation.py
    pytest tests/docs
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# exactly what CI does
check:
    bash .ci/run
