"""Sums of check, and numbers that tell values apart."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from xxhash import xxh3_64_intdigest

from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.registry import scalar
from raydb.planner.expressions.signature import require_text
from raydb.planner.expressions.types import BLOB, DOUBLE, TEXT, is_float
from raydb.planner.expressions.typing_rules import as_text, typed
from raydb.storage.integers import UHUGEINT
from raydb.values import replace

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values

# Odd, so that hash() of several values loses nothing of those before.
_FACTOR = pa.scalar(0x9E3779B97F4A7C15, pa.uint64())


def _bind_digest(name: str, operand: Expression) -> Expression:
    operand = typed(operand, TEXT)
    return Call(name, (operand if operand.type == BLOB else require_text(name, operand),), TEXT)


def _bytes_of(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


@scalar(
    "md5(text)",
    "the MD5 sum of a text or BLOB: md5('Ray') -> '9406e3c325bfc9873426e5eda4ba6e18'",
    bind=_bind_digest,
)
@of_rows
def _md5(value: str | bytes) -> str:
    return hashlib.md5(_bytes_of(value), usedforsecurity=False).hexdigest()


@scalar(
    "sha1(text)",
    "the SHA-1 sum: sha1('Ray') -> 'eb23efbb267893b699389ae74854547979d265bd'",
    bind=_bind_digest,
)
@of_rows
def _sha1(value: str | bytes) -> str:
    return hashlib.sha1(_bytes_of(value), usedforsecurity=False).hexdigest()


@scalar(
    "sha256(text)",
    "the SHA-256 sum: left(sha256('Ray'), 16) -> 'cc172a7c8269911b'",
    bind=_bind_digest,
)
@of_rows
def _sha256(value: str | bytes) -> str:
    return hashlib.sha256(_bytes_of(value)).hexdigest()


@scalar(
    "md5_number(text)",
    "the MD5 sum as a UHUGEINT: md5_number('Ray') > 0 -> true",
    bind=lambda name, operand: replace(_bind_digest(name, operand), type=UHUGEINT),
)
@of_rows
def _md5_number(value: str | bytes) -> int:
    return _md5_as_number(value)


def _md5_as_number(value: str | bytes) -> int:
    return int.from_bytes(hashlib.md5(_bytes_of(value), usedforsecurity=False).digest(), "little")


def _half_of_md5(start: int, value: str | bytes) -> int:
    return (_md5_as_number(value) >> 8 * start) % 2**64


for _name, _place, _says in (
    ("md5_number_lower", 8, "the last eight bytes of it as a UBIGINT"),
    ("md5_number_upper", 0, "the first eight bytes of it as a UBIGINT"),
):
    scalar(
        f"{_name}(text)",
        f"{_says}: {_name}('Ray') > 0 -> true",
        bind=lambda name, operand: replace(_bind_digest(name, operand), type=pa.uint64()),
    )(of_rows(partial(_half_of_md5, _place)))


def _bind_hash(_: str, *values: Expression) -> Expression:
    # 0.0 and -0.0 are equal.
    numbers = [
        arithmetic("add", each, Literal(0.0, DOUBLE)) if is_float(each.type) else each
        for each in values
    ]
    return Call("hash", tuple(as_text(each) for each in numbers), pa.uint64())


@scalar(
    "hash(a, ...)",
    "a number for the values, a UBIGINT, the same for equal ones of one type; it says nothing of"
    " their order: hash('Ray') = hash('ray') -> false",
    bind=_bind_hash,
    takes="nulls",
)
def _hash(_: Call, *texts: Values) -> Values:
    """Return XXH3 of each text, mixed where there are several; NULL has a number of its own."""
    total: Values | None = None
    for values in texts:
        array = values.dictionary_encode() if isinstance(values, pa.Array) else values
        if isinstance(array, pa.Scalar):
            found: Values = pa.scalar(_number_of(array.as_py()), pa.uint64())
        else:
            known = [*map(_number_of, array.dictionary.to_pylist()), _number_of(None)]
            places = pc.fill_null(array.indices, len(known) - 1)
            found = pa.array(known, pa.uint64()).take(places)
        total = found if total is None else pc.bit_wise_xor(pc.multiply(total, _FACTOR), found)
    assert total is not None, "there is an argument"
    return total


def _number_of(text: str | None) -> int:
    return 0 if text is None else xxh3_64_intdigest(text.encode())
