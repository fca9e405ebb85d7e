"""`raydb compile`: compiles the loops that statements need, so that later processes only load them.

Which loops there are depends on the types of what they are called with. So statements of each kind
run over a few rows, in memory and in files, of all types that columns and codes have.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import raydb
from raydb.kernels import code_cache
from raydb.kernels.backends.cpu import warm
from raydb.late import pc
from raydb.room import size_text
from raydb.storage.flat import open_table, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.engine.api.connection import Connection

# Enough rows for each kind of group, list and index; more would compile nothing else.
_ROWS = 20_000

_TABLES = f"""
CREATE TABLE place (p_id INTEGER PRIMARY KEY, city VARCHAR NOT NULL, region VARCHAR NOT NULL);
INSERT INTO place SELECT range, 'city ' || range, 'region ' || range % 5 FROM range(300);
CREATE TABLE product (r_id INTEGER PRIMARY KEY, brand VARCHAR NOT NULL, size TINYINT NOT NULL);
INSERT INTO product SELECT range, 'brand ' || range % 1000, range % 50 FROM range(70000);
CREATE TABLE sale (
    id INTEGER PRIMARY KEY, place INTEGER NOT NULL REFERENCES place (p_id),
    product INTEGER NOT NULL REFERENCES product (r_id), day DATE NOT NULL, note VARCHAR,
    tiny TINYINT, small SMALLINT, whole INTEGER NOT NULL, large BIGINT, amount DECIMAL(12, 2),
    ratio DOUBLE, ok BOOLEAN, maybe INTEGER);
INSERT INTO sale SELECT range, range % 300, range * 7 % 70000, DATE '2026-01-01' + range % 400,
    'note ' || range % 700, range % 100, range % 1000, range, range * 1000000007,
    (range % 5000)::DECIMAL(12, 2) / 4, range / 7.0, range % 2 = 0, nullif(range % 9, 3)
    FROM range({_ROWS});
CREATE INDEX sale_day ON sale (day);
CREATE TABLE visit AS SELECT (range % 90000)::INTEGER AS sale, range * 100 AS number
    FROM range(120000);
"""  # noqa: S608  (a number of ours)

_STARS = """
SELECT sum(amount) FROM sale WHERE day BETWEEN DATE '2026-02-01' AND DATE '2026-05-01';
SELECT region, sum(whole * tiny), min(large), max(ratio), avg(small), count(*) FROM sale
    JOIN place ON place = p_id WHERE day > DATE '2026-02-01' GROUP BY region;
SELECT brand, sum(amount), sum(ratio), min(tiny), max(small) FROM sale
    JOIN product ON product = r_id JOIN place ON place = p_id
    WHERE region = 'region 2' AND size IN (1, 2, 3) GROUP BY brand;
SELECT city, brand, day, sum(whole), sum(large), min(amount), max(whole) FROM sale
    JOIN place ON place = p_id JOIN product ON product = r_id
    WHERE region IN ('region 1', 'region 3') GROUP BY city, brand, day;
SELECT count(*), count(tiny), sum(tiny), sum(small), min(ratio), max(amount), sum(large) FROM sale;
SELECT size, region, sum(maybe), count(maybe), max(amount) FROM sale JOIN place ON place = p_id
    JOIN product ON product = r_id WHERE day > DATE '2026-02-01' GROUP BY size, region;
SELECT city, sum(large * 200000), sum(whole - tiny) FROM sale JOIN place ON place = p_id
    WHERE ok GROUP BY city;
"""

_BVHS = """
CREATE BVH days ON sale (SCAN (day), AGGREGATE (amount, whole * tiny, ratio, large, small, tiny));
CREATE BVH regions ON sale (
    SCAN (region, day), GROUP BY (city, brand), AGGREGATE (amount, whole, ratio, large));
CREATE BVH sizes ON sale (SCAN (size, ok), GROUP BY (brand), AGGREGATE (tiny, small, amount))
    WITH (sieve = true);
CREATE BVH kinds ON sale (SCAN (day), GROUP BY (size, region), AGGREGATE (maybe, amount));
CREATE BVH rare ON sale (SCAN (day, note, small), AGGREGATE (amount, tiny));
"""

_CHANGES = """
INSERT INTO sale SELECT id + 100000, place, product, day, note, tiny, small, whole, large, amount,
    ratio, ok, maybe FROM sale WHERE id < 2000;
