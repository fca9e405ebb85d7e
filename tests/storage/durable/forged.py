"""Forged databases: files with right check sums, and contents that no statement has written.

    forge(folder, seed) -> "3f0c.bvh: array 'offsets': an element of -1"

A forgery takes a database with a file of every kind (.flat, .keys, .live, .bvh, .ivf, .cal, the
manifest's state, the log) and changes one to three things in one of its files: an array's elements,
length, type or shape, its place in the file, two arrays' names, a JSON value of properties or of
the state, a change in the log. Check sums are then written anew, in the file and in the manifest.
"""

from __future__ import annotations

import io
import json
import math
import random
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

import raydb
from raydb.storage.durable import manifest as manifests
from raydb.storage.durable import sections, wal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WIDTH = 4
KINDS = (".bvh", ".ivf", ".cal", ".keys", ".live", ".man", ".log")

# What stands in place of a number, beside what is near it.
EDGES = (
    -1,
    0,
    1,
    2**7,
    2**8,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    -(2**63),
)
FLOATS = (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e17, 0.0, 1e-45)
TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")

# What stands in place of a JSON value.
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 2**31, 2**63, 10**30, 0.5, 1e300, float("nan"), float("inf"),
    "", "x", "f", "d", "t", "cosine", "kth", [], [[]], [1], ["x"], {}, {"x": 1},
)  # fmt: skip


def build(path: Path) -> None:
    """Make the database that forgeries are made of."""
    rng = np.random.default_rng(5)

    def vector() -> str:
        return f"[{', '.join(f'{value:.3f}' for value in rng.normal(size=WIDTH))}]::FLOAT[{WIDTH}]"

    with raydb.connect(path) as con:
        con.execute("SET bvh_merge = 'checkpoint'; SET bvh_merge_share = '50%'")
        con.execute("""
            CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR, region VARCHAR NOT NULL);
            CREATE TABLE f (
                n INTEGER NOT NULL DEFAULT 7, d INTEGER REFERENCES d (id), day DATE NOT NULL,
                m DECIMAL(10, 2), x DOUBLE, t VARCHAR UNIQUE, CHECK (n >= 0));
            CREATE TABLE v (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES v (id),
                            kind INTEGER, emb FLOAT[4]);
            CREATE VIEW w AS SELECT name, sum(m) AS total FROM f JOIN d ON d = id GROUP BY name;
            INSERT INTO d VALUES (1, 'x', 'a'), (2, 'y', 'a'), (3, NULL, 'b'), (4, 'z', 'b');
        """)
        rows = ", ".join(
            f"({n}, {n % 4 + 1 if n % 9 else 'NULL'}, DATE '2026-01-01' + {n % 40}, "
            f"{f'{n}.5' if n % 7 else 'NULL'}, {n / 3}, 'text {n}')"
            for n in range(300)
        )
        con.execute(f"INSERT INTO f VALUES {rows}")
        vectors = ", ".join(
            f"({n}, {'NULL' if n < 5 else n // 2}, {n % 3}, {vector()})" for n in range(200)
        )
        con.execute(f"INSERT INTO v VALUES {vectors}")
        con.execute("""
            CREATE BVH whole ON f (SCAN (region, name, day), GROUP BY (n), AGGREGATE (m, x));
            CREATE BVH sieved ON f (SCAN (name, day), AGGREGATE (m)) WITH (sieve = true);
            CREATE INDEX plain ON v USING ivf (emb) WITH (lists = 12);
            CREATE INDEX coded ON v USING ivf (emb) WITH (metric = 'cosine', lists = 9,
                                                          quantization = 'int8');
            CREATE INDEX joined ON v USING hnsw (emb) WITH (metric = 'ip', m = 4);
            CREATE INDEX of_day ON f (day DESC, n);
            CALIBRATE INDEX plain WITH (k = 3, fnr = 0.2);
            CALIBRATE INDEX joined WITH (k = 3, fnr = 0.2);
            DELETE FROM f WHERE n % 50 = 3;
            DELETE FROM v WHERE id IN (190, 195);
            CHECKPOINT;
            INSERT INTO f VALUES (900, 2, DATE '2026-03-01', 9, 9, 'in the log');
            UPDATE f SET m = m + 1 WHERE n < 5;
            DELETE FROM f WHERE n = 20;
        """)
        con.execute(f"INSERT INTO v VALUES (900, 3, 1, {vector()})")


