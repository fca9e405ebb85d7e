"""Compiled loops are kept in places that may be missing, shared, damaged or somebody else's."""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import numba
import numpy as np
import pytest

from raydb.kernels import code_cache

if TYPE_CHECKING:
    from pathlib import Path

CODE = b"machine code"

LOOP = """
from raydb.kernels.jit import entry

@entry
def twice(value):
    return value + value
"""

PARTS = """
from raydb.kernels.jit import compiled, entry, inlined, inner, leaf, not_inlined

@inlined
def added(numbers, more):
    for i in range(len(numbers)):
        numbers[i] += more

@compiled
def add(numbers, more):
    not_inlined()
    added(numbers, more)

@leaf
def checked(count):
    if count < 0:
        raise ValueError("less than none")
    return count

@inner
def filled(count):
    numbers = np.zeros(checked(count))
    add(numbers, 2.5)
    return numbers

@entry
def total(count):
    return filled(count).sum() + checked(count)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the only place, which does not exist yet."""
    monkeypatch.setenv("RAYDB_CACHE_DIR", str(tmp_path / "made" / "here"))
    code_cache._warn_once.cache_clear()
    return tmp_path / "made" / "here"


def only_file(place: Path) -> Path:
    (found,) = (path for path in place.rglob("*") if path.is_file())
    return found


def test_what_is_kept_is_read_again(place):
    assert code_cache.load("tools", "scan-1") is None
    code_cache.save("tools", "scan-1", CODE)
    assert code_cache.load("tools", "scan-1") == CODE
    assert code_cache.load("other tools", "scan-1") is None
    assert code_cache.load("tools", "scan-2") is None
    (found,) = code_cache.examine("tools")
    assert (found.path, found.loop_count, found.obstacle) == (place, 1, "")


def test_a_damaged_file_is_no_code(place):
    code_cache.save("tools", "scan", CODE)
    path = only_file(place)
    for text in (b"", path.read_bytes()[:-1], path.read_bytes() + b"x"):
        path.write_bytes(text)
        assert code_cache.load("tools", "scan") is None
    code_cache.save("tools", "scan", CODE)
    assert code_cache.load("tools", "scan") == CODE


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_code_that_others_may_have_written_is_not_run(place):
    code_cache.save("tools", "scan", CODE)
    path = only_file(place)
    for mode, expected in ((0o666, None), (0o664, None), (0o444, CODE)):
        path.chmod(mode)
        assert code_cache.load("tools", "scan") == expected
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        assert code_cache.load("tools", "scan") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_folder_that_others_may_write_to_is_not_ours(place, caplog):
    (place / code_cache._own_name()).mkdir(parents=True)
    (place / code_cache._own_name()).chmod(0o777)
    code_cache.save("tools", "scan", CODE)
    assert "others can write to" in caplog.text
    assert code_cache.load("tools", "scan") is None


def test_what_cannot_be_kept_is_told_once(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAYDB_CACHE_DIR", str(tmp_path / "file"))
    code_cache._warn_once.cache_clear()
    for number in range(3):
        code_cache.save("tools", f"scan-{number}", CODE)
    ((name, level, text),) = caplog.record_tuples
    assert (name, level) == ("raydb", logging.WARNING)
    assert f"'{tmp_path / 'file'}'" in text
    assert "RAYDB_CACHE_DIR names another folder" in text


def load_loop(path: Path):
    return load(path).twice


def load(path: Path):
    spec = importlib.util.spec_from_file_location("some_loop", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_loop_of_each_type_is_compiled_once(place, tmp_path):
    path = tmp_path / "some_loop.py"
    path.write_text(LOOP)
    first = load_loop(path)
    assert (first(2), first(0.5)) == (4, 1.0)
    assert sum(first.stats.cache_misses.values()) == 2
    again = load_loop(path)
    assert (again(2), again(0.5), type(again(0.5))) == (4, 1.0, float)
    assert not again.stats.cache_misses


def test_what_others_call_is_part_of_what_is_kept(place, tmp_path):
    path = tmp_path / "some_loop.py"
    path.write_text("import numpy as np\n" + PARTS)
    for loaded in (False, True):
        module = load(path)
        assert module.total(4) == 14.0
        assert module.total.stats.cache_hits == (Counter(module.total.signatures) if loaded else {})
        with pytest.raises(ValueError, match="less than none"):
            module.total(-1)
        assert sorted(each.name.split("-")[0] for each in place.rglob("*.nbc")) == [
            "some_loop.add",
            "some_loop.total",
        ]
    numbers = np.zeros(3)
    module.add(numbers, 1.5)
    assert numbers.tolist() == [1.5, 1.5, 1.5]


PROCESS = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from some_loop import twice
Path(sys.argv[1], f"ready-{sys.argv[2]}").touch()
while not Path(sys.argv[1], "go").exists():
    time.sleep(0.001)
assert twice(21) == 42
print(sum(twice.stats.cache_misses.values()))
"""


@pytest.mark.long
def test_processes_that_want_a_loop_at_once_compile_it_once(place, tmp_path):
    (tmp_path / "some_loop.py").write_text(LOOP)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(tmp_path), str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    while len(list(tmp_path.glob("ready-*"))) < 3:
        assert all(each.poll() is None for each in started)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    assert sorted(each.communicate()[0].strip() for each in started) == ["0", "0", "1"]
    assert only_file(place).suffix == ".nbc"


def test_a_claim_is_waited_for_and_no_longer_than_a_minute(place, monkeypatch):
    first = code_cache.claim("tools", "scan")
    assert code_cache.claim("tools", "other scan") is not None
    monkeypatch.setattr(code_cache, "_WAIT_SECONDS", 0.1)
    assert code_cache.claim("tools", "scan") is None
    first.end()
    second = code_cache.claim("tools", "scan")
    assert second is not None
    second.end()


def test_a_loop_that_fails_is_free_for_others(place, tmp_path, monkeypatch):
    path = tmp_path / "some_loop.py"
    path.write_text(LOOP.replace("value + value", "value.unknown"))
    ended = []
    monkeypatch.setattr(code_cache.Claim, "end", lambda claim: ended.append(claim.path.name))
    loop = load_loop(path)
    with pytest.raises(numba.TypingError):
        loop(1)
    (name,) = ended
    assert name.startswith("some_loop.twice-")


def test_loops_run_without_a_place(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAYDB_CACHE_DIR", str(tmp_path / "file" / "below"))
    code_cache._warn_once.cache_clear()
    path = tmp_path / "some_loop.py"
    path.write_text(LOOP)
    assert load_loop(path)(21) == 42
    assert len(caplog.records) == 1


def test_other_sources_are_another_toolchain(tmp_path, monkeypatch):
    found = set()
    monkeypatch.setattr(code_cache, "_SOURCES", tmp_path)
    for text in ("a = 1", "a = 2"):
        (tmp_path / "loops.py").write_text(text)
        code_cache.sources_hash.cache_clear()
        found.add(code_cache.sources_hash())
    code_cache.sources_hash.cache_clear()
    assert len(found) == 2