DELETE FROM sale WHERE id % 9 = 0;
UPDATE sale SET whole = whole + 1 WHERE id = 5;
"""

_GENERAL = """
SELECT note, day, sum(amount), count(DISTINCT place), median(ratio) FROM sale GROUP BY note, day;
SELECT DISTINCT note, whole FROM sale;
SELECT * FROM sale ORDER BY note DESC, ratio, id LIMIT 20;
SELECT id FROM sale ORDER BY large DESC, small;
SELECT a.id FROM sale a JOIN sale b ON a.note = b.note AND a.day < b.day WHERE a.id < 300;
SELECT a.id FROM sale a LEFT JOIN place ON a.whole = p_id AND a.small > p_id;
SELECT count(*) FROM visit v JOIN sale s ON v.sale = s.id WHERE s.day < DATE '2026-01-05';
SELECT count(*) FROM visit v JOIN visit w ON v.number = w.number WHERE w.sale < 100;
SELECT id FROM sale WHERE place NOT IN (SELECT p_id FROM place WHERE region = 'region 1');
SELECT row_number() OVER w, rank() OVER w, lag(amount) OVER w, ntile(4) OVER w, sum(amount) OVER w,
    min(whole) OVER w, max(ratio) OVER w, first_value(note) OVER w, avg(small) OVER w,
    sum(large) OVER (PARTITION BY place ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING),
    min(ratio) OVER (PARTITION BY place ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING),
    count(*) OVER (ORDER BY whole RANGE BETWEEN 10 PRECEDING AND CURRENT ROW),
    stddev(ratio) OVER w, median(ratio) OVER w, count(DISTINCT note) OVER w, product(ratio) OVER w
    FROM sale WINDOW w AS (PARTITION BY place ORDER BY day, id);
"""

_VECTORS = """
CREATE TABLE doc (id INTEGER PRIMARY KEY, v FLOAT[16]);
INSERT INTO doc SELECT range, [sin(range), cos(range * 1.7), sin(range * 0.3), cos(range * 2.9),
    sin(range * 1.1), cos(range * 0.7), sin(range * 2.3), cos(range * 1.9), 0, 1, 0, 1, 0, 1,
    sin(range * 3.1), 1]::FLOAT[16] FROM range(3000);
CREATE TABLE asked (v FLOAT[16]);
INSERT INTO asked SELECT v FROM doc WHERE id % 4 = 0;
"""

_SEARCHES = """
SELECT id FROM vector_search(doc, v, (SELECT v FROM asked LIMIT 1), k => 5, metric => '{metric}');
SELECT d.id FROM (FROM asked LIMIT 40) a,
    LATERAL vector_search(doc, v, a.v, k => 5, metric => '{metric}') d;
SELECT d.id FROM (FROM asked LIMIT 40) a,
    LATERAL vector_search(doc, v, a.v, max_distance => 0.1, metric => '{metric}') d;
CREATE INDEX {metric}_{kind} ON doc USING ivf (v)
    WITH (lists = 40, metric = '{metric}', quantization = '{kind}');
SELECT id FROM vector_search(doc, v, (SELECT v FROM asked LIMIT 1), metric => '{metric}');
SELECT d.id FROM (FROM asked LIMIT 40) a,
    LATERAL vector_search(doc, v, a.v, metric => '{metric}') d;
SELECT d.id FROM (FROM asked LIMIT 40) a,
    LATERAL vector_search(doc, v, a.v, max_distance => 0.1, metric => '{metric}') d;
SELECT id FROM vector_search((FROM doc WHERE id > 99), v, (SELECT v FROM asked LIMIT 1),
    metric => '{metric}');
CALIBRATE INDEX {metric}_{kind} USING (FROM asked) WITH (fnr = '0.1', k = '5');
SELECT id FROM vector_search(doc, v, (SELECT v FROM asked LIMIT 1), k => 5, fnr => 0.1,
    metric => '{metric}');
SELECT d.id FROM (FROM asked LIMIT 40) a,
    LATERAL vector_search(doc, v, a.v, k => 5, fnr => 0.1, metric => '{metric}') d;
INSERT INTO doc SELECT id + 10000, v FROM doc WHERE id < 10;
SELECT id FROM vector_search(doc, v, (SELECT v FROM asked LIMIT 1), metric => '{metric}');
DELETE FROM doc WHERE id > 9999;
DROP INDEX {metric}_{kind};
"""

_WALKS = """
CREATE INDEX {metric}_graph ON doc USING hnsw (v) WITH (metric = '{metric}');
SELECT id FROM vector_search(doc, v, (SELECT v FROM asked LIMIT 1), metric => '{metric}');
SELECT d.id FROM (FROM asked LIMIT 40) a,
    LATERAL vector_search(doc, v, a.v, metric => '{metric}') d;
