"""Peak memory."""

from batchlab.cli.process import peak_memory


def test_the_peak_only_rises() -> None:
    """What has been held once stays in it, even after it was given back."""
    before = peak_memory()
    held = bytearray(b"x") * 200_000_000
    during = peak_memory()
    del held
    after = peak_memory()
    if before is None or during is None or after is None:
        return
    assert 5_000_000 < before < 20_000_000_000
    assert during >= 200_000_000
    # The kernel counts pages in batches.
    assert after >= 0.99 * during
