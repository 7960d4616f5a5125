"""Whatever a platform file holds, the answer is a platform or one clear error."""

import io
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import batchlab as bl
from batchlab.errors import PlatformError

# `BATCHLAB_FUZZ=100000 pytest tests/platform/test_any_file.py` is the campaign; a sample runs every time.
EXAMPLES = int(os.environ.get("BATCHLAB_FUZZ", "100"))

XML = b"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="S" routing="Full">
<zone id="B" routing="Full"><host id="batch" speed="0Gf"><prop id="batch_system" value="true"/></host></zone>
<cluster id="C" prefix="n" suffix="" radical="0-7" speed="2Tf,1Tf" bw="12.5GBps" lat="1us" topology="TORUS"
 topo_parameters="4,2" loopback_bw="1GBps" limiter_link="5GBps" core="2"><prop id="num_gpus" value="4"/>
<prop id="flops_per_gpu" value="1Tf"/><prop id="gpu_to_gpu_bw" value="50GBps"/>
<prop id="node_local_bb" value="true"/><prop id="bb_read_bw" value="2GBps"/>
<prop id="bb_write_bw" value="1"/></cluster>
<zone id="P" routing="Cluster"><host id="PFS" speed="0Gf"><prop id="pfs_host" value="true"/></host>
<link id="u" bandwidth="1GBps" sharing_policy="SPLITDUPLEX"/>
<host_link id="PFS" up="u_UP" down="u_DOWN"/></zone>
<cluster id="F" prefix="f" suffix="" radical="0-3" speed="1" bw="1Bps" lat="0" topology="FAT_TREE"
 topo_parameters="2;2,2;1,2;1,1"/>
<cluster id="D" prefix="d" suffix="" radical="0-7" speed="1" bw="1Bps" lat="0" topology="DRAGONFLY"
 topo_parameters="2,1;2,1;2,1;1"/>
<link id="r" bandwidth="80GBps" latency="5us"/>
<zoneRoute src="P" dst="C" gw_src="PFS" gw_dst="n0" symmetrical="NO"><link_ctn id="r"/></zoneRoute>
<zoneRoute src="C" dst="P" gw_src="n0" gw_dst="PFS" symmetrical="NO">
<link_ctn id="u" direction="UP"/></zoneRoute>
</zone>
</platform>
"""
TOML = b"""name = "example"
[[clusters]]
name = "c"
nodes = 4
bandwidth = "12.5GBps"
node = { speed = "1Tf", gpus = 4, disk = { read = "2GBps", write = 1e9 } }
topology = { kind = "fat_tree", down = [2, 2], up = [1, 2], cables = [1, 1] }
[[clusters]]
name = "t"
prefix = "t"
bandwidth = 1.0
node = {}
topology = { kind = "torus", dimensions = [2, 2], bandwidths = [1, 2] }
[[zones]]
name = "z"
routing = "star"
hosts = [{ name = "a", role = "storage" }]
links = [{ name = "x", bandwidth = 1 }]
rays = [{ member = "a", up = ["x"], down = ["x"] }]
[[routes]]
source = "c"
target = "z"
links = ["x"]
source_gateway = "node0"
target_gateway = "a"
"""
PIECES = [
    *(
        b"-",
        b"0",
        b"9",
        b"99999",
        b"1e999",
        b"nan",
        b'"',
        b"<",
        b">",
        b"/>",
        b"&",
        b"&amp;",
        b"&#0;",
        b"]]>",
        b"[[",
    ),
    *(
        b"<!--",
        b"\xff",
        b"\0",
        b";",
        b",",
        b"true",
        b"id",
        b"zone",
        b"<host id='a' speed='1'/>",
        b"= {}",
        b"\n",
    ),
]


@st.composite
def mutated(draw: DrawFn) -> bytes:
    """One of our files with a few bytes cut out, put in, moved or repeated."""
    content = draw(st.sampled_from([XML, TOML]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 30)))
        piece = draw(st.binary(max_size=4) | st.sampled_from(PIECES) | st.just(content[start:end] * 2))
        content = content[:start] + piece + content[end:]
    return content


CONTENTS: SearchStrategy[bytes] = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary().map(lambda inside: b"<platform version='4.1'>" + inside + b"</platform>"),
    mutated(),
    mutated(),
)


@pytest.mark.parametrize("content", [XML, TOML], ids=["XML", "TOML"])
def test_the_seeds_are_platforms(content: bytes) -> None:
    """What is mutated below is right before."""
    assert bl.read_platform(io.BytesIO(content)).nodes


@pytest.mark.timeout(0 if EXAMPLES > 1000 else 120)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=CONTENTS, suffix=st.sampled_from(["", ".xml", ".toml"]))
def test_any_file_gives_a_platform_or_a_clear_error(content: bytes, suffix: str) -> None:
    """No other error, and on one line; what is accepted has routes, or says that it has none."""
    file = io.BytesIO(content)
    file.name = f"platform{suffix}"
    try:
        platform = bl.read_platform(file)
    except PlatformError as error:
        message = str(error)
        assert message.startswith(file.name)
        assert message.isprintable()
        assert len(message) < 1500
        return
    for host in platform.hosts[:3]:
        try:
            platform.route(platform.hosts[0].name, host.name)
        except PlatformError as error:
            assert "there is no route" in str(error)  # noqa: PT017  # either is right
