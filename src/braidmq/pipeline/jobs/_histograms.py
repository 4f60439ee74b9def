"""Histograms of `braidmq.model.histogram` as columns: added up, and asked for shares, by Spark's own functions."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from braidmq.model.histogram import EXACT_MAX

HISTOGRAM: Final = "map<int, bigint>"
SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_PARTS_BITS: Final = 6


def middle(index: Column) -> Column:
    """The middle of a bucket, as `bucket(index).middle` has it."""
    shift = f.shiftright(index, _PARTS_BITS) - 1
    width = f.pow(f.lit(2.0), shift)
    first = (index - shift * (1 << _PARTS_BITS)) * width
    return f.when(index <= EXACT_MAX, index.cast("double")).otherwise(first + (width - 1) / 2)


def total(histogram: Column) -> Column:
    """How often anything was counted."""
    return f.aggregate(f.map_values(histogram), f.lit(0).cast("bigint"), lambda seen, count: seen + count)


def quantile(histogram: Column, share: float) -> Column:
    """The value below which about this share lies; null where nothing was counted."""
    entries = f.array_sort(f.map_entries(histogram))
    wanted = total(histogram) * f.lit(share)
    begin = f.struct(f.lit(0).cast("bigint").alias("seen"), f.lit(None).cast("int").alias("found"))

    def step(so_far: Column, entry: Column) -> Column:
        seen = so_far["seen"] + entry["value"]
        is_it = so_far["found"].isNull() & (seen >= wanted) & (entry["value"] > 0)
        found = f.when(is_it, entry["key"]).otherwise(so_far["found"])
        return f.struct(seen.alias("seen"), found.alias("found"))

    return middle(f.aggregate(entries, begin, step)["found"])


def above(histogram: Column, value: int) -> Column:
    """How many were above the value, by the middles of their buckets."""
    high = f.map_filter(histogram, lambda index, _: middle(index) > value)
    return total(high)


def with_shares(frame: DataFrame, histogram: str) -> DataFrame:
    """The usual percentiles as columns of their own."""
    for name, share in SHARES.items():
        frame = frame.withColumn(f"{name}_ms", quantile(f.col(histogram), share))
    return frame


def merged(frame: DataFrame, keys: list[str], histogram: str) -> DataFrame:
    """The histograms of all rows with the same keys as one; keys without any are not among them. Keys may be null."""
    entries = frame.select(*keys, f.explode(histogram).alias("_bucket", "_count"))
    counts = entries.groupBy(*keys, "_bucket").agg(f.sum("_count").alias("_count"))
    pairs = f.collect_list(f.struct("_bucket", "_count"))
    return counts.groupBy(*keys).agg(f.map_from_entries(f.array_sort(pairs)).cast(HISTOGRAM).alias(histogram))
