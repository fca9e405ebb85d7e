"""Motifs with conditions on edges, beside every choice of rows tried in plain Python.

RAYDB_FUZZ_MOTIFS says how many more random questions the long test asks (300).
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import os
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
CASES = int(os.environ.get("RAYDB_FUZZ_MOTIFS", "300"))

Row = dict[str, Any]

MOTIFS = (
    *("a->b, b->a", "a->b, b->c", "a->b, b->c, c->a", "a->b, a->c, b->c", "a->b, b->c, c->d"),
    *("a->b, {b->c, b->d}", "a->b, {b->c, b->c}", "{a->b, b->c}, c->a", "a->b, a->b"),
    *("a--b, b->c", "a--b, b--c", "a->b, b--a", "{a--b, b->c}, a->c"),
    *("a->b, !b->a, b->c", "a->b, b->c, !c->a", "!b->a, a->b", "a->b, b->c, !c->*"),
    *("a--b, !b->c, a->c", "a->b, !*->a, {b->c, b->d}", "a->b, !a--b, a->b"),
    *("a->b, a->c, a->d", "a->b, b->a, a->b, b->a"),
)

LEAST, MOST = -(2**63), 2**63 - 1
DAY, ONE_DAY = dt.date(2026, 2, 26), dt.timedelta(1)


def _rows(rng: np.random.Generator) -> list[Row]:
    count = int(rng.integers(4, 16))
    ends = rng.integers(0, rng.choice([3, 5]), (count, 2)).tolist()
    return [
        {
            "s": s,
            "d": d,
            "t": int(rng.integers(0, 30)),
            "amount": None if rng.random() < 0.1 else int(rng.integers(0, 12)),
            "x": None if rng.random() < 0.1 else float(rng.choice([-0.0, 0.0, 1.5, math.nan])),
            "kind": [None, "wire", "cash"][int(rng.integers(3))],
            "big": [None, LEAST, LEAST + 1, 0, MOST - 1, MOST][int(rng.integers(6))],
            "price": None if rng.random() < 0.1 else Decimal(int(rng.integers(-9, 30))) / 20,
            "day": None if rng.random() < 0.1 else DAY + int(rng.integers(9)) * ONE_DAY,
        }
        for s, d in ends
    ]


def _less(one: Any, other: Any) -> bool | None:
    """Compare as SQL does: NULL is not known, NaN is the greatest."""
    if one is None or other is None:
        return None
    if isinstance(one, float) and math.isnan(one):
        return False
    return True if isinstance(other, float) and math.isnan(other) else bool(one < other)


def _all(*parts: bool | None) -> bool | None:
    return False if False in parts else None if None in parts else True


def _condition(rng: np.random.Generator, count: int, names: str) -> tuple[str, Any]:
    """Return a condition on the edges and the vertices, as SQL and as Python."""
    i, j, k = (int(edge) for edge in rng.integers(0, count, 3))
    one, other = rng.choice(list(names), 2).tolist()
    known: list[tuple[str, Any]] = [
        (f"e{i + 1}.amount > 4", lambda e, _: _less(4, e[i]["amount"])),
        (f"e{i + 1}.kind = 'wire'", lambda e, _: e[i]["kind"] and e[i]["kind"] == "wire"),
        (f"e{i + 1}.kind IS NULL", lambda e, _: e[i]["kind"] is None),
        (f"e{i + 1}.x < e{j + 1}.x", lambda e, _: _less(e[i]["x"], e[j]["x"])),
        (f"e{i + 1}.kind >= e{j + 1}.kind", lambda e, _: _not(_less(e[i]["kind"], e[j]["kind"]))),
        (
            f"e{j + 1}.amount BETWEEN 0.5 * e{i + 1}.amount AND 1.5 * e{i + 1}.amount",
            lambda e, _: _between(e[i]["amount"], e[j]["amount"]),
        ),
        (
            f"e{i + 1}.amount + e{j + 1}.amount > e{k + 1}.amount",
            lambda e, _: (
                None
                if None in (e[i]["amount"], e[j]["amount"], e[k]["amount"])
                else e[i]["amount"] + e[j]["amount"] > e[k]["amount"]
            ),
        ),
        (
            f"0.5 * e{i + 1}.big <= e{j + 1}.amount",
            lambda e, _: _not(_less(e[j]["amount"], _times(e[i]["big"], Decimal("0.5")))),
        ),
        (
            f"e{i + 1}.price * 2.25 > e{j + 1}.amount",
            lambda e, _: _less(e[j]["amount"], _times(e[i]["price"], Decimal("2.25"))),
        ),
        (f"e{i + 1}.big < e{j + 1}.big", lambda e, _: _less(e[i]["big"], e[j]["big"])),
        (f"e{i + 1}.big >= e{j + 1}.big", lambda e, _: _not(_less(e[i]["big"], e[j]["big"]))),
        (
            f"e{j + 1}.price BETWEEN 0.9 * e{i + 1}.price AND e{i + 1}.price",
            lambda e, _: _all(
                _not(_less(e[j]["price"], _times(e[i]["price"], Decimal("0.9")))),
                _not(_less(e[i]["price"], e[j]["price"])),
            ),
        ),
        (
            f"e{j + 1}.day > e{i + 1}.day AND e{j + 1}.day <> e{k + 1}.day + 2",
            lambda e, _: _all(
                _less(e[i]["day"], e[j]["day"]),
                None
                if None in (e[j]["day"], e[k]["day"])
                else e[j]["day"] != e[k]["day"] + 2 * ONE_DAY,
            ),
        ),
        (f"e{i + 1}.t <> e{j + 1}.t + 2", lambda e, _: e[i]["t"] != e[j]["t"] + 2),
        (f"{one} < {other}", lambda _, v: v[one] < v[other]),
        (f"{one} <> 1", lambda _, v: v[one] != 1),
        (f"e{i + 1}.amount > {one}", lambda e, v: _less(v[one], e[i]["amount"])),
        (
            f"(e{i + 1}.kind = 'wire' OR {one} > {other})",
            lambda e, v: True if v[one] > v[other] else e[i]["kind"] and e[i]["kind"] == "wire",
        ),
    ]
    return known[int(rng.integers(len(known)))]


def _not(held: bool | None) -> bool | None:
    return None if held is None else not held


def _times(value: Decimal | int | None, factor: Decimal) -> Decimal | None:
    return None if value is None else value * factor


def _between(one: int | None, other: int | None) -> bool | None:
    if one is None or other is None:
        return None
    return one <= 2 * other and 2 * other <= 3 * one


def _parts(motif: str) -> tuple[list[tuple[str, str, bool, int]], list[tuple[str, str, int]]]:
    """Return the edges (source, target, either way, part) and the absent edges (.., after)."""
    edges, gone = [], []
    part, is_open = -1, False
    for word in motif.split(", "):
        text = word.strip("{}")
        if text.startswith("!"):
            both = "--" in text
            one, other = text[1:].replace("--", "->").split("->")
            gone += [(one, other, part), *([(other, one, part)] if both else [])]
            continue
        part += not is_open
        is_open = (is_open or word.startswith("{")) and not word.endswith("}")
        one, other = text.replace("--", "->").split("->")
        edges.append((one, other, "--" in text, part))
    return edges, gone


def _instances(rows: list[Row], case: dict[str, Any]) -> Iterator[tuple[tuple[int, ...], dict]]:
    """Yield the rows and the vertices of every instance, from the definition."""
    edges, gone = _parts(case["motif"])

    def precedes(one: int, other: int) -> bool:
        if case["ties"] == "index":
            return (rows[one]["t"], one) < (rows[other]["t"], other)
        return bool(rows[one]["t"] < rows[other]["t"])

    def fits(chosen: tuple[int, ...], mapped: dict[str, int]) -> bool:
        times = [rows[row]["t"] for row in chosen]
        if max(times) - min(times) > case["delta"]:
            return False
        if case["since"] is not None and max(times) < case["since"]:
            return False
        pairs = list(zip(chosen, (part for *_, part in edges), strict=True))
        for (one, own), (other, later) in itertools.permutations(pairs, 2):
            gap = rows[other]["t"] - rows[one]["t"]
            if own < later and not precedes(one, other):
                return False
            if later == own + 1 and not case["min_gap"] <= gap <= case["max_gap"]:
                return False
        for source, target, after in gone:
            early = [row for row, part in pairs if part == after]
            late = [row for row, part in pairs if part == after + 1]
            for number, row in enumerate(rows):
                if row["s"] == row["d"]:
                    continue
                ends = (mapped.get(source, row["s"]), mapped.get(target, row["d"]))
                if (row["s"], row["d"]) != ends:
                    continue
                begun = all(precedes(one, number) for one in early)
                ended = all(precedes(number, one) for one in late)
                near = row["t"] >= max(times) - case["delta"] if not early else True
                near &= row["t"] <= min(times) + case["delta"] if not late else True
                if begun and ended and near:
                    return False
        return all(held([rows[row] for row in chosen], mapped) for held in case["holds"])

    def extend(chosen: tuple[int, ...], mapped: dict[str, int]) -> Iterator[Any]:
        if len(chosen) == len(edges):
            if fits(chosen, mapped):
                yield chosen, mapped
            return
        source, target, either, _ = edges[len(chosen)]
        for number, row in enumerate(rows):
            for ends in {(row["s"], row["d"]), (row["d"], row["s"])} if either else ():
                yield from bind(chosen, mapped, number, (source, target), ends)
            if not either:
                yield from bind(chosen, mapped, number, (source, target), (row["s"], row["d"]))

    def bind(chosen: Any, mapped: Any, number: int, names: Any, ends: Any) -> Iterator[Any]:
        if number in chosen or ends[0] == ends[1]:
            return
        if any(mapped.get(name, end) != end for name, end in zip(names, ends, strict=True)):
            return
        extended = {**mapped, names[0]: ends[0], names[1]: ends[1]}
        if case["vertices"] == "any" or len(set(extended.values())) == len(extended):
            yield from extend((*chosen, number), extended)

    yield from extend((), {})


def _case(rng: np.random.Generator) -> tuple[list[Row], dict[str, Any], str]:
    """Return rows, what is asked of them, and the arguments that ask it."""
    motif = str(rng.choice(MOTIFS))
    edges, _ = _parts(motif)
    names = "".join(sorted({name for edge in edges for name in edge[:2]}))
    count = int(rng.integers(0, 3))
    conditions = [_condition(rng, len(edges), names) for _ in range(count)]
    case = {
        "motif": motif,
        "delta": int(rng.integers(0, 25)),
        "ties": str(rng.choice(["strict", "index"])),
        "vertices": "any" if rng.random() < 0.3 else "distinct",
        "min_gap": int(rng.integers(1, 4)) if rng.random() < 0.2 else 0,
        "max_gap": int(rng.integers(2, 12)) if rng.random() < 0.2 else 10**6,
        "since": int(rng.integers(0, 25)) if rng.random() < 0.25 else None,
        "holds": [holds for _, holds in conditions],
    }
    if case["min_gap"] == 0 and case["ties"] == "index":
        case["min_gap"] = -1
    named = ["motif", "delta", "ties", "vertices"]
    named += [name for name in ("min_gap", "since") if (case[name] or -1) > 0 or case[name] == 0]
    named += ["max_gap"] if case["max_gap"] < 100 else []
    named = [name for name in named if not (name == "min_gap" and case[name] < 1)]
    arguments = "".join(f", {name} => {case[name]!r}" for name in named)
    if conditions:
        where = " AND ".join(text for text, _ in conditions).replace("'", "''")
        arguments += f", where => '{where}'"
    return _rows(rng), case, arguments


def _check(con: raydb.Connection, seed: int) -> int:
    rng = np.random.default_rng([SEED, seed])
    rows, case, arguments = _case(rng)
    print(f"seed {[SEED, seed]}: {arguments} over {rows}")
    types = {"s": pa.int32(), "d": pa.int64(), "t": pa.int64(), "amount": pa.int32()}
    types |= {"x": pa.float64(), "kind": pa.string(), "big": pa.int64()}
    types |= {"price": pa.decimal128(9, 2), "day": pa.date32()}
    con.register("e", pa.Table.from_pylist(rows, pa.schema(types.items())))
    call = f"(e, src => 's', dst => 'd', time => 't'{arguments})"
    expected = list(_instances(rows, case))
    count = f"SELECT count FROM motif_count{call[:-1]}, method => 'exact')"
    assert con.execute(count).fetchone() == (len(expected),)
    _check_list(con, call, rows, expected)
    _check_splits(con, call, rows, expected)
    return len(expected)


def _check_list(con: raydb.Connection, call: str, rows: list[Row], expected: list[Any]) -> None:
    listed = con.execute(f"SELECT * FROM motif_list{call}").arrow().to_pylist()
    assert [row["instance"] for row in listed] == list(range(1, len(expected) + 1))
    wanted = []
    for chosen, mapped in expected:
        times = [rows[row]["t"] for row in chosen]
        places = {f"e{number}_row": row + 1 for number, row in enumerate(chosen, 1)}
        wanted.append({**mapped, **places, "first_time": min(times), "last_time": max(times)})
    for row in listed:
        del row["instance"]
    in_order = [sorted(map(_sorted_items, each)) for each in (listed, wanted)]
    assert in_order[0] == in_order[1]


def _sorted_items(row: Row) -> list[tuple[str, Any]]:
    return sorted(row.items())


def _check_splits(con: raydb.Connection, call: str, rows: list[Row], expected: list[Any]) -> None:
    names = sorted(expected[0][1]) if expected else ["a"]
    windows = Counter(min(rows[row]["t"] for row in chosen) // 7 * 7 for chosen, _ in expected)
    answer = con.execute(
        f"SELECT \"window\", count FROM motif_count{call[:-1]}, method => 'exact', every => 7)"
    )
    assert dict(answer.fetchall()) == windows
    for name in names:
        by = f"motif_count{call[:-1]}, method => 'exact', by => '{name}'"
        answer = con.execute(f"SELECT {name}, count, estimate = count FROM {by})").fetchall()
        counts = Counter(mapped[name] for _, mapped in expected)
        assert {vertex: count for vertex, count, _ in answer} == counts
        assert [count for _, count, _ in answer] == sorted(counts.values(), reverse=True)
    both = con.execute(
        f'SELECT "window", {names[-1]}, count FROM {by}, every => 7)',
    ).fetchall()
    assert {(window, vertex): count for window, vertex, count in both} == Counter(
        (min(rows[row]["t"] for row in chosen) // 7 * 7, mapped[names[-1]])
        for chosen, mapped in expected
    )


@pytest.mark.long
@pytest.mark.parametrize("block", range(2))
def test_random_questions(block: int) -> None:
    con = raydb.connect()
    found = [_check(con, seed) for seed in range(40 * block, 40 * block + 40)]
    assert sum(count > 0 for count in found) > 8


@pytest.mark.long
def test_more_random_questions() -> None:
    con = raydb.connect()
    found = [_check(con, seed) for seed in range(200, 200 + CASES)]
    assert sum(count > 0 for count in found) > CASES // 5


def test_values_are_kept_until_the_table_changes() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE e (s INTEGER, d INTEGER, t INTEGER, x INTEGER, kind VARCHAR)")
    con.execute("INSERT INTO e VALUES (1, 2, 1, 100, 'wire'), (2, 3, 2, 90, 'cash')")

    def count(where: str) -> int:
        [(found,)] = con.execute(
            "SELECT count FROM motif_count(e, src => 's', dst => 'd', time => 't', "
            "motif => 'a->b, b->c', delta => 9, method => 'exact', where => ?)",
            [where],
        ).fetchall()
        return int(found)

    wheres = {
        "e2.x >= 0.9 * e1.x": (1, 2),
        "e2.x >= 0.95 * e1.x": (0, 1),
        "e1.kind > e2.kind": (1, 1),
        "e1.kind = 'wire'": (1, 3),
        "e1.x + e2.x = 190": (1, 1),
    }
    for turn in range(2):
        for where, counts in wheres.items():
            assert [count(where), count(where)] == [counts[turn]] * 2, where
        con.execute("INSERT INTO e VALUES (2, 4, 3, 100, 'wire'), (2, 5, 4, NULL, NULL)")


def test_intervals_are_compared() -> None:
    con = raydb.connect()
    con.execute(
        "CREATE TABLE e AS SELECT i % 7 AS s, i * 5 % 6 AS d, i AS t, "
        "INTERVAL 1 DAY * (i * 37 % 50 - 10) AS span FROM range(60) r(i)"
    )
    joined = "e1.d = e2.s AND e1.s <> e2.d AND e1.s <> e1.d AND e2.s <> e2.d AND e2.t > e1.t"
    for operator in ("<", ">=", "=", "<>"):
        condition = f"2 * e1.span {operator} e2.span"
        found = con.execute(
            "SELECT count FROM motif_count(e, src => 's', dst => 'd', time => 't', "
            "motif => 'a->b, b->c', delta => 60, method => 'exact', where => ?)",
            [condition],
        ).fetchall()
        query = f"SELECT count(*) FROM e e1 JOIN e e2 ON {joined} AND {condition}"
        assert found == con.execute(query).fetchall()
