"""Random statements of several connections, beside a model of snapshot isolation.

RAYDB_FUZZ_INTERLEAVINGS sets how many runs there are, RAYDB_FUZZ_SEED chooses others.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

RUNS = int(os.environ.get("RAYDB_FUZZ_INTERLEAVINGS", "8"))
SEED = int(os.environ.get("RAYDB_FUZZ_SEED", "20260501"))
STEPS = 60
CONNECTIONS = 4
TABLES = ("a", "b")
STAMPS = count()

# A table's rows by their key: the value, and a number that each change of a row makes another one.
Rows = dict[int, tuple[int, int]]


@dataclass
class Transaction:
    """What a transaction reads, and what it has done."""

    base: dict[str, Rows]
    view: dict[str, Rows]
    changed: set[tuple[str, int]] = field(default_factory=set)
    inserted: set[tuple[str, int]] = field(default_factory=set)
    may_conflict: bool = False

    @staticmethod
    def of(committed: dict[str, Rows]) -> Transaction:
        return Transaction(committed, copied(committed))

    def conflicts(self, committed: dict[str, Rows]) -> bool:
        """Whether others have changed a row that it has changed, or have a key that it has."""
        changed = any(
            committed[table].get(key) != self.base[table][key] for table, key in self.changed
        )
        return changed or any(key in committed[table] for table, key in self.inserted)

    def apply_to(self, committed: dict[str, Rows]) -> dict[str, Rows]:
        """Return what is committed afterwards."""
        after = copied(committed)
        for table, key in self.changed | self.inserted:
            after[table].pop(key, None)
            if key in self.view[table]:
                after[table][key] = self.view[table][key]
        return after


def copied(tables: dict[str, Rows]) -> dict[str, Rows]:
    return {name: dict(rows) for name, rows in tables.items()}


class Interleaving:
    """Connections to a database, and what each of them should read."""

    def __init__(self, path: Path | None, chance: random.Random) -> None:
        self.chance = chance
        first = raydb.connect(path)
        self.committed: dict[str, Rows] = {}
        for name in TABLES:
            first.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, v INTEGER)")
            first.execute(f"INSERT INTO {name} SELECT range, 0 FROM range(6)")
            self.committed[name] = {key: (0, next(STAMPS)) for key in range(6)}
        first.execute("CREATE BVH s ON a (SCAN (id), AGGREGATE (v))")
        self.connections = [first, *(first.duplicate() for _ in range(CONNECTIONS - 1))]
        self.transactions: list[Transaction | None] = [None] * CONNECTIONS
        self.unread = set[int]()

    def step(self) -> None:
        place = self.chance.randrange(CONNECTIONS)
        con, transaction = self.connections[place], self.transactions[place]
        kind = self.chance.random()
        if kind < 0.15 and transaction is None:
            # What it reads is settled by its first statement, which may come later.
            self.begin(place)
            return
        if kind < 0.15:
            self.end(place)
        elif kind < 0.2 and transaction is None:
            self.keep_house(con)
        elif kind < 0.75:
            self.write(place)
        self.check(place)

    def begin(self, place: int) -> None:
        self.connections[place].begin()
        self.transactions[place] = Transaction.of(self.committed)
        self.unread.add(place)

    def read(self, place: int) -> Transaction | None:
        """Return the transaction of a connection that runs a statement."""
        if place in self.unread:
            self.unread.remove(place)
            self.transactions[place] = Transaction.of(self.committed)
        return self.transactions[place]

    def end(self, place: int) -> None:
        con, transaction = self.connections[place], self.read(place)
        assert transaction is not None
        self.transactions[place] = None
        if self.chance.random() < 0.2:
            con.rollback()
            return
        conflicts = transaction.conflicts(self.committed)
        try:
            con.commit()
        except (raydb.ConflictError, raydb.IntegrityError):
            assert conflicts or transaction.may_conflict
            assert not con.in_transaction
        else:
            assert not conflicts
            self.committed = transaction.apply_to(self.committed)

    def keep_house(self, con: raydb.Connection) -> None:
        text = self.chance.choice(("CHECKPOINT", "VACUUM"))
        con.execute(text)
        for transaction in self.transactions:
            if transaction is not None and text == "VACUUM":
                transaction.may_conflict = True

    def write(self, place: int) -> None:
        con, transaction = self.connections[place], self.read(place)
        own = transaction or Transaction.of(self.committed)
        name, key = self.chance.choice(TABLES), self.chance.randrange(10)
        rows = own.view[name]
        match self.chance.randrange(4):
            case 0:
                text, keys = f"INSERT INTO {name} VALUES ({key}, {key})", {key}
                if key in rows:
                    with pytest.raises(raydb.IntegrityError):
                        con.execute(text)
                    return
                rows[key] = key, next(STAMPS)
                if key not in own.base[name]:
                    own.inserted.add((name, key))
            case 1:
                text, keys = f"DELETE FROM {name} WHERE id = {key}", {key} & rows.keys()
                rows.pop(key, None)
            case 2:
                text, keys = f"UPDATE {name} SET v = v + 1 WHERE id = {key}", {key} & rows.keys()
            case _:
                keys = {each for each in rows if each % 3 == key % 3}
                text = f"UPDATE {name} SET v = v + 1 WHERE id % 3 = {key % 3}"
        if text.startswith("UPDATE"):
            rows.update({each: (rows[each][0] + 1, next(STAMPS)) for each in keys})
        own.changed |= {(name, each) for each in keys if each in own.base[name]}
        con.execute(text)
        if transaction is None:
            self.committed = own.apply_to(self.committed)

    def check(self, place: int) -> None:
        con, transaction = self.connections[place], self.read(place)
        for name, rows in (self.committed if transaction is None else transaction.view).items():
            expected = sorted((key, value) for key, (value, _) in rows.items())
            assert con.execute(f"SELECT id, v FROM {name} ORDER BY id").fetchall() == expected
            total = sum(value for key, value in expected if key < 5) if expected else None
            found = con.execute(f"SELECT sum(v) FROM {name} WHERE id < 5").fetchone()
            assert found == (total if any(key < 5 for key, _ in expected) else None,)


@pytest.mark.parametrize("number", range(RUNS))
def test_connections_agree_with_the_model(number: int, tmp_path: Path) -> None:
    path = tmp_path / "d" if number % 2 else None
    run = Interleaving(path, random.Random(SEED + number))
    for _ in range(STEPS):
        run.step()
    for place, transaction in enumerate(run.transactions):
        if transaction is not None:
            run.end(place)
    run.check(0)
    for con in run.connections:
        con.close()
    if path is not None:
        run.connections = [raydb.connect(path)]
        run.check(0)
        run.connections[0].close()
