"""Commits in an object store whose replies are lost are neither lost, doubled nor judged wrongly.

    python tests/reliability/objects_commits.py --commits 1000 --seed 1
    python tests/reliability/objects_commits.py --races 200 --seed 1

With --races two processes write, and whoever loses tries again. An error that says that nobody
knows may be followed by either; one that names another writer may not be followed by the row.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from objects import CONFIG, Store, Writer
from store_faults import Fault, chosen

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable

# What happens to a write of HEAD, and how often.
FAULTS = (
    ("lost reply", None, 0.2),
    ("status after", 500, 0.05),
    ("zombie", 1, 0.05),
    ("cut", None, 0.05),
    ("reset", None, 0.05),
    ("status", 409, 0.05),
    ("status", 503, 0.05),
)


def faults(seed: int, share: float) -> list[Fault]:
    return [
        Fault(kind, "PUT", "/HEAD$", chosen(seed * 100 + place, share * chance), value)
        for place, (kind, value, chance) in enumerate(FAULTS)
    ]


def insert(say: Callable[..., None], url: str, name: int, commits: int, seed: int) -> None:
    """Insert numbered rows, each until it is there, or nobody knows."""
    random = Random(f"commits {seed} {name}")
    with raydb.connect(url, config=CONFIG) as con:
        for number in range(commits):
            while True:
                try:
                    con.execute("INSERT INTO t VALUES (?, ?)", [name, number])
                except raydb.OperationalError as error:
                    if "another writer" in str(error):
                        say("lost", number)
                        continue
                    say("doubtful", number, str(error))
                else:
                    say("done", number)
                break
            if random.random() < 0.03:
                try:
                    con.execute("CHECKPOINT")
                except raydb.OperationalError as error:
                    say("checkpoint", number, str(error))


def judge(found: Counter[Any], name: int, words: list[tuple[Any, ...]]) -> tuple[str, list[str]]:
    """Compare the rows of a writer with what it was told; return figures and findings."""
    told = Counter(each[0] for each in words)
    findings = []
    for each in words:
        count = found[name, each[1]]
        if each[0] == "done" and count != 1:
            findings.append(f"row {each[1]} of writer {name} was told to be done: {count} times")
        if each[0] == "doubtful" and count > 1:
            findings.append(f"row {each[1]} of writer {name} is there {count} times: {each[2]}")
    return f"writer {name}: {dict(told)}", findings


def run(commits: int, writers: int, seed: int, share: float) -> tuple[str, list[str]]:
    """Let some writers make so many commits each; return the figures, and what went wrong."""
    with Store() as store:
        with raydb.connect(store.url) as con:
            con.execute("CREATE TABLE t (writer INTEGER, n INTEGER)")
        store.server.faults[:] = made = faults(seed, share)
        all_of_them = [
            Writer(insert, store.environment, store.url, name, commits, seed)
            for name in range(writers)
        ]
        words = [writer.words() for writer in all_of_them]
        store.server.faults.clear()
        store.server.land_all()
        found = Counter(store.read("SELECT writer, n FROM t"))
        figures, findings = [f"writes of HEAD: {made[0].met}"], []
        for name, said in enumerate(words):
            figure, wrong = judge(found, name, said)
            figures.append(figure)
            findings += wrong
            if writers == 1 and any(each[0] == "lost" for each in said):
                findings.append("a writer that was alone was told of another one")
        return "; ".join(figures), [f"seed {seed}: {each}" for each in findings]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--races", type=int, help="commits of each of two writers")
    parser.add_argument("--share", type=float, default=1.0, help="of the faults' chances")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    writers = 1 if options.races is None else 2
    commits = options.races or options.commits
    figures, findings = run(commits, writers, options.seed, options.share)
    print(f"seed {options.seed}", figures, f"{len(findings)} findings", *findings[:10], sep="\n")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
