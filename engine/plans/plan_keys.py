"""What plans are kept by: the text, the options and the parameters; a vector may be left out."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb import sql
    from raydb.planner import PlannerOptions

    Parameters = Sequence[object] | Mapping[str, object]

# Parameters beyond these are hardly the same again.
MAX_PARAMETERS = 32
_PARAMETERS = (tuple, list, dict)
MAX_CHARACTERS = 256

# Dashboards have few settings.
_MAX_OPTIONS = 1024


@dataclass(frozen=True, slots=True)
class VectorQuestion:
    """A text with a vector in it or among its parameters. key: both but for the vector's numbers.

    origin: which parameter it is, by its name or its number from 1, or which constant, from 0.
    vector: its numbers (d), or the constant as it is written.
    """

    key: Hashable
    origin: str | int
    vector: NDArray[Any] | str


def vector_question(
    text: str, parameters: Parameters, options: PlannerOptions
) -> VectorQuestion | None:
    """Return what a search is kept by; None where not one parameter alone is a vector."""
    if not isinstance(parameters, tuple | list | dict) or len(parameters) > MAX_PARAMETERS:
        return None
    named: dict[Any, object]
    named = parameters if isinstance(parameters, dict) else dict(enumerate(parameters, 1))
    vectors = [name for name, value in named.items() if type(value) in (np.ndarray, list, tuple)]
    if len(vectors) != 1:
        return None
    (name,) = vectors
    vector = _as_vector(named[name])
    key = plan_key(text, {n: v for n, v in named.items() if n != name}, options)
    if vector is None or key is None:
        return None
    return VectorQuestion((key, name, vector.dtype.str, len(vector)), str(name), vector)


def text_question(shape: sql.Shape, options: PlannerOptions) -> VectorQuestion | None:
    """Return what a search is kept by; None where not one constant alone may be a vector."""
    constants = shape.constants
    places = [place for place, text in enumerate(constants) if text.startswith(("[", "'["))]
    if len(places) != 1:
        return None
    (place,) = places
    others = constants[:place], constants[place + 1 :]
    return VectorQuestion((shape.key, others, options), place, constants[place])


def _as_vector(value: Any) -> NDArray[Any] | None:
    """Return numbers of float32 or float64 as an array of one dimension, None for what is none."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 1 and value.dtype in _FLOATS and len(value) else None
    return np.array(value, np.float64) if value and set(map(type, value)) == {float} else None


_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def plan_key(text: str, parameters: Parameters, options: PlannerOptions) -> Hashable | None:
    """Return what a plan is kept by; None where the parameters are more than a few short values."""
    if not isinstance(parameters, _PARAMETERS) or len(parameters) > MAX_PARAMETERS:
        return None
    options_key = _number_of(options)
    if not parameters:
        return text, options_key
    names = parameters if isinstance(parameters, dict) else range(len(parameters))
    values = parameters.values() if isinstance(parameters, dict) else parameters
    if not all(type(value) in _SHORT or _is_short_text(value) for value in values):
        return None
    # 1, 1.0 and True are equal, 0.0 and -0.0 too, but they are not the same question.
    return text, options_key, tuple(names), tuple((type(value), repr(value)) for value in values)


@functools.lru_cache(_MAX_OPTIONS)
def _number_of(options: PlannerOptions) -> int:  # noqa: ARG001
    """Return a number of options, whose own hash takes longer than that of a text."""
    return next(_numbers)


_numbers = itertools.count()


def _is_short_text(value: object) -> bool:
    return type(value) is str and len(value) <= MAX_CHARACTERS


_SHORT = frozenset({int, float, bool, type(None), dt.date, dt.datetime, decimal.Decimal})
