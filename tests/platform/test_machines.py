"""Ready platforms: sizes, and where the numbers are from."""

import pytest

import batchlab as bl
from batchlab.platform.presets import MACHINES

SIZES = {
    "cielo": (9216, 147_456),
    "titan": (19_200, 307_200),
    "intrepid": (40_960, 163_840),
    "mira": (49_152, 786_432),
    "sdsc-sp2": (128, 128),
    "frontier-like": (9408, 602_112),
    "summit-like": (4608, 193_536),
}


@pytest.mark.parametrize("name", MACHINES)
def test_sizes(name: str) -> None:
    """Nodes and cores are those of the description; a route leads from the first node to the last."""
    platform = bl.Platform.machine(name)
    system = bl.System.of(platform)
    assert (system.nodes, system.total["core"]) == SIZES[name]
    assert MACHINES[name].source
    assert platform.route(platform.nodes[0].name, platform.nodes[-1].name).links


def test_cielo_has_double_cables() -> None:
    """In x and z, and a link for each node."""
    cielo = bl.Platform.machine("cielo")
    assert cielo.link("cielo_link_from_0_to_1_UP").bandwidth == 9.36e9
    assert cielo.link("cielo_link_from_0_to_16_UP").bandwidth == 4.68e9
    assert cielo.route("node0", "node1").links == ("cielo_link_0_UP", "cielo_link_1_DOWN")


def test_unknown_names_are_answered() -> None:
    with pytest.raises(bl.PlatformError, match=r"no machine named 'ceilo'\. Did you mean 'cielo'"):
        bl.Platform.machine("ceilo")
