"""SimGrid's XML: what is understood, and what is refused at its line."""

import io
import textwrap
import time
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import PlatformError
from batchlab.platform import Cluster, Crossbar, Disk, Dragonfly, FatTree, Link, Torus

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


def read(zone: str, *, version: str = "4.1") -> bl.Platform:
    """Read what a zone called "z" holds; its first line is line 5."""
    text = (
        f'{HEAD}<platform version="{version}">\n<zone id="z" routing="Full">\n{zone}\n</zone>\n</platform>\n'
    )
    return bl.read_platform(io.BytesIO(text.encode()))


def cluster(attributes: str, inside: str = "") -> bl.Platform:
    """Read a cluster "c" of hosts n0, n1..."""
    common = 'id="c" prefix="n" suffix="" speed="1Gf" bw="1GBps" lat="1us"'
    return read(f"<cluster {common} {attributes}>{inside}</cluster>")


def test_hosts_links_and_routes() -> None:
    """Of a zone; routes go both ways unless told, and split-duplex links have a direction."""
    platform = read("""
        <host id="a" speed="1Gf" core="4"><disk id="d" read_bw="2GBps" write_bw="1GBps"/></host>
        <host id="b" speed="1Gf,2Gf" pstate="1"/><host id="c" speed="0"/><router id="r"/>
        <link id="x" bandwidth="1GBps" latency="1us"><prop id="any" value="thing"/></link>
        <link id="y" bandwidth="8Gbps" sharing_policy="SPLITDUPLEX"/>
        <link id="w" bandwidth="1GBps" sharing_policy="FATPIPE"/>
        <route src="a" dst="b"><link_ctn id="x"/><link_ctn id="y" direction="UP"/></route>
        <route src="a" dst="c" symmetrical="NO"><link_ctn id="w"/></route>
    """)
    host = platform.hosts[0]
    assert (host.cores, host.disk) == (4, Disk(2e9, 1e9))
    assert [host.speed for host in platform.hosts] == [1e9, 2e9, 0.0]
    assert platform.route("a", "b").links == ("x", "y_UP")
    assert platform.route("b", "a").links == ("y_DOWN", "x")
    assert platform.links[3] == Link("w", 1e9, 0.0, "fat_pipe")
    with pytest.raises(PlatformError, match="no route from 'c' to 'a'"):
        platform.route("c", "a")


def test_every_attribute_of_clusters() -> None:
    """Backbone, limiter, loopback, router, cores, sharing; numbers in ranges."""
    platform = cluster(
        'radical="0-1,7" core="8" bb_bw="5GBps" bb_lat="2us" bb_sharing_policy="FATPIPE" '
        'limiter_link="3GBps" loopback_bw="9GBps" loopback_lat="0" router_id="door" sharing_policy="SHARED"'
    )
    assert [host.name for host in platform.nodes] == ["n0", "n1", "n7"]
    through = ("c_link_0_limiter", "c_link_0", "c_backbone", "c_link_7", "c_link_7_limiter")
    assert platform.route("n0", "n7").links == through
    assert platform.route("n1", "n1").links == ("c_link_1_loopback",)
    links = {link.name: link for link in platform.links}
    assert links["c_backbone"] == Link("c_backbone", 5e9, 2e-6, "fat_pipe")
    assert links["c_link_1_loopback"] == Link("c_link_1_loopback", 9e9, 0.0, "fat_pipe")
    assert platform.nodes[0].cores == 8


@pytest.mark.parametrize(
    ("attributes", "topology"),
    [
        (
            'radical="0-15" topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"',
            FatTree((4, 4), (1, 2), (1, 2)),
        ),
        ('radical="0-11" topology="TORUS" topo_parameters="4, 3"', Torus((4, 3))),
        (
            'radical="0-7" topology="DRAGONFLY" topo_parameters="2,3;1,1;2,2;2"',
            Dragonfly(2, 1, 2, 2, 3, 1, 2),
        ),
        ('radical="0-7"', Crossbar()),
        ('radical="0-7" topology="FLAT" bb_bw="1GBps"', Crossbar(Link("backbone", 1e9))),
    ],
)
def test_topologies(attributes: str, topology: object) -> None:
    """Each form of the parameters."""
    root = cluster(attributes).root
    assert not isinstance(root, Cluster)
    (described,) = root.members
    assert isinstance(described, Cluster)
    assert described.topology == topology


def test_zones_in_zones_under_their_old_names() -> None:
    """AS and ASroute are zone and zoneRoute; gateways lead from one to the other."""
    platform = read(
        """
        <AS id="left" routing="Full"><host id="a" speed="1Gf"/></AS>
        <AS id="right" routing="None"><host id="b" speed="1Gf"/></AS>
        <link id="x" bandwidth="1GBps" latency="1ms"/>
        <ASroute src="left" dst="right" gw_src="a" gw_dst="b"><link_ctn id="x"/></ASroute>
        """,
        version="4",
    )
    assert platform.route("b", "a") == (("x",), 1e-3)


