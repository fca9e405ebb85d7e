"""FlatStor beside Parquet, Arrow IPC, raw files, Lance and Vortex: points, takes, scans, sizes.

    python tests/bench/bench_flatstor.py [--rows 100000] [--images 10000] [--seed 7]
                                         [--directory DIR] [--json results.json]

Three workloads: captions with an id, images of 4 to 200 KB, a table of 1,000 columns. Every answer
is checked before the clock starts; times are medians of one run, files are in the page cache.
pylance and vortex-data take part where they are installed, and are named where they are not.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import shutil
import statistics
import struct
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from bench_fsst import make_captions
from flatstor_filters import measure_cities, measure_filters

from raydb.storage.flat import open_table, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REPEATS = 15
POINT_READS = 1000

# The targets: µs, MiB, parts of a rival's time or of the raw bytes.
TARGETS = {
    "point_us": 1.5,
    "take_1_text_us": 12.0,
    "take_100_texts_us": 35.0,
    "open_us": 100.0,
    "file_mib": 1.46,
    "cold_read_kb": 32.0,
    "write_ms": 100.0,
    "scan_to_rivals": 1.0,
    "point_to_rivals": 0.1,
    "image_point_to_pread": 1.2,
    "image_overhead": 0.01,
    "wide_write_to_parquet": 1.0,
    "filter_to_rivals": 0.5,
}


def median_us(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the median time of some runs in microseconds, after one that warms up."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return 1e6 * statistics.median(seconds)


def median_each_us(run: Callable[[int], object], rows: Sequence[int]) -> float:
    """Return the median over single calls, each with another row, after one pass to warm up."""
    for row in rows:
        run(row)
    seconds = []
    for row in rows:
        start = time.perf_counter()
        run(row)
        seconds.append(time.perf_counter() - start)
    return 1e6 * statistics.median(seconds)


# Captions


def write_times(write: Callable[[], object]) -> dict[str, float]:
    """Return what the first write of a process takes, with what it loads, and the later ones."""
    start = time.perf_counter()
    write()
    first = 1e3 * (time.perf_counter() - start)
    return {"first_write_ms": first, "write_ms": median_us(write, 5) / 1e3}


def measure_flat(path: Path, table: pa.Table, rows: list[int], some: Any) -> dict[str, Any]:
    written = write_times(lambda: write_table(table, path))
    flat = open_table(path)
    captions = table.column("caption")
    assert [flat.item(row, "caption") for row in rows] == captions.take(rows).to_pylist()
    assert flat.take(some).equals(table.take(some))
    assert flat.scan().equals(table)
    column = flat.metadata.columns[1]
    chunk = max(chunk.size_bytes for chunk in column.chunks)

    return {
        "name": "FlatStor",
        "mib": path.stat().st_size / 2**20,
        **written,
        "open_us": median_us(lambda: open_table(path), 200),
        "point_us": median_each_us(lambda row: flat.item(row, "caption"), rows),
        "take_100_us": median_us(lambda: flat.take(some), 200),
        "take_1_text_us": median_each_us(lambda row: flat.take([row], ["caption"]), rows),
        "take_100_texts_us": median_us(lambda: flat.take(some, ["caption"]), 200),
        "scan_ms": median_us(flat.scan) / 1e3,
        "open_scan_ms": median_us(lambda: open_table(path).scan()) / 1e3,
        # Three reads: the header, the metadata at the end, the chunk.
        "cold_read_kb": (64 + flat.metadata.metadata_bytes + chunk) / 1e3,
    }


def measure_parquet(path: Path, table: pa.Table, rows: list[int], some: Any) -> dict[str, Any]:
    written = write_times(lambda: pq.write_table(table, path, compression="none"))
    file = pq.ParquetFile(path)
    assert file.read().equals(table)

    def read_point(row: int) -> object:
        return pq.read_table(path, columns=["caption"]).column(0)[row].as_py()

    assert read_point(rows[0]) == table.column("caption")[rows[0]].as_py()
    return {
        "name": "Parquet, uncompressed",
        "mib": path.stat().st_size / 2**20,
        **written,
        "open_us": median_us(lambda: pq.ParquetFile(path), 50),
        "point_us": median_each_us(read_point, rows[:20]),
        "take_100_us": median_us(lambda: pq.read_table(path).take(some)),
        "scan_ms": median_us(file.read) / 1e3,
        "open_scan_ms": median_us(lambda: pq.read_table(path)) / 1e3,
    }


def measure_ipc(path: Path, table: pa.Table, rows: list[int], some: Any) -> dict[str, Any]:
    def write() -> None:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1000)

    written = write_times(write)
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    assert reader.read_all().equals(table)

    def read_point(row: int) -> object:
        return reader.get_batch(row // 1000).column(1)[row % 1000].as_py()

    assert read_point(rows[0]) == table.column("caption")[rows[0]].as_py()
    return {
        "name": "Arrow IPC, 1,000 rows a batch",
        "mib": path.stat().st_size / 2**20,
        **written,
        "open_us": median_us(lambda: pa.ipc.open_file(pa.memory_map(str(path))), 50),
        "point_us": median_each_us(read_point, rows),
        "take_100_us": median_us(lambda: reader.read_all().take(some)),
        "scan_ms": median_us(reader.read_all) / 1e3,
        "open_scan_ms": median_us(lambda: pa.ipc.open_file(pa.memory_map(str(path))).read_all())
        / 1e3,
    }


def measure_lance(path: Path, table: pa.Table, rows: list[int], some: Any) -> dict[str, Any]:
    try:
        lance = importlib.import_module("lance")
    except ImportError:
        return {"name": "pylance (not installed)"}

    def write() -> Any:
        shutil.rmtree(path, ignore_errors=True)  # else it keeps the version before
        return lance.write_dataset(table, str(path))

    written = write_times(write)
    dataset = write()

    def read_point(row: int) -> object:
        return dataset.take([row], columns=["caption"]).column(0)[0].as_py()

    assert read_point(rows[0]) == table.column("caption")[rows[0]].as_py()
    wanted = some.tolist()
    assert dataset.take(wanted).equals(table.take(some))
    return {
        "name": f"Lance (pylance {importlib.metadata.version('pylance')})",
        "mib": sum(file.stat().st_size for file in path.rglob("*.lance")) / 2**20,
        **written,
        "open_us": median_us(lambda: lance.dataset(str(path)), 50),
        "point_us": median_each_us(read_point, rows[:200]),
        "take_100_us": median_us(lambda: dataset.take(wanted), 50),
        "scan_ms": median_us(dataset.to_table) / 1e3,
        "open_scan_ms": median_us(lambda: lance.dataset(str(path)).to_table()) / 1e3,
    }


def measure_vortex(path: Path, table: pa.Table, rows: list[int], some: Any) -> dict[str, Any]:
    try:
        vortex = importlib.import_module("vortex")
    except ImportError:
        return {"name": "vortex-data (not installed)"}
    written = write_times(lambda: vortex.io.write(vortex.array(table), str(path)))
    file = vortex.open(str(path))

    def take(indices: list[int], columns: list[str] | None = None) -> pa.Table:
        return file.scan(columns, indices=vortex.array(indices)).read_all().to_arrow_table()

    def read_point(row: int) -> object:
        return take([row], ["caption"]).column("caption")[0].as_py()

    assert read_point(rows[0]) == table.column("caption")[rows[0]].as_py()
    wanted = sorted(some.tolist())
    assert take(wanted).column("id").to_pylist() == wanted
    return {
        "name": f"Vortex (vortex-data {importlib.metadata.version('vortex-data')})",
        "mib": path.stat().st_size / 2**20,
        **written,
        "open_us": median_us(lambda: vortex.open(str(path)), 50),
        "point_us": median_each_us(read_point, rows[:200]),
        "take_100_us": median_us(lambda: take(wanted), 50),
        "scan_ms": median_us(lambda: file.scan().read_all().to_arrow_table()) / 1e3,
        "open_scan_ms": median_us(lambda: vortex.open(str(path)).scan().read_all().to_arrow_table())
        / 1e3,
    }


def measure_captions(folder: Path, row_count: int, seed: int) -> list[dict[str, Any]]:
    texts = [caption.decode() for caption in make_captions(row_count, seed)]
    table = pa.table({"id": np.arange(row_count), "caption": texts})
    random = np.random.default_rng(seed)
    rows = random.integers(0, row_count, POINT_READS).tolist()
    some = np.sort(random.choice(row_count, 100, replace=False))
    return [
        measure_flat(folder / "captions.flat", table, rows, some),
        measure_parquet(folder / "captions.parquet", table, rows, some),
        measure_ipc(folder / "captions.arrow", table, rows, some),
        measure_lance(folder / "captions.lance", table, rows, some),
        measure_vortex(folder / "captions.vortex", table, rows, some),
    ]


# Images


def make_image(size: int, random: np.random.Generator) -> bytes:
    """Return a PNG or a JPEG of about `size` bytes: true headers around bytes of noise."""
    noise = random.bytes(size)
    if random.random() < 0.5:
        return b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0" + noise + b"\xff\xd9"
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", size, 1, 8, 0, 0, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(b"\0" + noise, 0)), (b"IEND", b"")]
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def measure_images(folder: Path, image_count: int, seed: int) -> dict[str, Any]:
    """Compare point reads of images with `pread` of one file that holds the bytes alone."""
    random = np.random.default_rng(seed)
    sizes = np.exp(random.uniform(np.log(4_000), np.log(200_000), image_count)).astype(int)
    images = [make_image(int(size), random) for size in sizes]
    raw_bytes = sum(map(len, images))
    path, raw = folder / "images.flat", folder / "images.raw"
    raw.write_bytes(b"".join(images))
    offsets = np.cumsum([0, *map(len, images)]).tolist()
    table = pa.table({"id": np.arange(image_count), "image": pa.array(images, pa.large_binary())})
    write_table(table, path)
    rows = random.integers(0, image_count, min(POINT_READS, image_count)).tolist()
    flat = open_table(path)
    descriptor = os.open(raw, os.O_RDONLY)

    def read_raw(row: int) -> bytes:
        return os.pread(descriptor, offsets[row + 1] - offsets[row], offsets[row])

    assert all(flat.item(row, "image") == images[row] == read_raw(row) for row in rows)
    result = {
        "images": image_count,
        "raw_mib": raw_bytes / 2**20,
        "overhead": path.stat().st_size / raw_bytes - 1,
        "point_us": median_each_us(lambda row: flat.item(row, "image"), rows),
        "pread_us": median_each_us(read_raw, rows),
    }
    os.close(descriptor)
    return result


# Many columns


def measure_wide(folder: Path, seed: int, column_count: int = 1000) -> dict[str, Any]:
    """Write 1,000 columns of 1,000 integers, floats and texts; both writers sync to disk."""
    random = np.random.default_rng(seed)
    texts = [caption.decode() for caption in make_captions(1000, seed)]
    columns = {}
    for number in range(column_count):
        match number % 4:
            case 0 | 1:
                columns[f"c{number}"] = pa.array(random.integers(0, 10**6, 1000))
            case 2:
                columns[f"c{number}"] = pa.array(random.random(1000))
            case _:
                columns[f"c{number}"] = pa.array(texts).take(pa.array(random.permutation(1000)))
    table = pa.table(columns)
    flat, parquet = folder / "wide.flat", folder / "wide.parquet"

    def write_parquet() -> None:
        with parquet.open("wb") as sink:
            pq.write_table(table, sink)
            sink.flush()
            os.fsync(sink.fileno())

    write_table(table, flat)
    write_parquet()
    assert open_table(flat).scan().equals(table)
    assert pq.read_table(parquet).equals(table)
    return {
        "columns": column_count,
        "flat_ms": median_us(lambda: write_table(table, flat)) / 1e3,
        "parquet_ms": median_us(write_parquet) / 1e3,
        "flat_mib": flat.stat().st_size / 2**20,
        "parquet_mib": parquet.stat().st_size / 2**20,
    }


# The report


def judge(
    captions: list[dict[str, Any]],
    images: dict[str, Any],
    wide: dict[str, Any],
    filters: list[dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Return for each target that this run can judge what was measured and whether it is met."""
    flat = captions[0]
    measured = {
        "point_us": flat["point_us"],
        "take_1_text_us": flat["take_1_text_us"],
        "take_100_texts_us": flat["take_100_texts_us"],
        "open_us": flat["open_us"],
        "file_mib": flat["mib"],
        "cold_read_kb": flat["cold_read_kb"],
        "write_ms": flat["write_ms"],
        "image_point_to_pread": images["point_us"] / images["pread_us"],
        "image_overhead": images["overhead"],
        "wide_write_to_parquet": wide["flat_ms"] / wide["parquet_ms"],
    }
    parts = [value for each in filters for name, value in each.items() if name.endswith("_part")]
    measured["filter_to_rivals"] = max(parts)
    rivals = [result for result in captions[3:] if "point_us" in result]
    if rivals:
        for what, key in (("point", "point_us"), ("scan", "scan_ms")):
            least = min(rival[key] for rival in rivals)
            measured[f"{what}_to_rivals"] = flat[key] / least
    return {
        name: {"measured": value, "target": TARGETS[name], "met": value <= TARGETS[name]}
        for name, value in measured.items()
    }


