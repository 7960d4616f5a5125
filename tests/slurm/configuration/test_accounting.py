"""Accounts and QOS from the files of sacctmgr."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.slurm import read_configuration
from support.slurm_configurations import FILES, SMALL, written

if TYPE_CHECKING:
    from pathlib import Path

# As Slurm 22.05.8 wrote them for a virtual cluster.
DUMP = """
# To edit this file start with a cluster line for the new cluster
# Parent - 'root'
Cluster - 'small':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'bio':Description='bio':Organization='lab':DefaultQOS='normal':Fairshare=20:QOS='high,low,normal'
Account - 'chem':Description='chem':Organization='lab':DefaultQOS='normal':Fairshare=30:QOS='high,low,normal'
Parent - 'bio'
Account - 'genomics':Description='genomics':Organization='lab':Fairshare=3
Parent - 'genomics'
User - 'u6':DefaultAccount='genomics':Fairshare=1
Parent - 'chem'
User - 'u3':DefaultAccount='phys':Fairshare=1
User - 'u4':DefaultAccount='chem':Fairshare=2
"""
QOS = (
    "Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|GrpTRESMins|"
    "GrpTRESRunMins|GrpJobs|GrpSubmit|GrpWall|MaxTRES|MaxTRESPerNode|MaxTRESMins|MaxWall|MaxTRESPU|MaxJobsPU|"
    "MaxSubmitPU|MaxTRESPA|MaxJobsPA|MaxSubmitPA|MinTRES\n"
    "normal|100|00:00:00|||cluster|||1.000000|||||||||||node=12|3|||||\n"
    "low|10|00:00:00|||requeue|||1.000000|cpu=28||||||||||||||||\n"
    "high|1000|00:00:00|low||cluster|||1.000000|node=16||||||||||||||||\n"
)


def test_a_real_dump(tmp_path: Path) -> None:
    """The tree of accounts with shares, users and QOS; the file is found by what it is."""
    found = read_configuration(written({"slurm.conf": SMALL, "any.cfg": DUMP}, tmp_path)).accounting
    assert found is not None
    assert found.cluster == "small"
    assert [(each.account, each.parent, each.shares, each.qos) for each in found.accounts] == [
        ("root", "root", 1, ("normal",)),
        ("bio", "root", 20, ("high", "low", "normal")),
        ("chem", "root", 30, ("high", "low", "normal")),
        ("genomics", "bio", 3, None),
    ]
    assert [(each.user, each.account, each.shares) for each in found.users] == [
        ("root", "root", 1),
        ("u6", "genomics", 1),
        ("u3", "chem", 1),
        ("u4", "chem", 2),
    ]
    assert found.below("bio") == ("bio", "genomics")
    assert [each.account for each in found.above(found.users[1])] == ["genomics", "bio", "root"]


def test_a_real_table_of_qos(tmp_path: Path) -> None:
    """Priorities, who preempts whom, limits and modes."""
    found = read_configuration(written({"slurm.conf": SMALL, "qos.txt": QOS}, tmp_path)).qualities
    assert [(each.name, each.priority, each.preempts, each.preempt_mode) for each in found] == [
        ("normal", 100, (), ()),
        ("low", 10, (), ("requeue",)),
        ("high", 1000, ("low",), ()),
    ]
    assert dict(found[0].counts) == {"MaxJobsPerUser": 3}
    assert {key: dict(value) for key, value in found[0].amounts.items()} == {"MaxTRESPerUser": {"node": 12}}
    assert {key: dict(value) for key, value in found[1].amounts.items()} == {"GrpTRES": {"cpu": 28}}


def test_limits_quotes_and_types(tmp_path: Path) -> None:
    """Colons in quotes and in types of resources, parents, and what -1 takes away."""
    found = read_configuration(written(FILES, tmp_path)).accounting
    assert found is not None
    physics, _, optics = found.accounts[1:]
    assert {key: dict(value) for key, value in physics.amounts.items()} == {
        "GrpTRES": {"cpu": 200, "gres/gpu": 4}
    }
    assert (optics.shares, dict(optics.counts)) == ("parent", {"GrpJobs": 50})
    dee = next(each for each in found.users if each.user == "dee")
    assert {key: dict(value) for key, value in dee.amounts.items()} == {"GrpTRES": {"gres/gpu:a100": 2}}
    ann = next(each for each in found.users if each.user == "ann")
    assert (dict(ann.counts), dict(ann.minutes)) == ({"MaxJobs": 4}, {"MaxWallDurationPerJob": 2880})
    described = next(each for each in read_configuration(tmp_path).settings if each.value == "all: of it")
    assert (described.key.name, described.subject) == ("Description", "account physics")


def test_qos_in_a_dump(tmp_path: Path) -> None:
    """Since 25.05 dumps have lines of QOS."""
    dump = DUMP + "QOS - 'normal':Priority=20:Flags=DenyOnLimit:MaxWall=60:GraceTime=30\n"
    found = read_configuration(written({"slurm.conf": SMALL, "any.cfg": dump}, tmp_path)).qualities
    assert [(each.name, each.priority, each.flags, each.grace_time) for each in found] == [
        ("normal", 20, frozenset({"denyonlimit"}), 30.0)
    ]
    assert dict(found[0].minutes) == {"MaxWallDurationPerJob": 60}


def test_a_table_of_associations(tmp_path: Path) -> None:
    """With the column ParentName it is as good as a dump; without it the tree is not known."""
    rows = (
        "Cluster|Account|ParentName|User|Share|MaxJobs|QOS|Def QOS\n"
        "small|root|||1||normal|\nsmall|bio|root||20|5|normal,high|normal\nsmall|bio||ann|parent|||\n"
    )
    found = read_configuration(written({"slurm.conf": SMALL, "assoc.txt": rows}, tmp_path)).accounting
    assert found is not None
    assert [(each.account, each.user, each.parent, each.shares) for each in found.associations] == [
        ("root", "", "root", 1),
        ("bio", "", "root", 20),
        ("bio", "ann", "root", "parent"),
    ]
    (tmp_path / "assoc.txt").write_text("Account|User|Share\nroot||1\nbio||20\n", "utf-8")
    with pytest.raises(
        bl.SystemDescriptionError, match=r"assoc.txt:3: account bio; the column ParentName must"
    ):
        read_configuration(tmp_path)


def test_which_file(tmp_path: Path) -> None:
    """Of several dumps that of the cluster is read; where none is, one must be named."""
    other = DUMP.replace("'small'", "'other'")
    written({"slurm.conf": SMALL, "a.cfg": other, "b.cfg": DUMP}, tmp_path)
    found = read_configuration(tmp_path)
    assert found.accounting is not None
    assert found.accounting.file.endswith("b.cfg")
    assert read_configuration(tmp_path, accounts=tmp_path / "a.cfg").accounting.cluster == "other"  # type: ignore[union-attr]
    assert ("a.cfg", "accounts of another cluster, other") in found.not_read
    written({"c.cfg": DUMP}, tmp_path)
    with pytest.raises(bl.SystemDescriptionError, match=r"each could be read; must be one. Pass accounts="):
        read_configuration(tmp_path)
    with pytest.raises(bl.SystemDescriptionError, match=r"slurm.conf: has no accounts. Pass what"):
        read_configuration(tmp_path, accounts=tmp_path / "slurm.conf")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("User - 'x':Fairshar=1", "Fairshar is not a key of an association. Did you mean Fairshare?"),
        ("User - 'x':Fairshare=much", "Fairshare = 'much'; must be a whole number"),
        ("Group - 'x':Fairshare=1", "must begin with Cluster, Parent, Account, User or QOS"),
        ("Parent - 'none'", "Parent - none comes before its account. Known: bio, chem, genomics, root."),
        ("Account - 'bio':Fairshare=1", "Account - bio is there already"),
        ("Cluster - 'two':Fairshare=1", "a second cluster, two; must be one"),
        ("User - 'x':MaxJobs", "'MaxJobs' is no Key=value"),
    ],
)
def test_errors(line: str, message: str, tmp_path: Path) -> None:
    """What is wrong with a dump is said with file and line."""
    written({"slurm.conf": SMALL, "a.cfg": DUMP + line + "\n"}, tmp_path)
    with pytest.raises(bl.SystemDescriptionError) as error:
        read_configuration(tmp_path)
    assert "a.cfg:16: " in str(error.value)
    assert message in str(error.value)