QUERIES = (
    "SELECT region, count(*), sum(m), min(x), max(x), sum(x) FROM f JOIN d ON d = id "
    "WHERE day < DATE '2026-01-20' GROUP BY region ORDER BY region",
    "SELECT name, n, sum(m), count(m) FROM f JOIN d ON d = id WHERE region = 'a' "
    "GROUP BY name, n ORDER BY name, n",
    "SELECT name, sum(m), min(m), max(m) FROM f JOIN d ON d = id "
    "WHERE day BETWEEN DATE '2026-01-05' AND DATE '2026-02-01' GROUP BY name",
    "SELECT day, sum(m), count(DISTINCT n) FROM f JOIN d ON d = id "
    "WHERE name LIKE '%x' OR t LIKE '%9' GROUP BY day",
    "SELECT sum(n), avg(x) FROM f",
    "SELECT region, sum(n * m) FROM f JOIN d ON d = id WHERE n % 2 = 1 GROUP BY region",
    "SELECT * FROM w ORDER BY 1",
    "SELECT * FROM f WHERE t = 'text 77'",
    "SELECT count(*) FROM f ORDER BY 1",
    "SELECT a.id, b.kind FROM v a LEFT JOIN v b ON a.parent = b.id ORDER BY 1 LIMIT 20",
    "SELECT b.kind, sum(a.id) FROM v a JOIN v b ON a.parent = b.id GROUP BY b.kind",
    "SELECT id, distance FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 5, metric => 'l2')",
    "SELECT id, distance FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 5, "
    "metric => 'l2', nprobe => 3) WHERE kind = 1",
    "SELECT id, distance FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 3, "
    "metric => 'l2', fnr => 0.2)",
    "SELECT id, distance FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 9, "
    "metric => 'cosine', nprobe => 2)",
    "SELECT id, distance FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 9, metric => 'ip')",
    "SELECT id FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 3, metric => 'ip', fnr => 0.2)",
    "SELECT count(*), count(DISTINCT d.id) FROM v q, "
    "LATERAL vector_search(v, emb, q.emb, k => 4, metric => 'l2') d",
    "SELECT id FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 3, metric => 'l2', exact => true)",
    "SELECT count(*) FROM bvhs()",
    "SELECT count(*) FROM vector_indexes()",
    "SELECT id, emb FROM v WHERE id > 3 ORDER BY id DESC",
    "SELECT count(*) FROM index_calibrations()",
    "EXPLAIN SELECT region, sum(m) FROM f JOIN d ON d = id GROUP BY region",
    "DESCRIBE f",
)
CHANGES = (
    "INSERT INTO f VALUES (1, 2, DATE '2026-03-02', 1, 1, 'new')",
    "UPDATE f SET m = 5, d = 1 WHERE n = 30",
    "DELETE FROM f WHERE n = 40",
    "UPDATE d SET name = 'other' WHERE id = 2",
    "DELETE FROM d WHERE id = 4",
    "INSERT INTO v VALUES (901, 1, 1, [1, 2, 3, 4]::FLOAT[4])",
    "DELETE FROM v WHERE id = 150",
    "SELECT region, sum(m) FROM f JOIN d ON d = id GROUP BY region",
    "REINDEX INDEX coded",
    "REINDEX INDEX joined",
    "CALIBRATE INDEX plain WITH (k = 2, fnr = 0.3)",
    "CHECKPOINT",
    "VACUUM",
    "SELECT name, sum(m) FROM f JOIN d ON d = id GROUP BY name",
    "SELECT id FROM vector_search(v, emb, [1, 0, 0.5, 2], k => 5, metric => 'cosine')",
    "DROP TABLE f CASCADE",
)