CALIBRATE INDEX {metric}_graph USING (FROM asked) WITH (fnr = '0.1', k = '5');
INSERT INTO doc SELECT id + 10000, v FROM doc WHERE id < 10;
DELETE FROM doc WHERE id = 20;
SELECT id FROM vector_search(doc, v, (SELECT v FROM asked LIMIT 1), metric => '{metric}');
REINDEX {metric}_graph;
DELETE FROM doc WHERE id > 9999;
DROP INDEX {metric}_graph;
"""

_TEXTS = """
CREATE TABLE said (id INTEGER, body VARCHAR);
INSERT INTO said SELECT range, 'one two ' || range % 7 FROM range(2000);
CREATE INDEX words ON said USING fts (body);
INSERT INTO said VALUES (3000, 'two');
DELETE FROM said WHERE id % 9 = 2;
SELECT id FROM text_search(said, body, 'two 3');
SELECT id FROM text_search((FROM said WHERE id > 99), body, 'one two');
"""

_MOTIFS = """
CREATE TABLE pays (s INTEGER, d INTEGER, t INTEGER);
INSERT INTO pays SELECT range * 7 % 60, range * 11 % 53, range FROM range(4000);
"""
_PATTERNS = (
    *("a->b, b->a", "cycle(4)", "clique(4)", "a->b, {b->c, b->d}", "a->b, b->c, c->a, a->b"),
    *("path(4)", "star_out(3)", "scatter_gather(2)", "a->b, a->c, {b->d, c->d}"),
)
_METHODS = ("exact", "timest")

_STATES = """
SELECT * FROM detect_states((SELECT range AS n, sin(range * 0.3) AS x FROM range(400)), time => n,
    window => 20, classifier => '{classifier}');
SELECT * FROM detect_states((SELECT range AS n, sin(range * 0.3) AS x, 1 AS y FROM range(400)),
    time => n, window => 20, classifier => '{classifier}');
"""
_MOTIF = """
SELECT * FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => '{motif}',
    delta => 60, method => '{method}', rel_error => 0.5, seed => 1);
"""
_SAMPLE = """
SELECT * FROM motif_sample(pays, src => 's', dst => 'd', time => 't', motif => '{motif}',
    delta => 60, n => 5, method => '{method}', seed => 1);
"""


_CONDITIONS = """
SELECT * FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, !c->a',
    delta => 60, method => 'exact', where => 'e1.t < e2.t AND e2.s % 2 = 0');
SELECT * FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'a->b, b->c, c->a',
    delta => 60, method => 'timest', rel_error => 0.5, where => 'e1.t < e2.t AND e2.s % 2 = 0');
SELECT * FROM motif_count(pays, src => 's', dst => 'd', time => 't', motif => 'cycle(3)',
    delta => 60, by => 'a');
SELECT * FROM motif_list(pays, src => 's', dst => 'd', time => 't', motif => 'cycle(3)',
    delta => 60) LIMIT 3;