def print_report(
    captions: list[dict[str, Any]],
    images: dict[str, Any],
    wide: dict[str, Any],
    filters: list[dict[str, Any]],
) -> None:
    columns = (
        "mib",
        "first_write_ms",
        "write_ms",
        "open_us",
        "point_us",
        "take_100_us",
        "scan_ms",
        "open_scan_ms",
    )
    print(f"{'captions':36}" + "".join(f"{column:>15}" for column in columns))
    for result in captions:
        cells = [f"{result[column]:.2f}" if column in result else "-" for column in columns]
        print(f"{result['name']:36}" + "".join(f"{cell:>15}" for cell in cells))
    for name, result in (("images", images), ("wide", wide)):
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in result.items()))
    for each in filters:
        told = [f"{key} {value:.3g}" for key, value in each.items() if key != "filter"]
        print(f"{each['filter']}: " + ", ".join(told))
    for name, verdict in judge(captions, images, wide, filters).items():
        sign = "met" if verdict["met"] else "MISSED"
        print(f"{name:24}{verdict['measured']:>12.4g} of {verdict['target']:<8g} {sign}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure FlatStor beside its rivals.")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--directory", type=Path, help="where the files are written")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        captions = measure_captions(Path(name), options.rows, options.seed)
        wide = measure_wide(Path(name), options.seed)
        images = measure_images(Path(name), options.images, options.seed)
        filters = measure_filters(Path(name), 10 * options.rows, options.seed)
        cities = measure_cities(Path(name))
    print_report(captions, images, wide, filters)
    print("scan of texts in a dictionary: " + ", ".join(f"{k} {v:.3g}" for k, v in cities.items()))
    report = {
        "rows": options.rows,
        "seed": options.seed,
        "captions": captions,
        "images": images,
        "wide": wide,
        "filters": filters,
        "cities": cities,
        "targets": judge(captions, images, wide, filters),
    }
    text = json.dumps(report, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
