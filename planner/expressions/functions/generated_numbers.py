"""Numbers that are others each time: random ones, and values of sequences.

The seed of random numbers is one for the process, and they come in the order of use. Where a
sequence stands is known to the statement that runs.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.errors import DataError
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.columns.arrays import as_array
from raydb.planner.expressions.nodes import Call
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.types import TIMESTAMPTZ
from raydb.planner.expressions.typing_rules import cast, typed
from raydb.running import sequences
from raydb.storage.uuids import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows
    from raydb.planner.expressions.nodes import Expression

# The version of UUIDs that have a time.
_WITH_TIME = 7
# What SplitMix64 adds for each number.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Morsels of rows are computed in threads, and a generator serves one at a time.
_LOCK = threading.Lock()


@functools.cache
def _generator() -> np.random.Generator:
    """Return the one generator; NumPy imports its random numbers, in 6 ms, when it is asked."""
    return np.random.default_rng()


@scalar(
    "random() -> DOUBLE",
    "a number from 0 up to 1, another one for each row and call: random() < 1 -> true",
    takes="rows",
    is_volatile=True,
)
def _random(_: Call, rows: Rows) -> Values:
    with _LOCK:
        return pa.array(_generator().random(rows.count))


@scalar(name="seeded_random")
def _seeded_random(_: Call, numbers: Values, seed: Values) -> Values:
    """Return a number from 0 up to 1 for each number: SplitMix64 of it and the seed."""
    assert isinstance(seed, pa.Scalar), "the seed is constant"
    bits = as_array(numbers, 1).to_numpy(zero_copy_only=False).astype(np.uint64)
    with np.errstate(over="ignore"):
        bits = (bits + np.uint64(seed.as_py() % 2**64) * _GOLDEN) * _GOLDEN
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    return pa.array((bits >> np.uint64(11)) * 2.0**-53)


@scalar(
    "gen_random_uuid(), uuid(), uuidv4() -> UUID",
    "a random UUID (version 4), another one for each row and call: length(uuid()::VARCHAR) -> 36",
    takes="rows",
    is_volatile=True,
)
def _random_uuid(_: Call, rows: Rows) -> Values:
    # From the system, so that two processes never give the same.
    words = np.frombuffer(os.urandom(16 * rows.count), np.uint8).reshape(-1, 16).copy()
    words[:, 6] = words[:, 6] & 0x0F | 0x40
    words[:, 8] = words[:, 8] & 0x3F | 0x80
    return pa.Array.from_buffers(UUID, rows.count, [None, pa.py_buffer(words)])


@scalar(
    "uuidv7() -> UUID",
    "a UUID (version 7) that begins with the time and is else random:"
    " uuid_extract_version(uuidv7()) -> 7",
    takes="rows",
    is_volatile=True,
)
def _timed_uuid(_: Call, rows: Rows) -> Values:
    words = np.frombuffer(os.urandom(16 * rows.count), np.uint8).reshape(-1, 16).copy()
    milliseconds = time.time_ns() // 10**6
    words[:, :6] = np.frombuffer(milliseconds.to_bytes(6), np.uint8)
    words[:, 6] = words[:, 6] & 0x0F | 0x70
    words[:, 8] = words[:, 8] & 0x3F | 0x80
    return pa.Array.from_buffers(UUID, rows.count, [None, pa.py_buffer(words)])


def _of_uuid(kind: pa.DataType, name: str, operand: Expression) -> Expression:
    return Call(name, (cast(typed(operand, UUID), UUID),), kind)


@scalar(
    "uuid_extract_version(uuid)",
    "its version: uuid_extract_version(uuid()) -> 4",
    bind=functools.partial(_of_uuid, pa.uint32()),
)
@of_rows
def _version(value: bytes) -> int:
    return _version_of(value)


def _version_of(value: bytes) -> int:
    return value[6] >> 4


@scalar(
    "uuid_extract_timestamp(uuid)",
    "the time with which one of version 7 begins:"
    " uuid_extract_timestamp('019bd6c0-0000-7000-8000-000000000000') ->"
    " 2026-01-19 14:54:25.792000+00:00",
    bind=functools.partial(_of_uuid, TIMESTAMPTZ),
    can_fail=True,
)
@of_rows
def _time_of(value: bytes) -> int:
    version = _version_of(value)
    if version != _WITH_TIME:
        raise DataError(f"a UUID of version {version} has no timestamp")
    return int.from_bytes(value[:6]) * 1000


@scalar(
    "setseed(x: double) -> INTEGER",
    "makes random() begin again; gives NULL: setseed(0.5) -> NULL",
    is_volatile=True,
)
def _set_seed(call: Call, seed: Values) -> Values:
    seeds = [seed] if isinstance(seed, pa.Scalar) else seed
    with _LOCK:
        for each in seeds:
            bits = int(np.float64(each.as_py() or 0).view(np.uint64))
            _generator().bit_generator.state = np.random.PCG64(bits).state
    return pa.scalar(None, call.type)


@scalar(
    "nextval(text) -> BIGINT",
    "the next value of the sequence of that name, another one for each row and call:"
    " nextval('ticket') -> 1",
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _next_value(call: Call, rows: Rows) -> Values:
    name = rows.value(call.arguments[0])
    if isinstance(name, pa.Scalar):
        if not name.is_valid:
            return pa.scalar(None, call.type)
        return pa.array(sequences().take(name.as_py(), rows.count))
    return _each(name, rows.count, lambda each: int(sequences().take(each, 1)[0]))


@scalar(
    "currval(text) -> BIGINT",
    "the value that the connection took of it last: currval('ticket') -> 1",
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _current_value(call: Call, rows: Rows) -> Values:
    return _each(rows.value(call.arguments[0]), rows.count, lambda name: sequences().last(name))


@scalar(
    "setval(text, number: whole [, is_taken: condition]) -> BIGINT",
    "lets it go on behind the number, or with it where `is_taken` is false; gives the number:"
    " setval('ticket', 41) -> 41",
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _set_value(call: Call, rows: Rows) -> Values:
    name, value, *taken = (
        as_array(rows.value(argument), rows.count).to_pylist() for argument in call.arguments
    )
    flags = taken[0] if taken else [True] * rows.count
    given = []
    for each, number, is_taken in zip(name, value, flags, strict=True):
        is_known = None not in (each, number, is_taken)
        if is_known:
            sequences().restart(each, number, is_taken=is_taken)
        given.append(number if is_known else None)
    return pa.array(given, call.type)


def asks_statement(expression: Expression) -> bool:
    """Tell whether an expression takes values of a sequence, one after the other, or a setting.

    Only the thread of the statement has these.
    """
    parts = [expression]
    for part in parts:
        if type(part) is Call:
            if part.function in _OF_STATEMENT:
                return True
            parts += part.arguments
    return False


_OF_STATEMENT = frozenset({"nextval", "setval", "currval", "current_setting"})


def _each(names: Values, count: int, value: Callable[[str], int]) -> Values:
    texts = as_array(names, count).to_pylist()
    return pa.array([None if each is None else value(each) for each in texts], pa.int64())
