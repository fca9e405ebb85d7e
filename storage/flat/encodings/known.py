"""The encodings that are known, and which of them a chunk gets; `register` adds another."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from raydb.storage.flat.encodings.all_null import ALL_NULL
from raydb.storage.flat.encodings.alp import ALP
from raydb.storage.flat.encodings.arrow import ARROW
from raydb.storage.flat.encodings.constant import CONSTANT
from raydb.storage.flat.encodings.dictionary import DICTIONARY
from raydb.storage.flat.encodings.frame import FRAME
from raydb.storage.flat.encodings.fsst import FSST
from raydb.storage.flat.encodings.line import LINE
from raydb.storage.flat.encodings.onpair import ONPAIR
from raydb.storage.flat.encodings.patched import PATCHED
from raydb.storage.flat.encodings.references import REFERENCES
from raydb.storage.flat.encodings.run_length import RUN_LENGTH
from raydb.storage.flat.encodings.runs import RUNS
from raydb.storage.flat.encodings.stride import STRIDE
from raydb.storage.flat.encodings.vectors import VECTORS
from raydb.storage.flat.encodings.verbatim import VERBATIM

if TYPE_CHECKING:
    from raydb.storage.flat.encodings.encoding import Encoded, Encoding, Values
    from raydb.storage.flat.layout import Kind

ENCODINGS: dict[int, Encoding] = {}


def register(encoding: Encoding) -> None:
    """Make an encoding known, by its code; the writer tries those before it first."""
    taken = ENCODINGS.setdefault(encoding.code, encoding)
    assert taken is encoding, f"{taken.name} has the code {encoding.code}"
    encodings_of.cache_clear()
    _orders_of.cache_clear()


@cache
def encodings_of(kind: Kind) -> tuple[Encoding, ...]:
    """Return the encodings that chunks of a kind may have."""
    return tuple([each for each in ENCODINGS.values() if kind in each.kinds])


@cache
def _orders_of(kind: Kind) -> tuple[tuple[Encoding, ...], tuple[Encoding, ...]]:
    """Return those of a kind that do not compete by size, and those that do."""
    known = encodings_of(kind)
    sure = tuple([each for each in known if not each.competes])
    return sure, tuple([each for each in known if each.competes])


for _encoding in (
    DICTIONARY,
    CONSTANT,
    RUN_LENGTH,
    RUNS,
    LINE,
    STRIDE,
    FRAME,
    PATCHED,
    ALP,
    ONPAIR,
    FSST,
    VERBATIM,
    VECTORS,
    ARROW,
    REFERENCES,
    ALL_NULL,
):
    register(_encoding)


def encode(values: Values) -> Encoded:
    """Return a chunk in the encoding that is asked for where it takes the values, or the best.

    The best is the first one that takes them; else the smallest of those that compete by size.
    """
    wanted = values.plan.wanted
    encoded = None if wanted is None else wanted.encode(values, is_wanted=True)
    if encoded is not None:
        return encoded
    best: tuple[int, Encoding] | None = None
    sure, competing = _orders_of(values.plan.kind)
    for encoding in sure:
        encoded = encoding.encode(values, is_wanted=False)
        if encoded is not None:
            return encoded
    for encoding in competing:
        size = encoding.size(values)
        if size is not None and (best is None or size < best[0]):
            best = size, encoding
    encoded = None if best is None else best[1].encode(values, is_wanted=False)
    assert encoded is not None, f"no encoding takes {values.plan.kind.name}"
    return encoded
