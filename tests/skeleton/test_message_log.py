"""Logs of calls give the program of a function that makes the same calls."""

import json
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Communicator, Skeleton, read_message_log, run

PLATFORM = bl.Platform.torus((4, 2), bandwidth=1e9, latency=1e-6, speed=1e9)
HEADER = "rank,call,peer,bytes,tag,request,seconds,flops,root,algorithm"


def written(world: Communicator) -> None:
    """Compute, pass a message on, and reduce."""
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    world.compute(flops=1e6 * world.rank)
    received = world.irecv(left, 7)
    world.send(right, 1000, 7)
    world.wait(received)
    world.compute(1e-5)
    world.bcast(256, 2, "binomial")
    world.allreduce(1024, "recursive_doubling")
    world.barrier("dissemination")


def rows(ranks: int) -> list[str]:
    """Give the same as rows of CSV."""
    found = []
    for rank in range(ranks):
        found += [
            f"{rank},compute,,,,,,{1e6 * rank},,",
            f"{rank},irecv,{(rank - 1) % ranks},,7,left,,,,",
            f"{rank},send,{(rank + 1) % ranks},1000,7,,,,,",
            f"{rank},wait,,,,left,,,,",
            f"{rank},compute,,,,,1e-5,,,",
            f"{rank},bcast,,256,,,,,2,binomial",
            f"{rank},allreduce,,1024,,,,,,recursive_doubling",
            f"{rank},barrier,,,,,,,,dissemination",
        ]
    return found


def test_csv_and_json_are_the_function(tmp_path: Path) -> None:
    """Equal times of every rank, in both fidelities."""
    table, document = tmp_path / "calls.csv", tmp_path / "calls.json"
    table.write_text("\n".join([HEADER, *rows(8)]))
    names = HEADER.split(",")
    objects = [dict(zip(names, row.split(","), strict=True)) for row in rows(8)]
    document.write_text(json.dumps([{k: v for k, v in each.items() if v} for each in objects]))
    expected = run(Skeleton(written, 8), PLATFORM).ends.tolist()
    for path in (table, document):
        assert run(read_message_log(path), PLATFORM).ends.tolist() == expected
    aggregated = run(Skeleton(written, 8, fidelity="aggregated"), PLATFORM).time
    assert run(read_message_log(table, fidelity="aggregated"), PLATFORM).time == aggregated


def test_waitall_and_idle_ranks(tmp_path: Path) -> None:
    """What is posted without a name is awaited by waitall; ranks without rows do nothing."""
    log = tmp_path / "calls.csv"
    log.write_text("rank,call,peer,bytes\n0,isend,1,1e6\n0,isend,1,1e6\n0,waitall,,\n1,recv,0,\n1,recv,0,\n")
    skeleton = read_message_log(log, ranks=4)
    assert (skeleton.ranks, skeleton.name) == (4, "calls")
    ends = run(skeleton, PLATFORM).ends
    assert ends[0] > 1e-3
    assert ends[3] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rank,call\n0,sent\n", "row 1: call = 'sent'; is none. Did you mean 'send'?"),
        ("rank,call,peer\n0,send,1\n", "row 1: send lacks bytes"),
        ("rank,call,bytes\n0,barrier,5\n", "row 1: barrier has no bytes; leave it empty"),
        ("rank,call,peer\n0,recv,x\n", "row 1: peer = 'x'; must be a whole number"),
        ("rank,call,seconds\n0,compute,soon\n", "row 1: seconds = 'soon'; must be a number"),
        ("rank,call,size\n0,barrier,5\n", "no column is called 'size'"),
        ("rank,call,request\n0,wait,a\n", "nothing is posted as request 'a'"),
        ("rank,call\n", "has no calls"),
        ("call\nbarrier\n", "row 1: lacks rank"),
        ("[1]", "row 1 = 1; must be an object"),
        ("[{", "is no JSON"),
        ("rank,call,peer,bytes\n0,send,1,10\n1,barrier,,\n0,barrier,,\n", "send"),
    ],
)
def test_refusals(tmp_path: Path, text: str, why: str) -> None:
    """Each names the file and the row."""
    log = tmp_path / "calls.csv"
    log.write_text(text)
    with pytest.raises(ApplicationError) as refused:
        read_message_log(log)
    assert why in str(refused.value)


def test_no_file(tmp_path: Path) -> None:
    """It says that there is none."""
    with pytest.raises(ApplicationError, match="cannot be read"):
        read_message_log(tmp_path / "nothing.csv")
