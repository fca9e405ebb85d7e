"""Columns of a table as narrow codes, one a row, for a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb.engine.fused.derived_cache import owned_bytes
from raydb.kernels.bvh.encode import encode_blocks, encode_column, is_whole
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.planner.stars.instants import MOMENT
from raydb.room import read_limit
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many days or hours between the first and the last are codes: a look-up table of 4 MiB.
DIRECT_CODES = 2**20

# To encode a column at once takes so many bytes a row; where these are more than a share of
# memory_limit it is read twice, block by block.
_ENCODING_BYTES = 16
_ENCODING_SHARE = 8


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """Codes of rows (uint8, uint16 or int32), and for each attribute the value of every code."""

    codes: NDArray[Any]
    values: tuple[pa.Array, ...]

    @property
    def code_count(self) -> int:
        """The number of codes, one for NULL included."""
        return len(self.values[0])

    @property
    def size_bytes(self) -> int:
        """The bytes of what is not a view of a table's column."""
        return owned_bytes((self.codes, *self.values))


def column_codes(column: pa.ChunkedArray) -> Coded:
    """Return a column as codes with the value of each code, NULL the last."""
    limit = read_limit()
    is_tight = limit is not None and _ENCODING_BYTES * len(column) > limit // _ENCODING_SHARE
    if is_whole(column.type) or (is_tight and not pa.types.is_dictionary(column.type)):
        encoded = encode_blocks(
            lambda low, high: column.slice(low, high - low), len(column), lambda _: None
        )
    else:
        encoded = encode_column(column)
    return Coded(narrow_codes(encoded.codes, encoded.cardinality), (encoded.values,))


def unit_codes(moments: pa.ChunkedArray, step: int) -> Coded | None:
    """Return the day, or the hour, of each TIMESTAMP as a code, with its first moment; NULL last.

    step: the microseconds of the unit. None where too many lie between the first and the last.
    """
    whole = moments.combine_chunks()
    numbers = words_of(whole) // step
    valid = None
    if whole.null_count:
        valid = pc.is_valid(whole).to_numpy(zero_copy_only=False)
    known = numbers if valid is None else numbers[valid]
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, -1)
    count = high - low + 1
    if count >= DIRECT_CODES:
        return None
    codes = numbers - low if valid is None else np.where(valid, numbers - low, count)
    firsts = pa.array((np.arange(count) + low) * step).view(MOMENT)
    return Coded(narrow_codes(codes, count + 1), (pa.concat_arrays([firsts, pa.nulls(1, MOMENT)]),))


def narrow_codes(codes: NDArray[Any], code_count: int) -> NDArray[Any]:
    """Put codes into the narrowest type that holds them."""
    dtype = np.uint8 if code_count <= 2**8 else np.uint16 if code_count <= 2**16 else np.int32
    return codes.astype(dtype)