def test_shortest_paths() -> None:
    """Floyd and Dijkstra, with routers between."""
    inside = """
        <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><router id="r"/>
        <link id="x" bandwidth="1GBps"/><link id="y" bandwidth="1GBps"/>
        <route src="a" dst="r"><link_ctn id="x"/></route><route src="r" dst="b"><link_ctn id="y"/></route>
    """
    for routing in ("Floyd", "Dijkstra", "DijkstraCache"):
        platform = read(f'<zone id="inner" routing="{routing}">{inside}</zone>')
        assert platform.route("b", "a").links == ("y", "x")


def test_zones_around_a_centre() -> None:
    """Cabinets and hosts with their links, across a backbone."""
    platform = read("""
        <zone id="inner" routing="Cluster">
          <host id="a" speed="1Gf"/>
          <link id="up" bandwidth="1GBps"/><link id="down" bandwidth="1GBps"/>
          <host_link id="a" up="up" down="down"/>
          <cabinet id="k" prefix="k" suffix="" radical="0-1" speed="2Gf" bw="1GBps" lat="1us"/>
          <backbone id="bb" bandwidth="9GBps" latency="1us"/>
        </zone>
    """)
    assert platform.route("a", "k1").links == ("up", "bb", "link_k1_DOWN")
    assert platform.route("k0", "a").links == ("link_k0_UP", "bb", "down")


def test_every_host_around_a_centre_has_links() -> None:
    """A host without a <host_link> is refused, as by SimGrid: its traffic would be free."""
    inside = """
        <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
        <link id="up" bandwidth="1GBps"/><host_link id="a" up="up" down="up"/>
    """
    with pytest.raises(PlatformError, match=r":6: host 'b' of the zone 'inner' has no <host_link>"):
        read(f'<zone id="inner" routing="Cluster">{inside}</zone>')
    joined = inside + '<host_link id="b" up="up" down="up"/>'
    assert read(f'<zone id="inner" routing="cluster">{joined}</zone>').route("a", "b").links == ("up",)


def test_a_cluster_alone() -> None:
    """Needs no zone around it."""
    alone = '<cluster id="c" prefix="" suffix=".x" radical="3" speed="1f" bw="1Bps" lat="0"/>'
    platform = bl.read_platform(io.StringIO(f'<platform version="4.1">{alone}</platform>'))
    assert [host.name for host in platform.hosts] == ["3.x"]


PROPERTIES = {
    "num_gpus": "4",
    "flops_per_gpu": "1.5f",
    "gpu_to_gpu_bw": "50GBps",
    "node_local_bb": "true",
    "bb_read_bw": "2GBps",
    "bb_write_bw": "1GBps",
    "wide_striping": "true",
    "flops_per_byte": "2f",
    "pfs_targets": "s, t",
    "rack": "7",
}


def props(properties: dict[str, str]) -> str:
    """Write properties."""
    return "\n".join(f'<prop id="{name}" value="{value}"/>' for name, value in properties.items())


def test_properties_of_elastisim() -> None:
    """Fractions of GPU speeds are cut off, as there; what means nothing is kept."""
    storage = "".join(f'<host id="{name}" speed="0">{props({"pfs_host": "true"})}</host>' for name in "st")
    shared = f'<host id="bb" speed="0">{props({"burst_buffer_host": "true"})}</host>'
    batch = f'<host id="batch" speed="0">{props({"batch_system": "true"})}</host>'
    platform = read(f'<host id="a" speed="1Gf">{props(PROPERTIES)}</host>{storage}{shared}{batch}')
    node = platform.hosts[0]
    assert (node.gpus, node.gpu_speed, node.gpu_bandwidth) == (4, 1.0, 50e9)
    assert (node.disk, node.striping, node.storage_targets) == (Disk(2e9, 1e9), 2.0, ("s", "t"))
    assert node.properties == {"rack": "7"}
    assert [host.role for host in platform.hosts] == [
        "compute",
        "storage",
        "storage",
        "burst_buffer",
        "batch",
    ]


def test_options_are_kept() -> None:
    """What a file sets for SimGrid, by name."""
    text = f'{HEAD}<platform version="4.1"><config>{props({"network/model": "CM02"})}</config>'
    text += '<zone id="z" routing="Full"><host id="a" speed="1f"/></zone></platform>'
    assert bl.read_platform(io.StringIO(text)).options == {"network/model": "CM02"}


