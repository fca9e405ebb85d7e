"""Which files become one: few are left, each is rewritten a few times, and memory is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from raydb.errors import OperationalError
from raydb.storage.tables.file_merges import FANOUT, JoinedPart, TakenPart, compacted, tiered
from raydb.storage.tables.parts import ArrowPart, FilePart

if TYPE_CHECKING:
    from collections.abc import Callable

EQUAL: Callable[[Random], int] = lambda _: 8  # noqa: E731
INSERTS = {
    "equal": EQUAL,
    "of any size": lambda random: 1 + int(random.lognormvariate(3, 2)),
    "few of which are large": lambda random: random.choice((8,) * 9 + (8000,)),
    "ever smaller": lambda random: random.choice((1, 30, 900, 27_000)),
}


@dataclass
class Sized:
    """What is known of an open file here."""

    expected_bytes: int
    row_count: int


class Damaged:
    """A file whose rows cannot be read."""

    row_count = 1

    @property
    def expected_bytes(self) -> int:
        raise OperationalError("damaged")


def file(size_bytes: int) -> FilePart:
    return FilePart("", Sized(size_bytes, size_bytes))  # type: ignore[arg-type]


def rows(size_bytes: int) -> ArrowPart:
    return ArrowPart(pa.table({"a": np.zeros(size_bytes, np.int8)}))


def merged(sizes: list[int], new: int, most: int) -> list[int]:
    """Return the sizes of files after a checkpoint with new rows."""
    groups = tiered([*map(file, sizes), rows(new)], most)
    return [sum(part.size_bytes for part in group) for group in groups]


def test_a_file_is_merged_once_those_behind_it_hold_three_times_as_much():
    assert merged([64, 16, 16, 4, 4, 1, 1, 1], 1, 2**20) == [64, 16, 16, 4, 4, 4]
    assert merged([64, 16, 16, 4, 4, 1, 1], 1, 2**20) == [64, 16, 16, 4, 4, 1, 1, 1]
    assert merged([16, 16, 16, 4, 4, 4, 1, 1, 1], 1, 2**20) == [64]
    assert merged([1, 1], 100, 2**20) == [102]


@pytest.mark.parametrize("kind", INSERTS)
def test_few_files_are_left_and_rows_are_written_a_few_times(kind):
    random = Random(kind)
    sizes: list[int] = []
    inserted = written = 0
    for _ in range(1000):
        new = INSERTS[kind](random)
        after = merged(sizes, new, 2**40)
        inserted += new
        written += after[-1]
        assert sum(after) == inserted
        behind = np.cumsum([0, *after[:0:-1]])[::-1]
        assert all((FANOUT - 1) * size > rest for size, rest in zip(after, behind, strict=True))
        sizes = after
    assert len(sizes) <= 1 + math.log(inserted, FANOUT / (FANOUT - 1))
    assert written <= inserted * math.log(inserted, FANOUT)


def test_large_files_are_final_and_memory_is_bounded():
    assert merged([26, 25, 25, 25], 25, 100) == [26, 100]
    assert merged([26], 1000, 100) == [26, 1000]  # what is in memory already is of any size
    assert merged([20], 1000, 100) == [1020]
    groups = tiered([file(10)] * 45, 100)
    assert [len(group) for group in groups] == [10, 10, 10, 10, 5]


def test_a_damaged_file_stays_as_it_is():
    damaged = FilePart("", Damaged())  # type: ignore[arg-type]
    parts = [file(8), file(8), damaged, file(8), file(8), file(8), rows(8)]
    assert [len(group) for group in tiered(parts, 2**20)] == [1, 1, 1, 4]


def test_vacuum_joins_what_fits_together_and_leaves_masked_rows_out():
    parts = [file(30), file(30), file(30), file(200), file(5)]
    joined = compacted(parts, None, 100)
    assert [part.size_bytes for part in joined] == [90, 200, 5]
    assert joined[1] is parts[3]

    live = np.ones(295, np.bool_)
    live[0] = live[90:210] = False
    joined = compacted(parts, live, 100)
    assert sum(part.row_count for part in joined) == live.sum()
    assert all(part.size_bytes <= 100 for part in joined)
    (first,) = (part for part in joined if isinstance(part, JoinedPart) and part.row_count == 89)
    assert isinstance(first.parts[0], TakenPart)
    assert compacted([file(3)], np.zeros(3, np.bool_), 100) == ()