def use(path: Path, seed: int) -> None:
    """Open a database and run statements; one that is refused is passed over."""
    with raydb.connect(path) as con:
        chance = random.Random(seed)
        order = sorted(chance.sample(range(len(CHANGES)), 6))
        for statement in [*chance.sample(QUERIES, 8), *(CHANGES[each] for each in order)]:
            with suppress(raydb.Error):
                found = con.execute(statement)
                if found.description:
                    found.fetchall()


def forge(path: Path, seed: int) -> str:
    """Change something in one file of the database at `path`, and say what."""
    chance = random.Random(seed)
    files = sorted(each for each in path.rglob("*") if each.suffix in KINDS)
    suffix = chance.choice(sorted({each.suffix for each in files}))
    file = chance.choice([each for each in files if each.suffix == suffix])
    file.chmod(0o600)
    done: list[str] = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if suffix == ".man":
            done.append(_forge_state(path, chance))
        elif suffix == ".log":
            done.append(_forge_log(path, file, chance))
        else:
            is_last = chance.random() < 0.1
            done.append(_forge_directory(file, chance) if is_last else _forge_arrays(file, chance))
            _register(path, file)
            if is_last:  # what the directory says is no longer what is in the file
                break
    return f"{file.suffix}: {'; '.join(done)}"


# -- JSON


def _forge_json(value: Any, chance: random.Random, place: str = "") -> tuple[Any, str]:
    """Return a JSON value with one of its parts changed, and what was done."""
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = list(value)
    elif isinstance(value, list):
        parts = list(range(len(value)))
    if parts and chance.random() < 0.85:
        part = chance.choice(parts)
        changed, what = _forge_json(value[part], chance, f"{place}.{part}")
        copy = value.copy()
        copy[part] = changed
        return copy, what
    if parts and chance.random() < 0.5:
        copy = value.copy()
        part = chance.choice(parts)
        if chance.random() < 0.5:
            copy.pop(part)
            return copy, f"{place}: without {part}"
        other = chance.choice(parts)
        copy[part], copy[other] = copy[other], copy[part]
        return copy, f"{place}: {part} and {other} swapped"
    if isinstance(value, bool):
        return not value, f"{place}: {not value}"
    if isinstance(value, int) and chance.random() < 0.7:
        changed = value + chance.choice((-1, 1, 2, 1000, *EDGES))
        return changed, f"{place}: {changed}"
    if isinstance(value, str) and value and chance.random() < 0.4:
        at = chance.randrange(len(value))
        changed = value[:at] + chance.choice("aZ(,'; é1=") + value[at + 1 :]
        return changed, f"{place}: {changed!r}"
    changed = chance.choice(VALUES)
    if chance.random() < 0.02:
        for _ in range(900):
            changed = [changed]
        return changed, f"{place}: 900 arrays"
    return changed, f"{place}: {changed}"


# -- files of arrays


def _forge_arrays(file: Path, chance: random.Random) -> str:
    """Change an array or the properties of a file."""
    directory, start, data = _directory(file)
    arrays = {}
    for each in directory["sections"]:
        array = np.frombuffer(data, each["dtype"], math.prod(each["shape"]), start + each["offset"])
        arrays[each["name"]] = array.reshape(each["shape"]).copy()
    properties = directory["properties"]
    if not arrays or (chance.random() < 0.2 and properties):
        properties, what = _forge_json(properties, chance, "properties")
    else:
        what = _forge_array(arrays, chance.choice(sorted(arrays)), chance)
    sink = io.BytesIO()
    sections.write_sections(sink, arrays, properties)
    file.write_bytes(sink.getvalue())
    return what


