"""CALIBRATE INDEX name [USING (query)] [WITH (fnr = '0.05,0.1', k = '10', score = 'ratio')]."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from raydb.errors import ProgrammingError
from raydb.sql.ast import Calibrate
from raydb.sql.parse.options import one_of, read_options, whole_number
from raydb.sql.parse.query import query_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.kernels.vector.stop_rule import Score
    from raydb.sql.parse.reader import TokenReader

_Value = TypeVar("_Value")

_DEFAULTS = {"fnr": "0.05,0.1", "k": "10", "seed": "0"}
_SCORES: tuple[Score, ...] = ("ef", "ratio", "kth")
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e-?\d+)?", re.ASCII | re.IGNORECASE)


def read_calibrate(reader: TokenReader) -> Calibrate:
    """Read CALIBRATE INDEX, the first word being read.

    Raises ProgrammingError for an option that does not exist or has no such value.
    """
    reader.expect("INDEX")
    index = reader.relation("the name of an index")
    queries = None
    if reader.accept("USING"):
        inside = reader.parenthesised()
        if not inside:
            raise ProgrammingError(f"CALIBRATE INDEX '{index}' USING () has no query")
        queries = query_of(reader.text, inside)
    owner = f"calibration of '{index}'"
    options = tuple(sorted((*_DEFAULTS, "confidence", "score")))
    given = _DEFAULTS | read_options(reader, options, "CALIBRATE INDEX", owner)
    score = None
    if "score" in given:
        score = one_of("the score of a calibration", given["score"], _SCORES)
    fnrs = _listed("fnr", given["fnr"], _share)
    ks = _listed("k", given["k"], lambda text: whole_number("the k of a calibration", text, 1))
    seed = whole_number("the seed of a calibration", given["seed"], 0)
    confidence = _confidence(given["confidence"]) if "confidence" in given else None
    return Calibrate(index, queries, fnrs, ks, score, seed, confidence)


def _listed(option: str, text: str, read: Callable[[str], _Value]) -> tuple[_Value, ...]:
    """Return the values of an option that are separated by commas, each of them once."""
    values = tuple(read(part.strip()) for part in text.split(","))
    double = next((value for value in values if values.count(value) > 1), None)
    if double is not None:
        raise ProgrammingError(f"the {option} {double} of a calibration is given twice")
    return values


def _confidence(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not 0 < float(text) < 1:
        raise ProgrammingError(
            f"the confidence of a calibration is a number between 0 and 1, such as 0.95,"
            f" not '{text}'"
        )
    return float(text)


def _share(text: str) -> float:
    if not _NUMBER.fullmatch(text) or not 0 < float(text) < 1:
        raise ProgrammingError(
            f"the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not '{text}'"
        )
    return float(text)