SPLIT = """
    <link id="x" bandwidth="1Bps" sharing_policy="SPLITDUPLEX"/><host id="a" speed="1f"/>
    <route src="a" dst="a"><link_ctn id="x"/></route>
"""


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('\n<hoost id="a" speed="1f"/>', r":6: <hoost> is no element of a platform. Did you mean 'host'\?"),
        (
            '<host id="a" sped="1f"/>',
            r":5: <host> has no attribute 'sped'. Did you mean 'speed'\? Known: avail",
        ),
        ('<host id="a"/>', r":5: <host> lacks the attribute speed"),
        ('<host id="a" speed="fast"/>', r":5: Host 'a': speed = 'fast'; must be a speed"),
        ('<host id="a" speed="1f" core="x"/>', r":5: core = 'x'; must be a whole number"),
        ('<host id="a" speed="1f" core="0"/>', r":5: Host 'a': cores = 0; must be a whole number from 1"),
        ('<host id="a" speed="1f" pstate="1"/>', r"pstate = '1'; must be the number of one of the 1 speeds"),
        (
            '<host id="a" speed="1f" state_file="x"/>',
            r"state_file = 'x'; profiles over time are not simulated",
        ),
        (
            '<host id="a" speed="1f"><host id="b" speed="1f"/></host>',
            r"<host> may not be in <host>; it may have prop",
        ),
        (
            '<prop id="a" value="b"><prop id="c" value="d"/></prop>',
            r"<prop> may not be in <prop>; it is empty",
        ),
        ("some text", r":5: the text 'some text' means nothing here"),
        ('<peer id="p"/>', r":5: <peer> needs coordinates, which are not simulated"),
        ('<bypassRoute src="a" dst="b"/>', r":5: <bypassRoute> is not simulated; give the route itself"),
        ('<trace id="t"/>', r":5: <trace> is about profiles over time"),
        ('<storage id="t"/>', r":5: <storage> is no longer part of SimGrid; a host has a <disk>"),
        (
            '<zone id="y" routing="Vivaldi"/>',
            r":5: routing = 'Vivaldi'; is not simulated. Known: Cluster, Dijk",
        ),
        (
            '<zone id="z" routing="Full"/>',
            r":5: zone 'z': there is already a host, router or zone called \"z\"",
        ),
        ('<link id="x" bandwidth="0"/>', r":5: Link 'x': bandwidth = '0'; must be a bandwidth"),
        (
            '<link id="x" bandwidth="1Bps" sharing_policy="WIFI"/>',
            r"sharing_policy = 'WIFI'; is not simulated",
        ),
        ('<link id="x" bandwidth="1Bps,2Bps"/>', r":5: Link 'x': bandwidth = '1Bps,2Bps'; must be"),
        (
            '<host id="a" speed="1f"/><route src="a" dst="q"><link_ctn id="x"/></route>',
            r":5: route from 'a' to 'q'",
        ),
        (
            '<host id="a" speed="1f"/><route src="a" dst="a"/>',
            r":5: <route> has no link_ctn; a route has one link",
        ),
        (
            SPLIT,
            r"link 'x' is split-duplex; say in which direction it is used",
        ),
        ('<backbone id="x" bandwidth="1Bps" latency="0"/>' * 2, r"a zone has one <backbone> at most"),
        (
            f'<host id="a" speed="1f">{props({"num_gpus": "two"})}</host>',
            r"property num_gpus = 'two'; must be a wh",
        ),
        (f'<host id="a" speed="1f">{props({"num_gpus": "2"})}</host>', r"property flops_per_gpu is missing"),
        (
            f'<host id="a" speed="1f">{props({"pfs_host": "yes"})}</host>',
            r"property pfs_host = 'yes'; must be true",
        ),
        (
            f'<host id="a" speed="1f">\n{props({"pfs_host": "true", "batch_system": "true"})}</host>',
            r":6: property pfs_host cannot be true beside batch_system; make them two hosts",
        ),
        (
            f'<host id="a" speed="1f">{props({"pfs_targets": "PFS"})}</host>',
            r":5: host 'a': storage target 'PFS' is no host",
        ),
    ],
)
def test_wrong_zones(inside: str, message: str) -> None:
    """File and line, the value, the rule and the next step."""
    with pytest.raises(PlatformError, match=message):
        read(inside)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('radical="3-1"', r":5: radical = '3-1'; each range must go upwards, over 1048576 hosts at most"),
        ('radical="0-99999999"', r":5: radical = '0-99999999'; each range must go upwards"),
        ('radical="1-2-3"', r":5: radical = '1-2-3'; must be like 0-3,7"),
        ('radical="a"', r":5: radical = 'a'; must be a whole number"),
        ('radical="0,0"', r":5: cluster 'c': there is already a host, router or zone called \"n0\""),
        ('radical="0" topology="RING"', r":5: topology = 'RING'; is not known. Known: DRAGON"),
        ('radical="0" topology="TORUS"', r"topo_parameters = ''; must be the number of hosts along each"),
        (
            'radical="0" topology="TORUS" topo_parameters="2,2"',
            r"cluster 'c': the topology is one of 4 hosts, but",
        ),
        (
            'radical="0" topology="FAT_TREE" topo_parameters="3;2;2;2"',
            r"must be levels, then as many numbers of",
        ),
        ('radical="0" topology="DRAGONFLY" topo_parameters="2;2;2;2"', r"must be groups,links;chassis,links"),
        (
            'radical="0" topology="TORUS" topo_parameters="9999999999"',
            r":5: Torus: dimensions = .* must be whole",
        ),
        ('radical="0" bb_lat="1us"', r":5: Link 'backbone': bandwidth = 0.0; must be a bandwidth"),
        ('radical="0" limiter_link="x"', r":5: limiter_link = 'x'; must be a bandwidth"),
    ],
)
def test_wrong_clusters(attributes: str, message: str) -> None:
    """The same for clusters."""
    with pytest.raises(PlatformError, match=message):
        cluster(attributes)


