"""A writer that is killed at any request to an object store leaves each statement done or not done.

    python tests/reliability/objects_kills.py --statements 200 --seed 1

Each statement is begun again and again by a new process, which is killed at its first request, at
its second one, and so on, before the store has done it or after, until the statement is done. It is
a transaction that also notes its number, so that what is there is told by the number alone.
"""

from __future__ import annotations

import argparse
import random
from typing import TYPE_CHECKING, Any

from objects import CONFIG, Store, Writer
from processes import FindingError
from store_faults import Fault

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_REQUESTS = 200
BEGIN = """
    CREATE TABLE done (n INTEGER PRIMARY KEY);
    CREATE TABLE d (k INTEGER PRIMARY KEY, name VARCHAR);
    INSERT INTO d SELECT range, 'name ' || range FROM range(20);
    CREATE TABLE f (id INTEGER PRIMARY KEY, k INTEGER NOT NULL REFERENCES d (k), x INTEGER);
    CREATE BVH b ON f (SCAN (k), GROUP BY (k), AGGREGATE (x));
"""
STATE = """
    SELECT (SELECT max(n) FROM done), count(*), sum(id), sum(x), sum(length(name))
    FROM f JOIN d USING (k)
"""


def changes(seed: int, count: int) -> list[str]:
    """Return statements, small and large."""
    chosen = random.Random(seed)
    found = []
    for n in range(count):
        first = 10_000 * (n + 1)
        found.append(
            chosen.choice(
                (
                    f"INSERT INTO f VALUES ({first}, {n % 20}, {n})",
                    f"INSERT INTO f SELECT {first} + range, range % 20, range FROM range(5000)",
                    f"UPDATE f SET x = x + 1 WHERE k = {n % 20}",
                    f"DELETE FROM f WHERE id % 7 = {n % 7}",
                    f"UPDATE d SET name = name || 'x' WHERE k = {n % 20}",
                    f"CREATE TABLE t{n} AS SELECT {n} AS n",
                )
            )
        )
    return found


def step_once(say: Callable[..., None], url: str, number: int, change: str) -> None:
    """Make a change unless it was made."""
    with raydb.connect(url, config=CONFIG) as con:
        if not con.execute("SELECT count(*) FROM done WHERE n = ?", [number]).fetchone()[0]:
            con.execute(f"BEGIN; {change}; INSERT INTO done VALUES ({number}); COMMIT")
        say("done")
        if number % 5 == 4:
            con.execute("VACUUM" if number % 50 == 49 else "CHECKPOINT")
            say("moved")


class Run:
    """The kills of writers of one list of changes."""

    def __init__(self, store: Store, made: Sequence[str]) -> None:
        self.store, self.changes = store, made
        self.states = [self._expected(count) for count in range(len(made) + 1)]
        self.kills = self.silent = 0

    def _expected(self, count: int) -> tuple[Any, ...] | None:
        if not count:
            self._model = raydb.connect()
            self._model.execute(BEGIN)
        else:
            self._model.execute(self.changes[count - 1])
            self._model.execute("INSERT INTO done VALUES (?)", [count - 1])
        return self._model.execute(STATE).fetchone()

    def kill_all(self) -> None:
        """Kill writers until each change is made."""
        with raydb.connect(self.store.url) as con:
            con.execute(BEGIN)
        for number in range(len(self.changes)):
            for place in range(2, 2 * MOST_REQUESTS):
                if self._is_over(number, place // 2, is_performed=bool(place % 2)):
                    break
            else:
                raise FindingError(f"change {number} is not over after {MOST_REQUESTS} requests")

    def _is_over(self, number: int, request: int, *, is_performed: bool) -> bool:
        """Kill a writer at its n-th request; tell whether it came to its end."""
        server, met = self.store.server, [0]
        if not is_performed:
            server.faults[:] = [Fault("cut", at=(request,))]
        writers: list[Writer] = []

        def kill(_: Any) -> None:
            met[0] += 1
            if met[0] == request:
                writers[0].kill()

        server.hook = kill
        writers.append(
            Writer(step_once, self.store.environment, self.store.url, number, self.changes[number])
        )
        words = writers[0].words()
        server.hook = None
        server.faults.clear()
        (state,) = self.store.read(STATE)
        known = [k for k in (number, number + 1) if state == self.states[k]]
        self.kills += met[0] >= request
        if not known or (words and known[-1] == number):
            raise FindingError(
                f"change {number}, killed at request {request}, "
                f"{'done' if is_performed else 'not done'}: acknowledged {words}, state {state}, "
                f"expected {self.states[number : number + 2]}"
            )
        self.silent += known[-1] == number + 1 and not words
        return met[0] < request


def run(statements: int, seed: int) -> tuple[str, list[str]]:
    """Kill writers at every request; return the figures, and what went wrong."""
    findings = []
    with Store() as store:
        each = Run(store, changes(seed, statements))
        try:
            each.kill_all()
        except FindingError as error:
            findings.append(f"seed {seed}: {error}")
        figures = f"{statements} statements, {each.kills} kills, {each.silent} done in silence"
    return figures, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--statements", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures, findings = run(options.statements, options.seed)
    print(f"seed {options.seed}", figures, f"{len(findings)} findings", *findings, sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
