"""The cache of objects on disk beside faults, and a store that heeds no condition."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys

import obstore
import pytest

import raydb
from raydb.storage.objects import cache

READ = "SELECT count(*), sum(x), max(y) FROM t"


@pytest.fixture
def url(bucket, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return f"s3://{bucket}/shop.raydb"


def fill(url):
    with raydb.connect(url) as con:
        con.execute("CREATE TABLE t AS SELECT range AS x, 'name ' || range AS y FROM range(50_000)")
        return con.execute(READ).fetchall()


def test_a_full_disk_is_named_and_the_cache_may_be_left_out(url, tmp_path, monkeypatch):
    expected = fill(url)
    shutil.rmtree(tmp_path / "cache")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache, "write_at", full)
    with pytest.raises(raydb.OperationalError, match=r"cache_directory '.*no space left"):
        raydb.connect(url, read_only=True).execute(READ)
    with raydb.connect(url, read_only=True, config={"cache_size": 0}) as con:
        assert con.execute(READ).fetchall() == expected


def test_a_folder_that_cannot_be_made_is_a_warning(url, tmp_path):
    expected = fill(url)
    (tmp_path / "file").write_text("in the way")
    config = {"cache_directory": str(tmp_path / "file")}
    with raydb.connect(url, read_only=True, config=config) as con:
        assert con.execute(READ).fetchall() == expected


@pytest.mark.long
def test_processes_fill_a_cache_at_once(url, tmp_path):
    expected = fill(url)
    shutil.rmtree(tmp_path / "cache")
    program = (
        f"import raydb; print(raydb.connect({url!r}, read_only=True).execute({READ!r}).fetchall())"
    )
    readers = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert {reader.communicate()[0].strip() for reader in readers} == {str(expected)}


def test_the_cache_keeps_within_its_size(url, tmp_path):
    config = {"cache_size": "100KB"}
    for number in range(4):
        with raydb.connect(f"{url}{number}", config=config) as con:
            con.execute("CREATE TABLE t AS SELECT range AS x, hash(range) AS y FROM range(20_000)")
    files = [path for path in (tmp_path / "cache").rglob("*.obj") if path.is_file()]
    assert sum(path.stat().st_blocks * 512 for path in files) < 400_000


def test_a_store_without_conditions_is_refused_at_the_first_change(url, monkeypatch):
    put = obstore.put
    monkeypatch.setattr(obstore, "put", lambda *a, mode, **k: put(*a, mode="overwrite", **k))
    with (
        raydb.connect(url) as con,
        pytest.raises(raydb.OperationalError, match="its store has no conditional writes"),
    ):
        con.execute("CREATE TABLE t (x INTEGER)")
