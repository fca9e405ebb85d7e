"""Objects of a database that are damaged, missing or old are named or read rightly: no wrong row.

    python tests/reliability/objects_damage.py --places 40 --seed 1

Each object of a database is cut off, flipped at some places, taken away, and replaced: HEAD by each
earlier one, which is to show what was there then, and a file by another one of its kind.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from objects import CONFIG, Store

import raydb
from raydb.storage.objects.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MADE = (
    "CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL)",
    "INSERT INTO d SELECT range, 'name ' || range % 9 FROM range(40)",
    "CREATE TABLE f (id INTEGER PRIMARY KEY, d INTEGER NOT NULL REFERENCES d (id), x INTEGER, "
    "v FLOAT[4], t VARCHAR)",
    "INSERT INTO f SELECT range, range % 40, range % 1000, "
    "[range % 7, range % 11, range % 13, 1]::FLOAT[4], 'text ' || range FROM range(6000)",
    "CREATE BVH b ON f (SCAN (name), GROUP BY (name), AGGREGATE (x))",
    "CREATE INDEX near ON f USING ivf (v) WITH (lists = 5)",
    "CHECKPOINT",
    "DELETE FROM f WHERE id % 100 = 7",
    "INSERT INTO f VALUES (9000, 3, 5, [1, 2, 3, 4], 'late')",
)
QUERIES = (
    "SELECT name, sum(x), count(*) FROM f JOIN d ON d = d.id WHERE name <> 'name 3' "
    "GROUP BY name ORDER BY name",
    "SELECT id, x, t FROM f WHERE id IN (77, 4001, 9000) ORDER BY id",
    "SELECT sum(x), count(t), max(t), sum(d) FROM f",
    "SELECT id FROM vector_search(f, v, [1, 2, 3, 1], k => 5, nprobe => 5)",
    "SELECT count(*), max(name) FROM d",
)


def answers(url: str) -> list[Any]:
    """Return for each query its rows, or the sentence that says why there are none."""
    try:
        con = raydb.connect(url, read_only=True, config=CONFIG | {"cache_size": 0})
    except raydb.Error as error:
        return [str(error)] * len(QUERIES)
    found: list[Any] = []
    with con:
        for sql in QUERIES:
            try:
                found.append(con.execute(sql).fetchall())
            except raydb.Error as error:
                found.append(str(error))
    return found


def changes(
    content: bytes, others: Sequence[bytes], places: int, random: Random
) -> Iterator[tuple[str, bytes | None]]:
    """Yield what may become of an object: a word, and its content, None where it is gone."""
    yield "missing", None
    for size in {0, 1, len(content) - 1, *(random.randrange(len(content)) for _ in range(places))}:
        yield f"cut at {size}", content[:size]
    for _ in range(places):
        place = random.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << random.randrange(8)
        yield f"flipped at {place}", bytes(changed)
    for number, other in enumerate(others):
        yield f"replaced by {number}", other


def run(places: int, seed: int) -> tuple[str, list[str]]:
    """Damage every object; return the figures, and what went wrong."""
    random, findings, ends = Random(f"damage {seed}"), [], Counter[str]()
    with Store() as store:
        store.server.keeps_versions = True
        states = []
        with raydb.connect(store.url) as con:
            for statement in MADE:
                con.execute(statement)
                states.append(answers(store.url))
        expected = states[-1]
        if any(isinstance(each, str) for each in expected):
            return "", [f"a whole database does not answer: {expected}"]
        objects, _ = open_store(f"s3://{store.bucket}/x")
        # Not what is no longer named.
        keys = [each.key for each in objects.entries("")]
        contents = {key: bytes(objects.get(key).data) for key in keys}
        for key in keys:
            is_head = key.endswith("/HEAD")
            others = (
                store.server.versions[f"/{store.bucket}/{key}"][:-1]
                if is_head
                else [contents[other] for other in keys if other != key and other[-5:] == key[-5:]]
            )
            for word, content in changes(contents[key], others, places, random):
                if content is None:
                    objects.delete([key])
                else:
                    objects.put(key, content)
                allowed = [*states, expected] if is_head and "replaced" in word else [expected]
                for place, found in enumerate(answers(store.url)):
                    if found in [state[place] for state in allowed]:
                        ends["right"] += 1
                    elif isinstance(found, str):
                        ends["named"] += 1
                        if store.url not in found and key not in found and "does not" not in found:
                            findings.append(f"{key} {word}: {found}")
                    else:
                        findings.append(f"{key} {word}: {QUERIES[place]}: {str(found)[:200]}")
            objects.put(key, contents[key])
        if answers(store.url) != expected:
            findings.append("the database is not as it was")
        kinds = Counter(key.rpartition(".")[2] for key in keys)
    return f"{dict(kinds)}: {dict(ends)} answers", [f"seed {seed}: {each}" for each in findings]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures, findings = run(options.places, options.seed)
    print(f"seed {options.seed}", figures, f"{len(findings)} findings", *findings[:10], sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
