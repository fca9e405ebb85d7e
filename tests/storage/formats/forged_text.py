"""Makes hostile files of the formats that others write: text, JSON, Parquet and Arrow's own.

    forge(seed)     the end of a file's name, and its bytes

A file is a small one that is right, or a hostile one of the grammar below, which is then damaged,
encoded or compressed in some way, or in several.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from forged_arrays import claimed, forged_nested
from pyarrow import feather

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES = [
    "a",
    "b",
    "A",
    "",
    " ",
    "a b",
    "é",
    "\x00",
    "select",
    "__row__",
    "x" * 5000,
    "1",
    '"',
    "rowid",
]
_VALUES = [
    *(
        "1",
        "-1",
        "0",
        "007",
        "+5",
        " 6 ",
        "0x1F",
        "1_000",
        "9223372036854775807",
        "9223372036854775808",
    ),
    *(
        "9" * 40,
        "9" * 5000,
        "1e1000000000",
        "1e-1000000000",
        "-1E+999999999999",
        "0." + "0" * 400 + "1",
    ),
    *("nan", "inf", "-Infinity", "1.", ".5", ".", "-", "", " ", "NULL", "true", "F", "tRuE"),
    *("2026-02-29", "0000-01-01", "9999-12-31", "-0001-01-01", "99999-01-01", "2026-13-01"),
    *("2026-01-01 24:00:00", "2026-01-01T00:00:00.123456789", "1500-01-01 00:00:00.5", "25:00:00"),
    *("23:59:59.9999999", "x", "é" * 300, "\ud83d".encode(errors="surrogatepass").decode("latin1")),
    *("\x00", "\ufeff", "\u202e", "%s{}", "x" * 70_000, "a,b", "a;b\t|", '"', '""', '"a"b', "'"),
]
_ENDS = ["\n", "\r\n", "\r", "\n\r", "\n\n", "\x00\n", "\u2028"]
_ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "latin1", "utf-8-sig", "cp037", "utf-7"]


def forge(seed: int) -> tuple[str, bytes]:
    """Return the end of a file's name and its bytes."""
    chance = random.Random(seed)
    kind, make = chance.choice(_KINDS)
    content = make(chance)
    if kind in {".parquet", ".arrow", ".feather", ".arrows"}:
        return kind, damaged(content, chance) if chance.random() < 0.8 else content
    if chance.random() < 0.4:
        content = damaged(content, chance)
    if chance.random() < 0.1:
        encoding = chance.choice(_ENCODINGS)
        content = content.decode("latin1").encode(encoding, "replace")
    if chance.random() < 0.15:
        kind, content = _packed(kind, content, chance)
    return kind, content


# -- delimited text


def _field(chance: random.Random) -> str:
    value = chance.choice(_VALUES)
    match chance.randrange(8):
        case 0:
            return '"' + value.replace('"', '""') + '"'
        case 1:
            return '"' + value
        case 2:
            return value + '"'
        case 3:
            return str(chance.randrange(1000))
        case 4:
            return f"2026-01-{chance.randrange(1, 40):02}"
        case _:
            return value


def _delimited(chance: random.Random) -> bytes:
    delimiter = chance.choice([",", ",", ",", "\t", ";", "|", "\x00"])
    end = chance.choice(_ENDS) if chance.random() < 0.3 else "\n"
    width = chance.choice([1, 2, 3, 5, 300])
    column = [chance.choice(_VALUES[:40]) for _ in range(width)]
    lines = []
    if chance.random() < 0.6:
        lines.append(delimiter.join(chance.choice(_NAMES) for _ in range(width)))
    for _ in range(chance.choice([0, 1, 5, 400] if width < 300 else [1, 3])):
        row = [v if chance.random() < 0.9 else _field(chance) for v in column]
        if chance.random() < 0.02:
            row = row[: chance.randrange(len(row) + 1)]
        lines.append(delimiter.join(row) + (delimiter if chance.random() < 0.01 else ""))
    return end.join(lines).encode("utf-8", "surrogatepass") + b"\n" * chance.randrange(2)