"""


_PARTITIONS = """
SELECT * FROM partition_graph((SELECT range, range + 1 FROM range(9)), k => 2);
"""


def main() -> int:
    """Compile the loops and print where they are kept; 1 where they cannot be."""
    place = _kept()
    if place.obstacle:
        raise raydb.OperationalError(
            f"compiled loops cannot be kept: '{place.path}' cannot be written to"
            f" ({place.obstacle}); {code_cache.VARIABLE} names another folder"
        )
    compile_loops(lambda part: print(f"compiling: {part}", flush=True))  # noqa: T201  (a command's answer)
    place = _kept()
    print(f"{place.loop_count} loops, {size_text(place.size_bytes)}, in '{place.path}'")  # noqa: T201  (as above)
    return 0


def _kept() -> code_cache.Place:
    from raydb.kernels.jit import toolchain  # noqa: PLC0415  (numba takes 0.24 s)

    return code_cache.examine(toolchain())[-1]


def compile_loops(tell: Callable[[str], None]) -> None:
    """Compile the loops, telling the name of each part before it begins. Raises raydb.Error."""
    tell("scans")
    warm.wait()
    with tempfile.TemporaryDirectory(prefix="raydb-compile-") as folder:
        for path in (None, Path(folder, "d.raydb")):
            with raydb.connect(path) as con:
                for name, text in _parts():
                    tell(f"{name}, {'in memory' if path is None else 'in files'}")
                    con.execute(text)
        tell("files of tables")
        _write_tables(Path(folder))
    tell("graphs")
    with raydb.connect() as con:
        _sample_neighbours(con)


def _write_tables(folder: Path) -> None:
    """Write FlatStor files of all that their loops take, and read them in all ways."""
    from raydb.kernels.codecs import packed_loops  # noqa: F401, PLC0415  (others are used beside)

    for number, (table, encodings) in enumerate(_flat_tables()):
        path = folder / f"{number}.flat"
        write_table(table, path, chunk_rows=2000, encodings=encodings)
        with open_table(path) as flat:
            flat.scan()
            some = np.arange(0, len(table), 7)
            for column in table.column_names:
                flat.take(some, [column])
                flat.item(7, column)
                value = table.column(column)[7]
                flat.scan([column], pc.field(column) == value)
                if isinstance(value.as_py(), str):
                    flat.scan([column], pc.starts_with(pc.field(column), value.as_py()[:9]))


def _flat_tables() -> Iterator[tuple[pa.Table, dict[str, str]]]:
    """Yield tables and the encodings to ask for, beside those that are chosen."""
    rows = np.arange(_ROWS)
    noise = np.random.default_rng(1).integers(0, 2**62, _ROWS)
    columns: dict[str, Any] = {}
    for bits in (8, 16, 32, 64):
        for dtype in map(np.dtype, (f"int{bits}", f"uint{bits}")):
            most = 2 ** (bits - 1) - 1
            columns[f"noise {dtype}"] = (noise % most // 2).astype(dtype)
            columns[f"line {dtype}"] = (rows // 200 + noise % 3).astype(dtype)
            columns[f"runs {dtype}"] = (noise[rows // 5 * 5] % most).astype(dtype)
            columns[f"long runs {dtype}"] = (noise[rows // 900 * 900] % most).astype(dtype)
            columns[f"strides {dtype}"] = (noise % (most // 3) * 3).astype(dtype)
    columns["decimal"] = pa.array(noise % 5000).cast(pa.decimal128(21, 2))
    columns["double"] = noise % 100_000 / 100
    columns["float"] = columns["double"].astype(np.float32)
    columns["null"] = pa.array(noise % 1000, mask=rows % 7 == 3)
    texts = [f"number {each % 977} of {each % 31} longer texts, {each % 9973}" for each in noise]
    few = [f"text {each % 9}" for each in noise]
    for data_type in (pa.string(), pa.large_string()):
        columns[f"{data_type}"] = pa.array(texts, data_type)
        columns[f"{data_type} null"] = pa.array([*texts[:-1], None], data_type)
        columns[f"{data_type} few"] = pa.array(few, data_type)
    yield pa.table(columns), {}
    yield pa.table({"text": texts[:2000], "row": rows[:2000]}), {}
    wanted = {
        f"{encoding} {data_type}": (encoding, data_type)
        for encoding in ("onpair", "fsst", "dictionary", "verbatim")
        for data_type in (pa.string(), pa.large_string())
    }
    table = pa.table({name: pa.array(texts, kind) for name, (_, kind) in wanted.items()})
    yield table, {name: encoding for name, (encoding, _) in wanted.items()}


def _sample_neighbours(con: Connection) -> None:
    """Do what a graph's sampler does, which needs torch."""
    from raydb.kernels.graph.loops import sample_loops  # noqa: PLC0415  (numba takes 0.24 s)

    graph = con.graph(
        nodes="SELECT range AS id FROM range(9)",
        edges="SELECT range, (range + 1) % 9 FROM range(9)",
    )
    edges, frontier = graph.edges[None], np.arange(3)
    found = sample_loops.Found(np.zeros(9, np.int64), np.full(9, -1, np.int32))
    found.local[frontier] = frontier
    found.nodes[:3] = frontier
    sample_loops.sample_sources(
        sample_loops.Edges(edges.starts, edges.sources),
        frontier,
        0,
        sample_loops.Chance(np.ones(1, np.uint64), np.full(8, -1, np.int64), 2, False),
        found,
        len(frontier),
        sample_loops.Drawn(*(np.empty(6, np.int64) for _ in range(3))),
    )


def _parts() -> Iterator[tuple[str, str]]:
    """Yield texts of statements, and what they are."""
    yield "tables", _TABLES
    yield "stars", _STARS
    yield "BVHs", _BVHS
    for change in ("", _CHANGES):
        yield "stars on BVHs", change + _STARS
    yield "joins, sorts and windows", _GENERAL + "CHECKPOINT;" + _GENERAL
    yield "vectors", _VECTORS
    for metric in ("l2", "cosine", "ip"):
        for kind in ("none", "int8"):
            yield f"vectors ({metric}, {kind})", _SEARCHES.format(metric=metric, kind=kind)
        yield f"vectors ({metric}, graph)", _WALKS.format(metric=metric)
    yield "texts", _TEXTS
    yield "motifs", _MOTIFS
    for motif in _PATTERNS:
        text = "".join(_MOTIF.format(motif=motif, method=method) for method in _METHODS)
        text += "".join(_SAMPLE.format(motif=motif, method=method) for method in _METHODS)
        yield f"motif {motif}", text
    yield "conditions on edges", _CONDITIONS
    for classifier in ("rocket", "minirocket"):
        yield f"states ({classifier})", _STATES.format(classifier=classifier)
    yield "partitions", _PARTITIONS
