"""FSST on captions: ratio, training, compression, decompression, beside LZ4, Zstandard and Vortex.

    python tests/bench/bench_fsst.py [--rows 100000] [--seed 7] [--json results.json]

Every answer is checked before the clock starts; times are medians, all of one run on one core. LZ4
and Zstandard compress all captions as one block, so that no caption can be read alone: they are
yardsticks for the machine. vortex-data takes part where it is installed; its newer versions choose
another encoding than FSST, which the table then names.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import re
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs import fsst

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 9

# The targets of the storage layer: decode and compress in MB/s, training in ms, and the part of
# Vortex's FSST ratio to reach.
TARGETS = {"decode_mb_s": 1500, "compress_mb_s": 75, "train_ms": 20, "ratio_to_vortex": 0.97}

# The words of captions, the frequent ones first; `_` is a space.
WORDS = """\
determiners: a the one another some

adjectives: young small large brown black white red blue green yellow wooden crowded snowy sunny
grassy rocky dirty bright dark colorful striped fluffy tall happy tired wet rusty vintage narrow
quiet busy plastic metal leather purple pink golden silver broken shiny muddy foggy heavy little
long short round square

subjects: man woman boy girl child dog cat horse elephant giraffe zebra bear bird cow sheep surfer
skier cyclist skateboarder snowboarder chef waiter fisherman musician firefighter teacher
photographer couple family crowd bus train truck motorcycle sailboat bicycle toddler player
pitcher umpire goalkeeper tourist farmer soldier dancer painter nurse doctor mechanic carpenter
gardener judge pilot sailor rabbit duck penguin monkey tiger lion kitten puppy pigeon seagull
parrot tractor scooter van taxi helicopter

verbs: riding holding watching carrying throwing catching pushing pulling painting repairing
washing following approaching passing crossing chasing cutting selling feeding kicking dragging
lifting moving standing_beside sitting_on lying_on walking_past running_toward jumping_over
looking_at reaching_for posing_with playing_with waiting_for sleeping_under leaning_against
hiding_behind talking_about climbing stepping_over swimming_around pointing_at working_on
bending_over balancing_on drawing cleaning

objects: surfboard skateboard frisbee kite sandwich pizza cake banana laptop telephone suitcase
bench chair table couch bed clock mirror vase bottle glass plate bowl fence tree car boat ball
racket bat glove backpack camera book newspaper sign hydrant lamp basket blanket bridge bucket
candle carrot cart cup donut door fountain fork guitar hammer helmet kettle keyboard knife ladder
luggage microwave mug necktie paddle piano pillow pumpkin refrigerator ribbon rope rug sculpture
shelf shovel sink skis snowboard spoon statue stove teapot teddy_bear television toaster
toothbrush towel tray tripod trophy vegetable wagon wheel window

prepositions: near in on at by behind beside below across_from next_to in_front_of not_far_from

places: beach park street kitchen field river lake mountain forest garden station market
restaurant bathroom bedroom sidewalk parking_lot tennis_court baseball_field living_room
train_platform ski_slope swimming_pool dirt_road city_square harbor bridge zoo barn bakery balcony
bus_stop cafe castle church classroom construction_site crosswalk desert driveway fairground
fire_station gas_station grocery_store hallway highway hillside hotel_lobby intersection library
lighthouse meadow museum pier playground railway_crossing runway school stadium staircase
subway_car theater tunnel village waterfall workshop

endings: . . . . . . _at_night. _in_the_morning. _while_people_watch. ,_seen_from_above.
_in_winter. _on_a_cloudy_day. _in_black_and_white. _after_the_rain. _under_a_clear_sky.
_before_sunset."""


def make_captions(row_count: int, seed: int) -> list[bytes]:
    """Return captions of images, 64 bytes on average: words of a grammar, each list by Zipf's law.

    >>> make_captions(2, seed=7)
    [b'a brown dog holding a red frisbee near the beach.', ...]
    """
    rng = np.random.default_rng(seed)
    lists = {}
    for paragraph in WORDS.split("\n\n"):
        name, _, words = paragraph.partition(":")
        lists[name] = np.array([word.replace("_", " ") for word in words.split()], object)

    def draw(name: str) -> np.ndarray[Any, Any]:
        weights = 1.0 / np.arange(3, len(lists[name]) + 3)
        return lists[name][rng.choice(len(weights), row_count, p=weights / weights.sum())]

    def draw_adjective() -> np.ndarray[Any, Any]:
        return np.where(rng.random(row_count) < 0.75, draw("adjectives") + " ", "")

    captions = draw("determiners") + " " + draw_adjective() + draw("subjects")
    captions = captions + " " + draw("verbs") + " " + draw("determiners") + " "
    captions = captions + draw_adjective() + draw("objects") + " " + draw("prepositions")
    captions = captions + " the " + draw("places") + draw("endings")
    return [caption.encode() for caption in captions]


def median_seconds(run: Callable[[], object]) -> float:
    """Return the median time of some runs, after one that warms up."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure_fsst(captions: list[bytes]) -> dict[str, Any]:
    """Measure our FSST: many captions with numba, and one at a time without."""
    data = np.frombuffer(b"".join(captions), np.uint8)
    offsets = np.cumsum([0, *map(len, captions)], dtype=np.int64)
    table = fsst.train(data, offsets)
    codes, code_offsets = fsst.compress(table, data, offsets)
    read, read_offsets = fsst.decompress(table, codes, code_offsets)
    assert np.array_equal(read, data)
    assert np.array_equal(read_offsets, offsets)
    bounds = code_offsets.tolist()
    items = [codes[bounds[i] : bounds[i + 1]].tobytes() for i in range(min(1000, len(captions)))]
    assert [fsst.decompress_one(table, item) for item in items] == captions[: len(items)]
    chosen = np.random.default_rng(0).integers(0, len(captions), 100)
    starts, ends = code_offsets[chosen], code_offsets[chosen + 1]
    taken, _ = fsst.decompress_items(table, codes, starts, ends)
    assert taken.tobytes() == b"".join([captions[i] for i in chosen])

    def read_items() -> None:
        for item in items:
            fsst.decompress_one(table, item)

    return {
        "name": f"raydb FSST, {len(table.symbols)} symbols",
        "ratio": len(data) / len(codes),
        "train_ms": 1e3 * median_seconds(lambda: fsst.train(data, offsets)),
        "compress_mb_s": rate(data, lambda: fsst.compress(table, data, offsets)),
        "decode_mb_s": rate(data, lambda: fsst.decompress(table, codes, code_offsets)),
        "one_us": 1e6 * median_seconds(read_items) / len(items),
        "take_100_us": 1e6
        * median_seconds(lambda: fsst.decompress_items(table, codes, starts, ends)),
    }