def _directory(file: Path) -> tuple[Any, int, bytes]:
    """Return a file's directory, where its first array lies, and its bytes."""
    data = file.read_bytes()
    _, _, size, _ = sections.HEADER.unpack_from(data)
    end = sections.HEADER.size + size
    start = -(-end // sections.ALIGNMENT) * sections.ALIGNMENT
    return json.loads(data[sections.HEADER.size : end]), start, data


def _forge_directory(file: Path, chance: random.Random) -> str:
    """Change what a file's directory says of an array; its own check sum is right."""
    directory, start, data = _directory(file)
    changed, what = _forge_json(directory, chance, "directory")
    _write_directory(file, changed, data[start:])
    return what


def _write_directory(file: Path, directory: Any, arrays: bytes) -> None:
    text = json.dumps(directory).encode()
    digest = xxhash.xxh3_64_intdigest(text)
    header = sections.HEADER.pack(sections.MAGIC, sections.VERSION, len(text), digest)
    size = -(-(len(header) + len(text)) // sections.ALIGNMENT) * sections.ALIGNMENT
    file.write_bytes((header + text).ljust(size, b"\0") + arrays)


def forge_at(path: Path, kind: str, place: tuple[str | int, ...], value: Any) -> None:
    """Change one value of a file of that ending, in the manifest's state for ".man"."""

    def change(known: manifests.Manifest) -> manifests.Manifest:
        text = json.dumps(_changed(json.loads(known.state), place, value)).encode()
        return manifests.Manifest(known.version, known.log_id, known.files, text)

    if kind == ".man":
        _rewrite(path, change)
        return
    file = min(path.rglob(f"*{kind}"))
    file.chmod(0o600)
    directory, start, data = _directory(file)
    _write_directory(file, _changed(directory, place, value), data[start:])
    _register(path, file)


def _changed(whole: Any, place: tuple[str | int, ...], value: Any) -> Any:
    *outer, last = place
    inner = whole
    for step in outer:
        inner = inner[step]
    assert last in inner if isinstance(inner, dict) else last < len(inner)
    inner[last] = value
    return whole


def _forge_array(arrays: dict[str, Any], name: str, chance: random.Random) -> str:
    """Change an array, and say how."""
    array = arrays[name]
    flat = array.reshape(-1)
    kind = chance.choice(("element",) * 5 + ("several", "short", "long", "type", "shape", "order"))
    kind = chance.choice((kind, kind, kind, "swap", "gone", "all"))
    if kind in ("element", "several", "all") and flat.size:
        count = {"element": 1, "several": 5, "all": flat.size}[kind]
        values = []
        edge = _edge(flat, chance)
        for _ in range(count):
            at = chance.randrange(flat.size) if kind != "all" else slice(None)
            flat[at] = edge
            values.append(edge)
            edge = _edge(flat, chance)
            if kind == "all":
                break
        return f"array '{name}': {kind} of {values}"
    if kind == "short":
        arrays[name] = array[: chance.choice((0, 1, len(array) // 2, max(len(array) - 1, 0)))]
    elif kind == "long":
        arrays[name] = np.concatenate([array, array[: chance.choice((1, 7))]])
    elif kind == "type":
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(np.dtype(chance.choice(TYPES)))
    elif kind == "shape":
        shapes = ((-1,), (-1, 1), (1, -1), (1, 1, -1))
        arrays[name] = array.reshape(chance.choice(shapes))
    elif kind == "order":
        order = list(range(len(array)))
        chance.shuffle(order)
        arrays[name] = array[order]
    elif kind == "gone":
        del arrays[name]
    else:
        other = chance.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], array
        return f"arrays '{name}' and '{other}' swapped"
    return f"array '{name}': {kind}"


def _edge(flat: Any, chance: random.Random) -> Any:
    """Return a value at an edge of what an array may have."""
    if flat.dtype.kind == "f":
        return chance.choice(FLOATS)
    if flat.dtype.kind == "b":
        return np.frombuffer(bytes([chance.choice((0, 1, 2, 255))]), np.bool_)[0]
    limits = np.iinfo(flat.dtype)
    near = (flat.size - 1, flat.size, flat.size + 1, int(flat.max()) + 1, *EDGES)
    return chance.choice([each for each in near if limits.min <= each <= limits.max])


# -- the manifest and the log


def _rewrite(path: Path, change: Callable[[manifests.Manifest], manifests.Manifest]) -> None:
    """Write a database's manifest anew."""
    file = max((path / "manifests").glob("*.man"), key=lambda each: int(each.stem))
    version = int(file.stem)
    file.chmod(0o600)
    manifest = manifests.decode_manifest(file.read_bytes(), version, file)
    file.write_bytes(manifests.encode_manifest(change(manifest)))


def _register(path: Path, file: Path) -> None:
    """Tell the manifest what is in a file."""
    data = file.read_bytes()
    entry = manifests.DataFile(len(data), xxhash.xxh3_64_intdigest(data))

    def change(known: manifests.Manifest) -> manifests.Manifest:
        files = {**known.files, file.name: entry}
        return manifests.Manifest(known.version, known.log_id, files, known.state)

    _rewrite(path, change)


def _forge_state(path: Path, chance: random.Random) -> str:
    done = ""

    def change(known: manifests.Manifest) -> manifests.Manifest:
        nonlocal done
        state, done = _forge_json(json.loads(known.state), chance, "state")
        text = json.dumps(state).encode()
        return manifests.Manifest(known.version, known.log_id, known.files, text)

    _rewrite(path, change)
    return done


def _forge_log(path: Path, file: Path, chance: random.Random) -> str:
    """Change a record of the log."""
    found: list[manifests.Manifest] = []
    _rewrite(path, lambda known: found.append(known) or known)
    log_id = found[0].log_id
    records = list(wal.decode_log(file.read_bytes(), log_id, file).records)
    at = chance.randrange(len(records))
    line, _, content = records[at].partition(b"\n")
    kind = chance.choice(("line", "line", "number", "byte", "again", "order"))
    done = f"record {at}: {kind}"
    if kind == "line":
        changed, what = _forge_json(json.loads(line), chance, f"record {at}")
        records[at] = json.dumps(changed).encode() + b"\n" + content
        done = what
    elif kind == "number" and len(content) >= 4:
        edge = chance.choice((-1, 0, 5, 299, 300, 301, 305, 2**31 - 1, -(2**31)))
        records[at] = line + b"\n" + edge.to_bytes(4, "little", signed=True) + content[4:]
        done = f"record {at}: row number {edge}"
    elif kind == "byte" and content:
        place = chance.randrange(len(content))
        changed_byte = bytes([chance.choice((0, 1, 127, 128, 255))])
        records[at] = line + b"\n" + content[:place] + changed_byte + content[place + 1 :]
        done = f"record {at}: byte {place} is {changed_byte!r}"
    elif kind == "again":
        records.append(records[at])
    else:
        chance.shuffle(records)
    frames = [wal.encode_frame([each], n, log_id) for n, each in enumerate(records, 1)]
    file.write_bytes(wal.encode_header(log_id) + b"".join(frames))
    (path / "CURRENT").unlink(missing_ok=True)
    return done


# -- a case of the sandbox

_whole: list[Path] = []


def read_forged(seed: int, folder: Path) -> None:
    """Forge a copy of the database, and use it. The first case of a process makes the database."""
    if not _whole:
        _whole.append(folder.parent / "whole.raydb")
        shutil.rmtree(_whole[0], ignore_errors=True)
        build(_whole[0])
    path = folder / "x.raydb"
    shutil.copytree(_whole[0], path)
    print(f"seed {seed}: {forge(path, seed)}")
    use(path, seed)
