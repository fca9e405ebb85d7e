"""One chunk as it is written: validity, values in an encoding, and their zone map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.errors import DataError
from raydb.kernels.codecs.onpair import PairTable
from raydb.storage.flat.encodings.all_null import ALL_NULL
from raydb.storage.flat.encodings.encoding import Encoded, Values
from raydb.storage.flat.encodings.known import encode
from raydb.storage.flat.encodings.onpair import ONPAIR
from raydb.storage.flat.encodings.references import REFERENCES
from raydb.storage.flat.encodings.survey import survey_integers
from raydb.storage.flat.encodings.validity import StoredValidity, store_validity
from raydb.storage.flat.encodings.verbatim import VERBATIM
from raydb.storage.flat.kinds import valid_mask, values_of
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Kind
from raydb.storage.flat.zone_map import (
    NO_NUMBERS,
    NO_TEXTS,
    ZoneMap,
    float_zone,
    integer_zone,
    text_zone,
    zone_of_texts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.column_plan import ColumnPlan
    from raydb.storage.flat.encodings.encoding import Known

_ALL_VALID = StoredValidity(b"", 0)


class EncodedChunk(NamedTuple):
    """An encoded chunk from row `first` on, which may lie anywhere in the file."""

    first: int
    row_count: int
    null_count: int
    validity: StoredValidity
    encoded: Encoded
    zone: ZoneMap


def known_of(plan: ColumnPlan, firsts: range) -> Sequence[Known | None]:
    """Return what is known of some chunks, given where they begin, by looking at all of them."""
    if isinstance(plan.prepared, PairTable):
        # More than one may be more than an array of texts can have.
        parts = plan.column.slice(firsts.start, firsts.stop - firsts.start).chunks
        if len(parts) == 1 and (known := ONPAIR.encode_run(plan, parts[0])) is not None:
            return known
    return [None] * len(firsts)


def encode_rows(
    plan: ColumnPlan, first: int, array: Any, known: Known | None = None
) -> EncodedChunk:
    """Return the chunk of an Arrow array, whose rows begin at `first`.

    Raises DataError for 2 GiB or more.
    """
    row_count, null_count = len(array), array.null_count
    validity = _ALL_VALID
    if null_count == row_count:
        encoded = Encoded(ALL_NULL)
        zone = NO_TEXTS if plan.kind in {Kind.BYTES, Kind.NESTED} else NO_NUMBERS
    else:
        mask = valid_mask(array) if null_count else None
        if mask is not None and plan.kind is not Kind.NESTED:
            validity = store_validity(mask, null_count)
        if known is None or known.encoded is None:
            encoded, zone = _encode_values(plan, first, array, mask)
        else:
            encoded, zone = known.encoded, zone_of_texts(known.least, known.greatest)
    _check_size(plan, first, encoded)
    return EncodedChunk(first, row_count, null_count, validity, encoded, zone)


def _encode_values(
    plan: ColumnPlan, first: int, array: Any, mask: NDArray[np.bool_] | None
) -> tuple[Encoded, ZoneMap]:
    values, kind = Values(plan, first, array), plan.kind
    if kind is Kind.NESTED or (kind is Kind.BYTES and plan.is_opaque):
        return encode(values), NO_TEXTS
    if kind is Kind.BYTES:
        return encode(values), text_zone(values, mask)
    values.numbers = _filled(values_of(array, kind), mask)
    if kind is Kind.FLOAT:
        return encode(values), float_zone(values.numbers)
    words = values.numbers
    if kind is Kind.DECIMAL:
        if bool((words[:, 1] != words[:, 0] >> 63).any()):
            return encode(values), NO_NUMBERS
        words = np.ascontiguousarray(words[:, 0])
    words = words.astype(np.int64, copy=False)
    survey = survey_integers(words, unsigned=kind is Kind.UNSIGNED)
    if kind is not Kind.DECIMAL or plan.wanted is not VERBATIM:
        values.words, values.survey = words, survey
    return encode(values), integer_zone(survey.least, survey.greatest)


def _filled(values: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return the values with the valid one before it in place of each NULL.

    Runs and lines go on across NULLs then; those before all others get the first one.
    """
    if mask is None:
        return values
    rows = np.where(mask, np.arange(len(mask)), mask.argmax())
    filled: NDArray[Any] = values[np.maximum.accumulate(rows)]
    return filled


def _check_size(plan: ColumnPlan, first: int, encoded: Encoded) -> None:
    size = encoded.reference if plan.wanted is REFERENCES else size_of(encoded.payload)
    if size > MAX_PAYLOAD_BYTES:
        raise DataError(
            f"the chunk of column '{plan.name}' from row {first} on has {size} bytes; at most "
            f"{MAX_PAYLOAD_BYTES} fit, so set fewer chunk_rows than {plan.chunk_rows}"
        )


def size_of(data: Any) -> int:
    """Return the bytes of an array or of bytes."""
    return int(data.nbytes) if isinstance(data, np.ndarray) else len(data)
