"""Hostile FlatStor files by a small grammar: every checksum is right, what it covers is not.

forge(seed)     the bytes of a file; equal seeds, equal files

file     = (written | claimed | nested), 0 to 4 changes
written  a small table of some types, by the writer
nested   lists, structs and maps whose offsets, bits and keys are of chance
claimed  columns that agree with each other on many more rows than their bytes have room for:
         one value for 2^24 rows, three runs, one long entry, elements without bytes
change   a number of the table, a column or a chunk becomes one at a boundary;
         bytes of a section, of an index or of metadata are replaced;
         a column gets another type, name or chunk, or loses one
"""

from __future__ import annotations

import copy
import struct
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from flat_model import (
    ENTRY_NAMES,
    HEADER_NAMES,
    SECTIONS,
    Chunk,
    Column,
    Model,
    parse,
    plain_chunk,
    plain_column,
)
from forged_arrays import claimed, forged_nested

from raydb.storage.flat import write_table
from raydb.storage.flat.kinds import kind_of
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

_POWERS = (3, 7, 8, 15, 16, 24, 31, 32, 40, 47, 63, 64)
NUMBERS = sorted({0, 1, 2, 3, 5} | {2**power + by for power in _POWERS for by in (-1, 0, 1)})
_NAN = struct.unpack("<Q", struct.pack("<d", float("nan")))[0]
_FEW = 24
_OUTSIDE = {"a.bin": 40, "inner/b.bin": 200, "inner/empty.bin": 0}