ROOTS = '<platform version="4.1"><zone id="a" routing="Full"/>\n<zone id="b" routing="Full"/></platform>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"is empty; a description has at least one host"),
        ("<platform", r":1: is not XML: unclosed token"),
        (
            '<platform version="3"/>',
            r":1: version = '3'; must be 4 or 4.1; simgrid_update_xml rewrites older",
        ),
        ('<platform version="5"/>', r":1: version = '5'; must be 4 or 4.1; give 4.1"),
        ("<platform/>", r":1: version = ''; must be 4 or 4.1"),
        ('<platform version="4.1"/>', r":1: <platform> is empty; it has a zone or a cluster"),
        (ROOTS, r":2: <zone> must be inside the first zone, which holds everything"),
        ("<plattform/>", r":1: the first element is <plattform>; must be <platform>"),
        ('<!DOCTYPE html SYSTEM "x"><html/>', r":1: the DOCTYPE is 'html'; must be platform"),
        (
            '<?xml version="1.0" encoding="ebcdic-klingon"?><platform/>',
            r":1: has an encoding that cannot be read",
        ),
        ("<platform version='4.1'>" + "<zone id='a' routing='Full'>" * 300, r"is nested too deeply"),
    ],
)
def test_wrong_documents(text: str, message: str) -> None:
    """What is no platform at all."""
    with pytest.raises(PlatformError, match=message):
        bl.read_platform(io.StringIO(text))


BOMB = textwrap.dedent("""\
    <?xml version="1.0"?>
    <!DOCTYPE platform [
      <!ENTITY a0 "ha">
      {entities}
    ]>
    <platform version="4.1"><zone id="&a30;" routing="Full"/></platform>
""").format(entities="\n".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 31)))


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        '<!DOCTYPE platform [<!ENTITY x SYSTEM "file:///etc/passwd">]><platform version="4.1">&x;</platform>',
        '<!DOCTYPE platform [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]><platform version="4.1"/>',
        '<!DOCTYPE platform [<!ATTLIST platform version CDATA "4.1">]><platform/>',
    ],
    ids=["billion laughs", "external entity", "parameter entity", "default attribute"],
)
def test_entities_are_refused_at_once(text: str) -> None:
    """Nothing is expanded, and nothing fetched."""
    began = time.process_time()
    with pytest.raises(PlatformError, match="the DOCTYPE declares things of its own"):
        bl.read_platform(io.StringIO(text))
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("inside", ["&nbsp;", '<zone id="a&nbsp;b" routing="Full"/>'])
def test_entities_of_the_dtd_are_unknown(inside: str) -> None:
    """The DTD that a DOCTYPE names is not read, so that nothing that it may declare is passed over."""
    with pytest.raises(PlatformError, match=r":4: is not XML: undefined entity"):
        bl.read_platform(io.StringIO(f'{HEAD}<platform version="4.1">\n{inside}</platform>'))


def test_files_are_named(tmp_path: Path) -> None:
    """In every message; the suffix decides, or else the content."""
    for name in ("platform.xml", "platform"):
        path = tmp_path / name
        path.write_text("<platform/>")
        with pytest.raises(PlatformError, match=rf"{path}:1: version = ''"):
            bl.read_platform(path)
    with pytest.raises(PlatformError, match=r"nothing.xml: cannot be read: No such file or directory. Check"):
        bl.read_platform(tmp_path / "nothing.xml")
    with pytest.raises(PlatformError, match="cannot be read"):
        bl.read_platform("a\0b")
