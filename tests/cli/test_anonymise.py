"""``batchlab anonymise``: a log without names has the same schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_log_of_slurm_without_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hosts are replaced, accounts and users of the configuration stay, and starts are the same."""
    folder = bl.traces.example("slurm")
    log, out = folder / "sacct.txt", tmp_path / "log.csv"
    assert main(["anonymise", str(log), "--system", str(folder), "--keep-order", "-o", str(out)]) == 0
    assert capsys.readouterr().out == (
        f"written to    {out}\nreplaced      job_name, node_list\n"
        "names kept    user, partition, account: the machine refers to them\n"
    )
    system = bl.read_system(folder)
    named, unnamed = bl.read_sacct(log), bl.read_table(out)
    assert not {*named.jobs["job_name"]} & {*unnamed.jobs["job_name"]}
    starts = [bl.simulate(each, system, "configured").jobs["start_time"] for each in (named, unnamed)]
    assert starts[0].equals(starts[1])


def test_kept_columns_and_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a machine accounts are replaced too, unless an option keeps them."""
    log = str(bl.traces.example("slurm") / "sacct.txt")
    tables = []
    for number, words in enumerate(
        ([], ["--seed", "1"], ["--keep-column", "account", "--keep-column", "user"])
    ):
        out = tmp_path / f"{number}.csv"
        assert main(["anonymise", log, *words, "-o", str(out)]) == 0
        tables.append(pl.read_csv(out))
    assert {*tables[0]["account"]} == {*tables[1]["account"]} == {"account1", "account2", "account3"}
    assert not tables[0]["job_name"].equals(tables[1]["job_name"])
    assert {*tables[2]["account"]} == {*bl.read_sacct(log).jobs["account"]}
    capsys.readouterr()
    assert main(["anonymise", log, "--keep-column", "acount", "-o", str(tmp_path / "x.csv")]) == 2
    assert "--keep-column: 'acount' is no column. Did you mean 'account'?" in capsys.readouterr().err
    assert main(["anonymise", log, "-o", str(tmp_path / "x.txt")]) == 2
    assert "must end in .swf, .swf.gz, .csv, .parquet" in capsys.readouterr().err
