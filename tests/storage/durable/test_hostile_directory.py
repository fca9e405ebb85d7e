"""A database of a stranger: what lies in place of its files leads nowhere and waits for nobody."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

import raydb

FOLDERS = ("manifests", "data", "wal")
PARTS = ("LOCK", "CURRENT", *FOLDERS, *(f"{folder}/" for folder in FOLDERS))
MINE = "what must not be touched"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a; CHECKPOINT; INSERT INTO t VALUES (2)")
    return path


def place_of(path: Path, part: str) -> Path:
    """Return the path of a part; that of a file where it is a folder's name with a slash."""
    place = path / part
    return max(place.iterdir()) if part.endswith("/") else place


def put(kind: str, place: Path, outside: Path) -> None:
    """Put something else in place of a file or a folder."""
    if place.is_dir():
        place.rename(outside / "folder")
        target = outside / "folder"
    else:
        target = outside / "file"
        target.write_text(MINE)
        place.unlink()
    match kind:
        case "symbolic link":
            place.symlink_to(target)
        case "named pipe":
            os.mkfifo(place)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                folder = os.open(place.parent, os.O_RDONLY)
                listener.bind(f"/proc/self/fd/{folder}/{place.name}")
                os.close(folder)
        case "directory":
            place.mkdir()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["symbolic link", "named pipe", "socket", "directory"])
def test_what_is_no_file_is_refused(path: Path, tmp_path: Path, part: str, kind: str) -> None:
    place = place_of(path, part)
    if kind == "directory" and place.is_dir():
        pytest.skip("a folder is one")
    if kind == "socket" and not Path("/proc/self/fd").exists():
        pytest.skip("the path would be too long for a socket")
    outside = tmp_path / "outside"
    outside.mkdir()
    put(kind, place, outside)
    before = {p.name: p.read_bytes() for p in outside.rglob("*") if p.is_file()}
    for read_only in (True, False):
        if part == "LOCK" and read_only:
            continue  # readers do not look at it
        with pytest.raises(raydb.OperationalError) as caught:
            raydb.connect(path, read_only=read_only, external_access=False)
        wanted = "directory" if part in FOLDERS else "regular file"
        assert f"'{place}': not a {wanted}, but a {kind}" in str(caught.value)
    assert {p.name: p.read_bytes() for p in outside.rglob("*") if p.is_file()} == before


def test_a_link_that_leads_nowhere_makes_no_file(path: Path, tmp_path: Path) -> None:
    for name in ("LOCK", "CURRENT"):
        (path / name).unlink()
        (path / name).symlink_to(tmp_path / "new")
        with pytest.raises(raydb.OperationalError, match=f"{name}': not a regular file, but a sy"):
            raydb.connect(path)
        (path / name).unlink()
        assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("part", ["LOCK", "CURRENT", "wal/"])
def test_a_file_with_another_name_is_not_written(path: Path, tmp_path: Path, part: str) -> None:
    place, outside = place_of(path, part), tmp_path / "outside"
    place.rename(outside)
    place.hardlink_to(outside)
    before = outside.read_bytes()
    if part == "CURRENT":  # it may be lost, and another takes its place
        with raydb.connect(path) as con:
            con.execute("INSERT INTO t VALUES (3); CHECKPOINT")
    else:
        with pytest.raises(raydb.OperationalError, match=f"'{place}': not a file of its own"):
            raydb.connect(path)
    assert outside.read_bytes() == before


def test_the_database_itself_may_be_behind_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    for read_only in (True, False):
        with raydb.connect(tmp_path / "link", read_only=read_only) as con:
            assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_empty_folders_may_be_lost_in_a_copy(path: Path) -> None:
    with raydb.connect(path) as con:
        con.execute("DROP TABLE t")
    shutil.rmtree(path / "data")
    for read_only in (True, False):
        raydb.connect(path, read_only=read_only).close()