def _wide(chance: random.Random) -> bytes:
    width = chance.choice([2_000, 20_000, 100_001, 1_000_000])
    value = chance.choice(["1", "", "x", "9" * 20, "nan", '""', "2026-01-01"])
    head = ",".join(f"c{n}" for n in range(width)) if chance.random() < 0.5 else "," * width
    return f"{head}\n{','.join([value] * width)}\n".encode()


def _long(chance: random.Random) -> bytes:
    size = chance.choice([4 << 20, (4 << 20) + 1, 17 << 20])
    filler = chance.choice([b"x", b",", b'"', b"\0", b'""', b" ", b"[", b'{"a":', b"\\"])
    head = chance.choice([b"", b"a,b\n", b'a,b\n1,"', b'{"a": "', b'{"a": 1}\n'])
    return head + filler * (size // len(filler)) + chance.choice([b"", b"\n", b'"}\n'])


def _many(chance: random.Random) -> bytes:
    line = chance.choice([b"\n", b"1\n", b",\n", b"a,b\n", b"{}\n", b'{"a":1}\n', b"\r", b'""\n'])
    return line * chance.choice([300, 50_000, 3_000_000])


# -- JSON


def _json_value(chance: random.Random, depth: int) -> str:
    match chance.randrange(10 if depth else 7):
        case 0:
            return str(chance.randrange(-5, 1 << 70))
        case 1 | 2:
            return json.dumps(chance.choice(_VALUES), ensure_ascii=chance.random() < 0.5)
        case 3:
            return chance.choice(
                ["null", "true", "false", "1.5", "1e999999999", "-0", "NaN", "9" * 5000]
            )
        case 4:
            return chance.choice(
                ['"\\ud800"', '"\\u0000"', '"\\x"', "01", "+1", ".5", "1.", "", "tru"]
            )
        case 5:
            return json.dumps(f"2026-01-{chance.randrange(1, 33):02}")
        case 6:
            return "1"
        case 7 | 8:
            values = [_json_value(chance, depth - 1) for _ in range(chance.randrange(4))]
            return "[" + ",".join(values) + "]"
        case _:
            return _object(chance, depth - 1)


def _object(chance: random.Random, depth: int) -> str:
    keys = [chance.choice(_NAMES) for _ in range(chance.randrange(4))]
    pairs = [f"{json.dumps(key)}: {_json_value(chance, depth)}" for key in keys]
    return "{" + ", ".join(pairs) + "}"


def _json(chance: random.Random) -> bytes:
    shape = _object(chance, 3)
    lines = [
        shape if chance.random() < 0.9 else _object(chance, chance.choice([1, 3, 8]))
        for _ in range(chance.choice([1, 3, 300, 700]))
    ]
    text = chance.choice(["\n", "\n", "\n", "", " ", "\r", ",\n"]).join(lines)
    return f"[{text}]".encode() if chance.random() < 0.05 else text.encode() + b"\n"


def _json_array(chance: random.Random) -> bytes:
    """One array of objects, which something is wrong with, or which is not alone."""
    shape = _object(chance, 2)
    items = [
        shape if chance.random() < 0.95 else _json_value(chance, 3)
        for _ in range(chance.choice([0, 1, 3, 300, 5000]))
    ]
    space = chance.choice(["", " ", "\n", "\r\n", "\t" * 70_000 if len(items) < 9 else "\t"])
    text = f"[{space}{f',{space}'.join(items)}{space}]"
    match chance.randrange(16):
        case 0:
            text = text[: chance.randrange(len(text) + 1)]
        case 1:
            text += chance.choice([",", "]", text, "\n{}", "\n[]", "x", "\0"])
        case 2:
            text = text.replace(",", chance.choice([",,", ";", "", ", ]["]), 1)
        case 3:
            text = chance.choice(["\ufeff", " " * 100_000, "[", "{", '"a": ']) + text
    return text.encode("utf-8", "surrogatepass")


def _deep(chance: random.Random) -> bytes:
    depth = chance.choice([50, 99, 100, 101, 110, 1000, 20_000, 300_000])
    before, after = chance.choice(
        [
            ("[", "]"),
            ('{"a":', "}"),
            ('[["]]",', "]]"),
            ('{"a":[', "]}"),
            ("[\n", "]"),
            ('["\\\\",', "]"),
        ]
    )
    body = before * depth + "1" + after * (depth if chance.random() < 0.7 else 0)
    noise = chance.choice(["", '{"a": 1}\n', "]]]]\n" * 500, '{"a": "\n', '{"a": "\\\n'])
    return f'{noise}{{"a": {body}}}\n'.encode()


def _keys(chance: random.Random) -> bytes:
    count = chance.choice([1_000, 20_000, 120_000])
    if chance.random() < 0.3:
        return (
            "{" + ",".join(f'"k{n}": {n}' for n in range(count)) + "}\n"
        ).encode() + b"{}\n" * 3000
    escape = chance.choice(["", "\\u0041", '\\"', " "])
    return "".join(f'{{"k{n}{escape}" : {n}}}\n' for n in range(count)).encode()


# -- Parquet


def _parquet(chance: random.Random) -> bytes:
    rows = chance.choice([0, 1, 10, 3000])
    nested: pa.DataType = pa.int32()
    for _ in range(chance.choice([1, 1, 2, 40, 400])):
        nested = chance.choice([pa.list_(nested), pa.struct([("f", nested)])])
    columns = {
        "i": pa.array(range(rows), pa.int64()),
        "s": pa.array([chance.choice(_VALUES)[:50] for _ in range(rows)]),
        "d": pa.array([1] * rows, pa.decimal128(38, 10)),
        "t": pa.array(
            [chance.randrange(-(1 << 60), 1 << 60) for _ in range(rows)], pa.timestamp("us")
        ),
        "n": pa.nulls(rows, nested),
        "l": pa.array([[1.0, 2.0]] * rows, pa.list_(pa.float32())),
        "b": pa.array([b"\xff\x00"] * rows, pa.binary(2)),
    }
    chosen = chance.sample(sorted(columns), chance.randrange(1, 5))
    sink = io.BytesIO()
    pq.write_table(
        pa.table({name: columns[name] for name in chosen}),
        sink,
        compression=chance.choice(["none", "snappy", "gzip", "zstd", "brotli", "lz4"]),
        use_dictionary=chance.random() < 0.5,
        data_page_version=chance.choice(["1.0", "2.0"]),
        row_group_size=chance.choice([7, 1000, 1 << 20]),
        write_page_checksum=chance.random() < 0.3,
    )
    return sink.getvalue()


def _constant(chance: random.Random) -> bytes:
    """Few bytes, many rows."""
    rows = chance.choice([1_000_000, 30_000_000])
    kind = chance.choice([pa.int64(), pa.string(), pa.bool_(), pa.decimal128(38, 2)])
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": pa.nulls(rows, kind)}), sink, row_group_size=1 << 30)
    return sink.getvalue()


# -- Arrow IPC: files, streams and Feather files


def _arrow(chance: random.Random) -> bytes:
    rows = chance.choice([0, 1, 10, 1000])
    arrays = [forged_nested(chance, rows) for _ in range(chance.randrange(1, 3))]
    arrays.append(pa.array([chance.choice(_VALUES)[:50] for _ in range(rows)], pa.string()))
    codes = pa.array([chance.randrange(2) for _ in range(rows)], pa.int32())
    arrays.append(pa.DictionaryArray.from_arrays(codes, pa.array(["a", None])))
    arrays.append(pa.array([1.5] * rows, chance.choice([pa.float64(), pa.float16()])))
    batch = pa.RecordBatch.from_arrays(arrays, [chance.choice(_NAMES) for _ in arrays])
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=chance.choice([None, None, "lz4", "zstd"]))
    start = chance.choice([pa.ipc.new_file, pa.ipc.new_stream])
    with start(sink, batch.schema, options=options) as writer:
        for _ in range(chance.choice([0, 1, 1, 3])):
            writer.write_batch(batch)
    content = sink.getvalue()
    if start is pa.ipc.new_stream:
        fields = [each.with_type(claimed(each.type)) for each in batch.schema]
        before, after = batch.schema.serialize(), pa.schema(fields).serialize()
        content = after.to_pybytes() + content[before.size :]
    return content


