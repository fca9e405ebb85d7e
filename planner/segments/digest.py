"""What is asked of workers as a digest: equal digests are equal questions."""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.vector_value import Vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.plan.nodes import Star

_PLAIN = (str, bytes, int, float, type(None), dt.date, dt.time, dt.timedelta, decimal.Decimal)


def question_of(star: Star, bvh: str = "") -> str | None:
    """Return what tells a star from all others but for the numbers of its columns, as a digest.

    bvh: the one whose places are its segments. None where it has a constant that is not spelled.
    Equal digests are equal questions.
    """
    asked = (
        bvh,
        star.fact,
        star.tables,
        star.predicates,
        tuple(key for _, key in star.keys),
        tuple(call for _, call in star.aggregates),
        star.given,
    )
    return digest(asked)


def digest(asked: object) -> str | None:
    """Return a digest of values, None where one of them is not spelled."""
    try:
        text = "".join(_spelled(asked))
    except TypeError:
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _spelled(value: object) -> Iterator[str]:
    """Yield a text of a value that no other value has; TypeError for one that is not known."""
    if isinstance(value, pa.DataType):
        yield f"<{value}>"
    elif isinstance(value, Vector):
        yield f"{value.numbers.dtype.str}{value.numbers.tobytes().hex()}"
    elif isinstance(value, tuple | list):
        yield "("
        for each in value:
            yield from _spelled(each)
            yield ","
        yield ")"
    elif isinstance(value, frozenset):
        yield from sorted("".join(_spelled(each)) for each in value)
    elif isinstance(value, dict):
        yield from _spelled(tuple(value.items()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        yield from _spelled(tuple(getattr(value, each.name) for each in fields(value)))
    elif isinstance(value, _PLAIN):
        yield f"{type(value).__name__}:{value!r}"
    else:
        raise TypeError(f"a {type(value).__name__} is not spelled")