_TYPES = [
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time64("us"), pa.time64("ns"), pa.duration("us")),
    *(pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns", "UTC")),
    *(pa.timestamp("s", "No/Zone"), pa.timestamp("us", "../../etc/passwd")),
    *(pa.decimal128(3, 1), pa.decimal128(15, 2), pa.decimal128(38, 0), pa.decimal128(38, 37)),
    *(pa.decimal128(5, -3), pa.decimal128(9, 2**31 - 1), pa.decimal256(40, 2)),
    *(pa.string(), pa.binary(), pa.large_string(), pa.large_binary(), pa.string_view()),
    *(pa.null(), pa.binary(16), pa.binary(2**31 - 1), pa.month_day_nano_interval()),
    *(pa.list_(pa.float32()), pa.list_(pa.string()), pa.list_(pa.null()), pa.large_list(pa.int8())),
    *(pa.list_(pa.float32(), 4), pa.list_(pa.float64(), 2**31 - 1), pa.list_(pa.null(), 2**30)),
    *(pa.struct([]), pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
    *(pa.map_(pa.string(), pa.int64()), pa.dictionary(pa.int32(), pa.string())),
]
_NAMES = ["", "a", "row number", 'quo"te', "x" * 70_000, "nul\0", "FieldPath(0)", "(a >= 1)", "\n"]


def forge(seed: int) -> bytes:
    """Return the bytes of a file whose checksums hold."""
    random = Random(seed)
    make = random.choices((_claimed, _nested, _written), (4, 1, 5))[0]
    model = make(random)
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        random.choice(_CHANGES)(model, random)
    return model.to_bytes()


# Files that the writer made


def _written(random: Random) -> Model:
    names = sorted(_base_tables())
    return copy.deepcopy(_base(random.choice(names)))


@cache
def _base(name: str) -> Model:
    table, settings = _base_tables()[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "base.flat"
        if "by_reference" in settings:
            write_outside(Path(folder))
            files = [name and str(Path(folder) / name) for name in table.column(0).to_pylist()]
            table = pa.table({"outside": files})
        write_table(table, path, **settings)
        return parse(path)


def write_outside(folder: Path) -> None:
    """Write the files that columns refer to into the folder of a forged file."""
    for name, size in _OUTSIDE.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(range(size)))


def _cast(values: list[Any], *types: Any) -> pa.Table:
    narrow = {32: pa.array(values, pa.int32())}
    arrays = [narrow.get(each.bit_width, pa.array(values, pa.int64())).cast(each) for each in types]
    return pa.table(arrays, [f"c{number}" for number in range(len(types))])


@cache
def _base_tables() -> dict[str, tuple[pa.Table, dict[str, Any]]]:
    rows = range(_FEW)
    ints = [None if row % 7 == 3 else row * row % 101 for row in rows]
    words = [("AIR", "SHIP", "RAIL", None)[row % 4] for row in rows]
    texts = [f"a dog on board {row % 5}, number {row} é" if row % 6 else None for row in rows]
    temporal = (pa.date32(), pa.time32("s"), pa.timestamp("us"), pa.duration("ms"))
    numbers = _cast(ints, pa.int8(), pa.int64(), pa.uint32(), pa.uint64(), pa.decimal128(21, 2))
    frames = dict.fromkeys(numbers.column_names, "frame")
    lines = _cast(
        [row * 3 + row % 2 for row in rows], pa.int32(), pa.uint64(), pa.decimal128(21, 2)
    )
    short = _cast([row // 3 * 7 % 10 for row in rows], pa.int16(), pa.int64(), pa.decimal128(21, 2))
    strides = _cast([row % 5 * 1000 for row in rows], pa.int64(), pa.decimal128(21, 2))
    runs = _cast([row // 9 for row in rows], pa.int32(), pa.decimal128(21, 2), pa.bool_())
    floats = _cast(ints, pa.int64(), pa.float32(), pa.float64())
    doubles = [
        (-0.0, 10.0**300, float("nan"))[row % 3] if row % 5 == 2 else row / 8 for row in rows
    ]
    patched = _cast(
        [10**6 if row in {5, 40} else row * row % 9 for row in range(64)],
        *(pa.int32(), pa.uint64(), pa.decimal128(21, 2)),
    )
    wide = pa.array([10**30 + row for row in rows], pa.decimal128(38, 4))
    nested = pa.table(
        {
            "list": [[row, None] if row % 3 else None for row in rows],
            "text": [[str(row)] * (row % 3) for row in rows],
            "struct": [{"a": row, "b": {"c": str(row)}} for row in rows],
            "vector": pa.array([[1.0, row] for row in rows], pa.list_(pa.float32(), 2)),
            "map": pa.array([[("k", row)] for row in rows], pa.map_(pa.string(), pa.int64())),
            "nothing": pa.nulls(_FEW),
            "nulls": pa.array([[None] * (row % 3) for row in rows], pa.list_(pa.null())),
            "fixed": pa.array([b"0123"] * _FEW, pa.binary(4)),
        }
    )
    words_table = pa.table(
        {"word": words, "other": words[::-1], "kind": pa.array(ints, pa.int16())}
    )
    chosen = dict.fromkeys(words_table.column_names, "dictionary")
    text_types = (pa.string(), pa.binary(), pa.large_string(), pa.string(), pa.string())
    text_table = pa.table(
        [pa.array(texts, each) for each in text_types], ["t", "bytes", "large", "lengths", "fsst"]
    )
    pairs = {"t": "onpair", "large": "onpair", "bytes": "onpair"}
    fsst = {"t": "verbatim", "fsst": "fsst", "large": "fsst"}
    nulls = {
        "rare": [None if row % 90 == 7 else row % 9 for row in range(900)],
        "runs": [f"{row % 9}" if row // 150 % 2 else None for row in range(900)],
        "none": [row % 90 == 0 or None for row in range(900)],
    }
    return {
        "nulls": (pa.table(nulls), {"chunk_rows": 400}),
        "frame": (numbers, {"encodings": frames, "chunk_rows": 8}),
        "verbatim": (_cast(ints, *temporal), {}),
        "floats": (floats.append_column("wide", wide), {"encodings": {"c0": "verbatim"}}),
        "lines": (lines, {"encodings": dict.fromkeys(lines.column_names, "line")}),
        "short runs": (short, {"encodings": dict.fromkeys(short.column_names, "runs")}),
        "decimals": (pa.table({"d": doubles}), {"encodings": {"d": "alp"}, "chunk_rows": 9}),
        "patched": (patched, {"encodings": dict.fromkeys(patched.column_names, "patched")}),
        "strides": (strides, {"encodings": dict.fromkeys(strides.column_names, "stride")}),
        "runs": (runs, {"encodings": dict.fromkeys(runs.column_names, "run_length")}),
        "words": (words_table, {"encodings": chosen, "chunk_rows": 6}),
        "word": (words_table.select([0]), {"encodings": {"word": "dictionary"}}),
        "texts": (text_table, {"encodings": fsst, "offset_index": {"lengths": False}}),
        "pairs": (text_table, {"encodings": pairs, "chunk_rows": 9}),
        "short": (text_table, {"encodings": fsst, "chunk_rows": {"t": 1, "fsst": 5}}),
        "nested": (nested, {"chunk_rows": 10}),
        "blooms": (
            pa.table({"id": [row * 37 % 101 for row in rows], "t": [f"{row}" for row in rows]}),
            {"chunk_rows": 4, "encodings": {"id": "frame", "t": "verbatim"}},
        ),
        "constant": (pa.table({"n": [7] * _FEW, "t": ["x"] * _FEW, "f": [0.5] * _FEW}), {}),
        "outside": (
            pa.table({"outside": [*_OUTSIDE, None] * 6}),
            {"by_reference": ["outside"], "chunk_rows": 10},
        ),
        "empty": (numbers.slice(0, 0), {}),
        "columnless": (numbers.select([]), {}),
    }


# Files that claim more rows than they have room for


def _claimed(random: Random) -> Model:
    rows = random.choice((1, 7, 7, 2**12, 2**12, 2**16, 2**24, 2**24 + 1, 2**31, 2**32 - 1))
    count = random.choice((1, 1, 2, 3) if rows < 2**24 else (1, 2, 40))
    columns = [_claimed_column(random, rows, count) for _ in range(random.randint(1, 3))]
    fields = [pa.field(f"c{number}", each.type) for number, each in enumerate(columns)]
    return Model(rows * count, pa.schema(fields), columns)


def _claimed_column(random: Random, rows: int, count: int) -> Column:
    data_type = random.choice([each for each in _TYPES if _is_kept(each)])
    kind = kind_of("", data_type)
    makers = [_all_null]
    if kind is Kind.BYTES:
        makers = [_all_null, _constant_text, _constant_text, _one_entry, _one_entry]
    elif kind is Kind.NESTED:
        makers = [_all_null, _one_batch]
    elif kind is Kind.FLOAT:
        makers = [_all_null, _constant_number, _one_entry]
    else:
        makers = [_all_null, _constant_number, _few_runs, _few_runs]
    return random.choice(makers)(random, data_type, rows, count)


def _is_kept(data_type: Any) -> bool:
    try:
        kind_of("", data_type)
    except Exception:  # noqa: BLE001  (whatever the reason, the writer has none of these)
        return False
    return True


def _all_null(random: Random, data_type: Any, rows: int, count: int) -> Column:
    return plain_column(data_type, [plain_chunk(rows, 0) for _ in range(count)])


def _constant_number(random: Random, data_type: Any, rows: int, count: int) -> Column:
    is_float = kind_of("", data_type) is Kind.FLOAT
    payload = bytes(data_type.bit_width // 8) if is_float else b""
    chunks = [plain_chunk(rows, 1, data_type.bit_width, payload=payload) for _ in range(count)]
    for chunk in chunks:
        chunk.fields["reference"] = _number(random) - 2**63 if not is_float else 0
    return plain_column(data_type, chunks)


def _constant_text(random: Random, data_type: Any, rows: int, count: int) -> Column:
    text = b"x" * random.choice((0, 1, 127, 128, 257, 257, 70_000))
    return plain_column(data_type, [plain_chunk(rows, 1, 8, payload=text) for _ in range(count)])


def _few_runs(random: Random, data_type: Any, rows: int, count: int) -> Column:
    ends = [each for each in (1, rows // 2) if 0 < each < rows] + [rows]
    head = struct.pack(f"<{len(ends) + 1}I", len(ends), *sorted(set(ends)))
    payload = head + bytes(-len(head) % 8) + b"\x02"
    return plain_column(data_type, [plain_chunk(rows, 4, 1, payload=payload) for _ in range(count)])


def _one_entry(random: Random, data_type: Any, rows: int, count: int) -> Column:
    rows = min(rows, 2**16)  # Codes take a bit a row: a longer file is no worse.
    entry = bytes(8)[: data_type.bit_width // 8] if kind_of("", data_type) is Kind.FLOAT else b""
    if not entry:
        length = random.choice((1, 257, 70_000))
        entry = struct.pack("<II", 0, length) + b"x" * length
    chunks = [plain_chunk(rows, 5, 1, payload=bytes(-(-rows // 8))) for _ in range(count)]
    column = plain_column(data_type, chunks, shared_count=1)
    column.parts["dictionary"] = entry
    return column


def _one_batch(random: Random, data_type: Any, rows: int, count: int) -> Column:
    length = random.choice((1, 2**16, 2**24, 2**31 - 1))
    array, kept = pa.nulls(1, data_type if _is_small(data_type) else pa.list_(pa.null())), None
    match random.randint(0, 3):
        case 0:
            offsets = pa.array([0, length], pa.int32())
            array = pa.ListArray.from_arrays(offsets, pa.nulls(length))
        case 1:
            array = pa.FixedSizeListArray.from_arrays(pa.nulls(length), length)
        case 2:
            array = pa.array([[0] * 2**18], pa.list_(pa.int64()))
            kept = pa.ipc.IpcWriteOptions(compression="zstd")
        case _:
            empty = pa.StructArray.from_buffers(pa.struct([]), length, [None])
            array = pa.ListArray.from_arrays(pa.array([0, length], pa.int32()), empty)
    payload = _message(array, kept)
    return plain_column(array.type, [plain_chunk(1, 7, 8, payload=payload) for _ in range(count)])


def _message(array: Any, options: Any = None) -> bytes:
    """Return an array as a chunk stores it."""
    batch = pa.RecordBatch.from_arrays([array], names=[""])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    reader.read_next_message()
    return bytes(reader.read_next_message().serialize().to_pybytes())


def _nested(random: Random) -> Model:
    rows = random.choice((1, 2, 10, 1000))
    arrays = [forged_nested(random, rows) for _ in range(random.randint(1, 3))]
    columns = []
    for each in arrays:
        chunk = plain_chunk(rows, 7, 8, payload=_message(each))
        chunk.fields["null_count"] = each.null_count
        columns.append(plain_column(claimed(each.type), [chunk]))
    fields = [pa.field(f"c{number}", each.type) for number, each in enumerate(columns)]
    return Model(rows, pa.schema(fields), columns)


def _is_small(data_type: Any) -> bool:
    return "2147483647" not in str(data_type) and "1073741824" not in str(data_type)


# Changes


def _number(random: Random, near: int = 0) -> int:
    """Return a number at a boundary of some width, or beside the right one."""
    around = (near - 1, near + 1, near * 2, near ^ 1, -1, _NAN)
    return random.choice(around) if random.random() < 0.3 else random.choice(NUMBERS)


def _some_column(model: Model, random: Random) -> Column | None:
    return random.choice(model.columns) if model.columns else None


def _some_chunk(model: Model, random: Random) -> Chunk | None:
    column = _some_column(model, random)
    return random.choice(column.chunks) if column and column.chunks else None


def _change_entry(model: Model, random: Random) -> None:
    if chunk := _some_chunk(model, random):
        name = random.choice(ENTRY_NAMES)
        most = {"encoding": 16, "width": 65, "flags": 1023}.get(name)
        right = chunk.fields.get(name, len(chunk.sections.get(name.removesuffix("_length"), b"")))
        chunk.lies[name] = random.randint(0, most) if most else _number(random, right)


def _change_field(model: Model, random: Random) -> None:
    """Change a number of a chunk, to which the sums of its column are fitted."""
    column = _some_column(model, random)
    if column is None or not column.chunks:
        return
    chunk = random.choice(column.chunks)
    name = random.choice(("reference", "row_count", "null_count", "width", "flags", "encoding"))
    limit = {"width": 65, "flags": 1023, "encoding": 16}.get(name)
    most = 2**63 if name == "reference" else 2**32
    number = _number(random, chunk.fields[name]) % most
    chunk.fields[name] = random.randint(0, limit) if limit else number
    first = 0
    for each in column.chunks:
        each.fields["first_row"] = first
        first += each.fields["row_count"]
    column.fields["row_count"] = model.row_count = first
    column.fields["null_count"] = sum(each.fields["null_count"] for each in column.chunks)
    for other in model.columns:
        other.fields["row_count"] = first
    column.fields["chunk_rows"] = random.choice((0, column.chunks[0].fields["row_count"]))


def _change_header(model: Model, random: Random) -> None:
    if column := _some_column(model, random):
        name = random.choice(HEADER_NAMES)
        small = name in {"kind", "modality", "dictionary_tier", "shared_dictionary"}
        column.lies[name] = random.randint(0, 11) if small else _number(random)


def _change_table(model: Model, random: Random) -> None:
    if not model.shared or random.random() < 0.5:
        model.row_count = _number(random, model.row_count)
        if random.random() < 0.5:
            for column in model.columns:
                column.fields["row_count"] = model.row_count
        return
    shared = list(random.choice(model.shared))
    place = random.randint(1, 3)
    shared[place] = _number(random, shared[place])
    model.shared[random.randrange(len(model.shared))] = tuple(shared)  # type: ignore[assignment]


def _change_bytes(data: bytes, random: Random) -> bytes:
    """Replace a byte, an aligned number or the length of some bytes."""
    changed = bytearray(data)
    match random.randint(0, 3):
        case 0 if changed:
            changed[random.randrange(len(changed))] = random.choice((0, 0x7F, 0x80, 0xC3, 0xFF))
        case 1 | 2 as size if len(changed) >= 4 * size:
            place = random.randrange(len(changed) // (4 * size)) * 4 * size
            number = _number(random) % 2 ** (32 * size)
            changed[place : place + 4 * size] = number.to_bytes(4 * size, "little")
        case _:
            length = random.choice((0, len(changed) // 2, len(changed) - 1, len(changed) + 8))
            changed = bytearray(bytes(changed).ljust(length, b"\xff")[: max(0, length)])
    return bytes(changed)


def _change_section(model: Model, random: Random) -> None:
    if chunk := _some_chunk(model, random):
        filled = [name for name in SECTIONS if chunk.sections.get(name)]
        name = random.choice(filled or SECTIONS)
        chunk.sections[name] = _change_bytes(chunk.sections.get(name, b""), random)


def _change_part(model: Model, random: Random) -> None:
    column = _some_column(model, random)
    if column is None:
        return
    if model.shared and random.random() < 0.4:
        contents, *others = model.shared[0]
        model.shared[0] = (_change_bytes(contents, random), *others)  # type: ignore[assignment]
        return
    filled = [name for name, contents in column.parts.items() if contents]
    if filled:
        name = random.choice(filled)
        column.parts[name] = _change_bytes(column.parts[name], random)
    elif column.bloom_starts:
        column.bloom_starts = _change_bytes(column.bloom_starts, random)


def _change_bounds(model: Model, random: Random) -> None:
    if chunk := _some_chunk(model, random):
        bounds = [_number(random) % 2**64 for _ in range(2)]
        if chunk.value_range:
            chunk.value_range = struct.pack("<QQ", *bounds)
        else:
            chunk.texts = (b"\xff" * 3, b"") if random.random() < 0.5 else (b"", b"\xc3")
        chunk.fields["flags"] |= random.choice((1, 3, 13, 31))


def _scar(model: Model, random: Random) -> None:
    lists = [model.schema_scars, model.table_scars, model.vtable_scars]
    lists += [column.scars for column in model.columns] * 2
    random.choice(lists).append((random.random(), random.choice((0, 1, 8, 0x7F, 0xFF))))


def _change_type(model: Model, random: Random) -> None:
    if len(model.schema):
        place = random.randrange(len(model.schema))
        given = model.schema.field(place)
        match random.randint(0, 3):
            case 0:
                changed = given.with_name(random.choice(_NAMES))
            case 1:
                changed = given.with_nullable(not given.nullable)
            case _:
                changed = given.with_type(random.choice(_TYPES))
        model.schema = model.schema.set(place, changed)


def _change_chunks(model: Model, random: Random) -> None:
    column = _some_column(model, random)
    if column is None or not column.chunks:
        return
    one, other = random.choice(column.chunks), random.choice(column.chunks)
    match random.randint(0, 3):
        case 0:
            one.sections, other.sections = other.sections, one.sections
        case 1:
            other.lies["offset"] = 64
        case 2:
            one.fields["encoding"], other.fields["encoding"] = random.randint(0, 12), 2
        case _:
            column.chunks.append(copy.deepcopy(one))


def _change_columns(model: Model, random: Random) -> None:
    if model.columns:
        place = random.randrange(len(model.columns))
        if random.random() < 0.5:
            del model.columns[place]
        else:
            model.columns.append(copy.deepcopy(model.columns[place]))


_CHANGES: list[Callable[[Model, Random], None]] = [
    _change_entry,
    _change_entry,
    _change_field,
    _change_field,
    _change_header,
    _change_table,
    _change_section,
    _change_section,
    _change_section,
    _change_part,
    _change_bounds,
    _scar,
    _scar,
    _change_type,
    _change_type,
    _change_chunks,
    _change_columns,
]
