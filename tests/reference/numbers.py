"""The arithmetic on which both kernels must agree to the last bit."""

import math


def mix(a: int, b: int) -> int:
    """Give SplitMix64's finaliser over a + (b + 1)·0x9E3779B97F4A7C15, modulo 2^64."""
    z = (a + (b + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def log10(x: float) -> float:
    return math.log10(x)


def log2(x: float) -> float:
    return math.log2(x) if x > 0 else -math.inf


def divide(a: float, b: float) -> float:
    """Divide as IEEE 754 does, where Python would raise: 0/0 is not a number, else x/0 an infinity."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def clean(key: float) -> float:
    """Count a key that is not a number, and -0, as 0."""
    return 0.0 if math.isnan(key) or key == 0 else key