def measure_block(codec: str, captions: list[bytes]) -> dict[str, Any]:
    """Measure a codec of pyarrow on all captions as one block."""
    data = b"".join(captions)
    block = pa.compress(data, codec=codec, asbytes=True)
    assert pa.decompress(block, len(data), codec=codec, asbytes=True) == data
    return {
        "name": f"pyarrow {codec}, one block",
        "ratio": len(data) / len(block),
        "compress_mb_s": rate(data, lambda: pa.compress(data, codec=codec)),
        "decode_mb_s": rate(data, lambda: pa.decompress(block, len(data), codec=codec)),
    }


def measure_vortex(captions: list[bytes]) -> dict[str, Any]:
    """Measure vortex-data; its compressor also chooses the encoding, which takes time.

    The ratio is that of the bytes of codes, as ours, where it chooses FSST.
    """
    try:
        vortex = importlib.import_module("vortex")
    except ImportError:
        return {"name": "vortex-data (not installed)"}
    text = pa.array([caption.decode() for caption in captions])
    array = vortex.array(text)
    compressed = vortex.compress(array)
    assert compressed.to_arrow_array().to_pylist() == text.to_pylist()
    tree = compressed.display_tree()
    encoding = re.match(r"root: ([\w.]+)", tree)
    result = {
        "name": f"vortex-data {importlib.metadata.version('vortex-data')}, "
        f"{encoding[1] if encoding else 'unknown encoding'}",
        "compress_mb_s": rate(b"".join(captions), lambda: vortex.compress(array)),
        "decode_mb_s": rate(b"".join(captions), compressed.to_arrow_array),
    }
    code_bytes = re.search(r"codes_offsets.*?max=(\d+)u", tree, re.DOTALL)
    if encoding and encoding[1] == "vortex.fsst" and code_bytes:
        result["ratio"] = sum(map(len, captions)) / int(code_bytes[1])
    return result


def rate(data: bytes | np.ndarray[Any, Any], run: Callable[[], object]) -> float:
    """Return the MB/s at which `run` gets through the data."""
    return len(data) / 1e6 / median_seconds(run)


def judge(ours: dict[str, Any], vortex: dict[str, Any]) -> dict[str, bool]:
    """Return for each target that this run can judge whether it is met."""
    met = {
        "decode_mb_s": ours["decode_mb_s"] >= TARGETS["decode_mb_s"],
        "compress_mb_s": ours["compress_mb_s"] >= TARGETS["compress_mb_s"],
        "train_ms": ours["train_ms"] <= TARGETS["train_ms"],
    }
    if "ratio" in vortex:
        met["ratio_to_vortex"] = ours["ratio"] / vortex["ratio"] >= TARGETS["ratio_to_vortex"]
    return met


def print_table(results: list[dict[str, Any]]) -> None:
    columns = ("ratio", "train_ms", "compress_mb_s", "decode_mb_s", "one_us", "take_100_us")
    print(f"{'':34}" + "".join(f"{column:>15}" for column in columns))
    for result in results:
        cells = [f"{result[column]:.2f}" if column in result else "-" for column in columns]
        print(f"{result['name']:34}" + "".join(f"{cell:>15}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure FSST on captions beside its rivals.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args()
    captions = make_captions(options.rows, options.seed)
    size_bytes = sum(map(len, captions))
    print(
        f"{options.rows} captions, seed {options.seed}, {size_bytes / len(captions):.1f} bytes each"
    )
    ours = measure_fsst(captions)
    vortex = measure_vortex(captions)
    results = [ours, vortex, measure_block("lz4", captions), measure_block("zstd", captions)]
    print_table(results)
    report = json.dumps(
        {
            "rows": options.rows,
            "seed": options.seed,
            "size_bytes": size_bytes,
            "results": results,
            "targets": TARGETS,
            "met": judge(ours, vortex),
        },
        indent=2,
    )
    print(report)
    if options.json:
        options.json.write_text(report + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
