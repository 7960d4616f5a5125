"""The attributes of PBS's records, ``user=ann Resource_List.ncpus=4 …``: of one record, and of many."""

import re
from collections.abc import Sequence

import polars as pl

__all__ = ["attributes_in", "columns_in"]

_QUOTED = re.compile(r'(?:^|\s)([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
# A quote, or another white space than a blank: the texts that are split one by one.
_ODD = r"[^ !#-~]"
_FEWEST_ALIKE = 50


def attributes_in(text: str) -> dict[str, str]:
    """Give the attributes of a record; of one that is there twice, the last."""
    if '"' in text:
        return {key: value.strip('"') for key, value in _QUOTED.findall(text)}
    return {key: value for key, sign, value in (part.partition("=") for part in text.split()) if sign}


def columns_in(texts: pl.Series, keys: Sequence[str]) -> pl.DataFrame:
    """Give the attributes of many records in columns.

    The records that have the same keys in the same order are split together.

    Parameters
    ----------
    texts
        The attributes of each record.
    keys
        Those that are wanted.

    Returns
    -------
    polars.DataFrame
        A row for each record, in order, and for each key a column of text, as of `attributes_in`.
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
    """Split the records of one order of keys."""
    places = {key: place for place, key in enumerate(frame["order"][0].split(" "))}
    parts = pl.col("text").str.split(" ").alias("parts")
    return frame.select("row", parts).select("row", *(_value(key, places.get(key)) for key in keys))


def _value(key: str, place: int | None) -> pl.Expr:
    if place is None:
        return pl.lit(None, pl.String).alias(key)
    part = pl.col("parts").list.get(place)
    # Without the sign, it is a word that stands between the attributes.
    return pl.when(part.str.starts_with(f"{key}=")).then(part.str.slice(len(key) + 1)).alias(key)


def _one_by_one(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    found = [attributes_in(text) for text in frame["text"]]
    columns = (pl.Series(key, [each.get(key) for each in found], pl.String) for key in keys)
    return frame.select("row").with_columns(columns)
