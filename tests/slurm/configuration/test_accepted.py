"""Configurations that Slurm starts with, although something in them is odd."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from batchlab.errors import SystemDescriptionError
from batchlab.slurm import key_table, read_configuration
from batchlab.system.slurm import check
from support.slurm_configurations import SMALL
from support.slurm_configurations import written as files_in

if TYPE_CHECKING:
    from pathlib import Path


def written(files: dict[str, str], folder: Path) -> Path:
    """Write the files of a cluster into a folder, which is made."""
    folder.mkdir(exist_ok=True)
    return files_in(files, folder)


OBSOLETE = [key.name for key in key_table("slurm_conf").keys.values() if key.does.endswith("; obsolete.")]


def test_obsolete_keys_are_without_effect(tmp_path: Path) -> None:
    """Keys that 20.02 and 20.11 read and ignore: the release is one of these, and nothing is unknown."""
    assert len(OBSOLETE) == 15
    lines = "".join(f"{name}=0\n" for name in OBSOLETE)
    report = check(written({"slurm.conf": lines + SMALL}, tmp_path))
    assert report.configuration.release == "20.11"
    assert report.counts["unknown"] == 0
    assert {each.name for each in report.treated_as("no_effect")} >= {*OBSOLETE}


def test_unknown_hosts_of_a_topology_are_left_out(tmp_path: Path) -> None:
    """Slurm starts with a message; the switch has the nodes that are there."""
    network = "SwitchName=a Nodes=n[1-2,8-9]\nSwitchName=b Nodes=n[3-4]\nSwitchName=top Switches=a,b\n"
    configuration = read_configuration(written({"slurm.conf": SMALL, "topology.conf": network}, tmp_path))
    assert configuration.topology is not None
    assert [each.nodes for each in configuration.topology.switches] == [("n1", "n2"), ("n3", "n4"), ()]
    (mended,) = configuration.mended
    assert mended.says == "a: n8 and 1 more: no nodes of slurm.conf; Slurm leaves them out"
    assert str(mended.place).endswith("topology.conf:1")
    wrong = network.replace("Switches=a,b", "Switches=a,c")
    with pytest.raises(SystemDescriptionError, match="Switches: c is no switch"):
        read_configuration(written({"slurm.conf": SMALL, "topology.conf": wrong}, tmp_path / "wrong"))


def test_brackets_around_numbers_are_skipped(tmp_path: Path) -> None:
    """Cores=[0-3] is Cores=0-3, and so is a list of CPUs."""
    devices = "Name=gpu File=/dev/nvidia0 Cores=[0-3]\nName=gpu File=/dev/nvidia1 Cores=4-5\n"
    text = SMALL.replace("CPUs=8", "CPUs=8 Gres=gpu:2 CpuSpecList=[0,2-3]") + "GresTypes=gpu\n"
    configuration = read_configuration(written({"slurm.conf": text, "gres.conf": devices}, tmp_path))
    assert [each.cores for each in configuration.devices] == [(0, 1, 2, 3), (4, 5)]
    assert configuration.nodes[0].reserved_cpus == 3
    files = {"slurm.conf": text, "gres.conf": devices.replace("[0-3]", "[0-3")}
    broken = written(files, tmp_path / "broken")
    with pytest.raises(SystemDescriptionError, match=r"Cores = '\[0-3'; must be numbers of CPUs"):
        read_configuration(broken)


def test_words_of_enforcement_that_old_releases_do_not_notice(tmp_path: Path) -> None:
    """`limit` is no word: releases before 21.08 start with it, and enforce no limits."""
    folder = written({"slurm.conf": f"AccountingStorageEnforce=associations,limit\n{SMALL}"}, tmp_path)
    configuration = read_configuration(folder)
    assert configuration.release == "20.11"
    assert "limits" not in configuration.enforced
    assert read_configuration(folder, version="20.02").release == "20.02"
    with pytest.raises(SystemDescriptionError, match="limit is no option of AccountingStorageEnforce"):
        read_configuration(folder, version="21.08")
    other = written({"slurm.conf": f"PreemptMode=canel\n{SMALL}"}, tmp_path / "other")
    with pytest.raises(SystemDescriptionError, match="canel is no option of PreemptMode"):
        read_configuration(other)


def test_absolute_includes_whose_files_lie_beside(tmp_path: Path) -> None:
    """The end of the path is looked for in the folder: a copy of /etc/slurm is read as it is."""
    head, *rest = SMALL.splitlines(keepends=True)
    files = {
        "slurm.conf": f"{head}Include /etc/no-such-folder/nodes.conf\nInclude /no/such/parts/all.conf\n",
        "nodes.conf": rest[0],
    }
    folder = written(files, tmp_path)
    (folder / "parts").mkdir()
    (folder / "parts" / "all.conf").write_text(rest[1])
    configuration = read_configuration(folder)
    assert [line.names for line in configuration.nodes] == [("n1", "n2", "n3", "n4")]
    assert [each.name for each in configuration.partitions] == ["all"]
    missing = written({"slurm.conf": "Include /etc/no-such-folder/other.conf\n"}, tmp_path / "missing")
    with pytest.raises(SystemDescriptionError, match=r"there is no file /etc/no-such-folder/other\.conf"):
        read_configuration(missing)


def test_the_check_needs_no_further_import(tmp_path: Path) -> None:
    """`import batchlab` is enough for `bl.system.slurm.check`."""
    folder = written({"slurm.conf": SMALL}, tmp_path)
    code = f"import batchlab as bl; print(bl.system.slurm.check({str(folder)!r}).counts['unknown'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603  # our own
    assert (done.stdout.strip(), done.stderr) == ("0", "")
