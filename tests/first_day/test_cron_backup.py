"""A backup by cron while a writer goes on: the files of one run belong together, and load again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

BACKUP = """\
import sys
import raydb

database, folder = sys.argv[1:]
with raydb.connect(database, read_only=True) as con:
    con.execute("BEGIN")
    for (name,) in con.execute("SHOW TABLES").fetchall():
        con.execute(f"COPY {name} TO '{folder}/{name}.parquet'")
    con.commit()
"""


@pytest.mark.long
def test_backups_beside_a_writer_hold_whole_commits(tmp_path: Path) -> None:
    path = tmp_path / "bank.raydb"
    script = tmp_path / "backup.py"
    script.write_text(BACKUP, encoding="utf-8")
    done = threading.Event()
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE debit (n INTEGER, amount INTEGER)")
        con.execute("CREATE TABLE credit (n INTEGER, amount INTEGER)")

        def write() -> None:
            n = 0
            while not done.is_set():
                n += 1
                con.execute("BEGIN")
                con.execute("INSERT INTO debit VALUES (?, ?)", [n, n % 97])
                con.execute("INSERT INTO credit VALUES (?, ?)", [n, n % 97])
                con.execute("COMMIT")
                if n % 50 == 0:
                    con.execute("CHECKPOINT")
                time.sleep(0.005)  # the backups are to have a processor, too

        writer = threading.Thread(target=write)
        writer.start()
        try:
            folders = [tmp_path / f"night {number}" for number in range(3)]
            for folder in folders:
                folder.mkdir()
                subprocess.run([sys.executable, script, path, folder], check=True)
        finally:
            done.set()
            writer.join()
    found = []
    for folder in folders:
        with raydb.connect() as restored:
            for name in ("debit", "credit"):
                restored.execute(f"CREATE TABLE {name} AS FROM '{folder}/{name}.parquet'")
            sums = "SELECT count(*), max(n), sum(amount) FROM"
            debit = restored.execute(f"{sums} debit").fetchone()
            assert debit == restored.execute(f"{sums} credit").fetchone()
            assert debit[0] == (debit[1] or 0)
            found.append(debit[0])
    assert found == sorted(found)


def test_a_copy_of_a_closed_database_is_one(tmp_path: Path) -> None:
    path, copy = tmp_path / "shop.raydb", tmp_path / "copy.raydb"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT range AS a FROM range(1000)")
    subprocess.run(["cp", "-r", path, copy], check=True)
    with raydb.connect(path) as con, raydb.connect(copy) as other:
        con.execute("DELETE FROM t")
        assert other.execute("SELECT count(*) FROM t").fetchone() == (1000,)