def _feather(chance: random.Random) -> bytes:
    rows = chance.choice([0, 1, 3000])
    table = pa.table({"a": range(rows), "b": [chance.choice(_VALUES)[:9] for _ in range(rows)]})
    sink = io.BytesIO()
    version = chance.choice([1, 2])
    feather.write_feather(table, sink, compression="lz4" if version == 2 else None, version=version)
    return sink.getvalue()


# -- damage


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with some of them changed, cut, repeated or moved."""
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8])):
        if not data:
            break
        # What is last in a Parquet file says what the rest is.
        place = (
            chance.randrange(len(data))
            if chance.random() < 0.5
            else -chance.randrange(1, min(len(data), 700) + 1)
        )
        match chance.randrange(6):
            case 0:
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                data[place] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x0A, 0x5C])
            case 2:
                data[place:] = (
                    data[place:][: chance.randrange(1, 9)]
                    if chance.random() < 0.2
                    else data[place:]
                )
            case 3:
                data[place:place] = data[: chance.randrange(64)]
            case 4:
                del data[place : place + chance.randrange(1, 9) or None]
            case _:
                size = chance.choice([4, 8])
                value = chance.choice(
                    [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1]
                )
                data[place : place + size or None] = value.to_bytes(8, "little")[:size]
    return bytes(data)


def _packed(kind: str, content: bytes, chance: random.Random) -> tuple[str, bytes]:
    """Return a file compressed: well, cut, twice, as another format, or with far more inside."""
    zipped = gzip.compress(content, 1)
    match chance.randrange(8):
        case 0:
            return kind + ".gz", zipped
        case 1:
            return kind + ".gz", zipped[: chance.randrange(len(zipped))]
        case 2:
            return kind + ".gz", zipped + zipped
        case 3:
            return kind + ".gz", damaged(zipped, chance)
        case 4:
            return kind + ".zst", bytes(pa.compress(content, "zstd", asbytes=True))
        case 5:
            return kind + ".zst", damaged(pa.compress(content, "zstd", asbytes=True), chance)
        case 6:
            return kind + chance.choice([".gz", ".zst", ".bz2", ".zip"]), content
        case _:
            return kind + ".gz", _bomb(content[:100] + b"\n" or b"x\n")


def _bomb(line: bytes) -> bytes:
    """Return a gzip of 1 GB of a line."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    piece = line * max((1 << 24) // len(line), 1)
    first = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * 63


_KINDS: list[tuple[str, Callable[[random.Random], bytes]]] = [
    *[(".csv", _delimited)] * 12,
    *[(".tbl", _delimited)] * 2,
    *[(".tsv", _delimited)] * 1,
    *[(".json", _json)] * 10,
    *[(".json", _deep)] * 3,
    *[(".parquet", _parquet)] * 12,
    *[(".json", _json_array)] * 6,
    *[(kind, _arrow) for kind in (".arrow", ".feather", ".arrows")] * 3,
    *[(".feather", _feather)] * 2,
    (".json", _keys),
    (".csv", _wide),
    *((kind, make) for kind in (".csv", ".json") for make in (_long, _many)),
    (".parquet", _constant),
    (".json", _delimited),
    (".csv", _json),
]
