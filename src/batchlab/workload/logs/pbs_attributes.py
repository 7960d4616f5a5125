"""Parse the attributes of PBS records, ``user=ann Resource_List.ncpus=4 …``, of one or many records."""

import re
from collections.abc import Sequence

import polars as pl

__all__ = ["attributes_in", "columns_in"]

_QUOTED = re.compile(r'(?:^|\s)([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
# A quote, or white space other than a blank: such texts are parsed one by one.
_ODD = r"[^ !#-~]"
_FEWEST_ALIKE = 50


def attributes_in(text: str) -> dict[str, str]:
    """Return the attributes of a record; of duplicates, the last."""
    if '"' in text:
        return {key: value.strip('"') for key, value in _QUOTED.findall(text)}
    return {key: value for key, sign, value in (part.partition("=") for part in text.split()) if sign}


def columns_in(texts: pl.Series, keys: Sequence[str]) -> pl.DataFrame:
    """Parse the attributes of many records into columns.

    Records with the same keys in the same order are split together.

    Parameters
    ----------
    texts
        The attributes of each record.
    keys
        The attributes to return.

    Returns
    -------
    polars.DataFrame
        One row per record, in order, with a text column per key, as from `attributes_in`.
    """
    plain = ~texts.str.contains(_ODD)
    order = pl.when(plain).then(pl.col("text").str.replace_all("=[^ ]*", "")).alias("order")
    frame = pl.DataFrame({"text": texts, "row": pl.int_range(len(texts), eager=True)}).with_columns(order)
    parts = [
        _alike(part, keys)
        if part["order"][0] is not None and part.height >= _FEWEST_ALIKE
        else _one_by_one(part, keys)
        for part in frame.partition_by("order", maintain_order=True)
    ]
    return pl.concat([_one_by_one(frame.clear(), keys), *parts]).sort("row").drop("row")


def _alike(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Split records that have the same keys in the same order."""
    places = {key: place for place, key in enumerate(frame["order"][0].split(" "))}
    parts = pl.col("text").str.split(" ").alias("parts")
    return frame.select("row", parts).select("row", *(_value(key, places.get(key)) for key in keys))


def _value(key: str, place: int | None) -> pl.Expr:
    if place is None:
        return pl.lit(None, pl.String).alias(key)
    part = pl.col("parts").list.get(place)
    # Without the equals sign, the part is a word between attributes.
    return pl.when(part.str.starts_with(f"{key}=")).then(part.str.slice(len(key) + 1)).alias(key)


def _one_by_one(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    found = [attributes_in(text) for text in frame["text"]]
    columns = (pl.Series(key, [each.get(key) for each in found], pl.String) for key in keys)
    return frame.select("row").with_columns(columns)
