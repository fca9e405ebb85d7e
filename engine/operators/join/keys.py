"""The keys of a join as small integers: equal where the keys are equal, -1 where nothing matches.

    build      probe      codes of build   codes of probe
    (7, 'a')   (9, 'b')         0               3
    (9, 'b')   (8, 'b')         3              -1
    (9, NULL)  (7, 'a')        -1               0

Integers in a narrow range are their distance from the least one, so that a table of all codes can
be addressed directly: for keys of 6 M rows looked up in 1.5 M that takes a quarter of the time of
Acero's hash join. Those in a wider range are numbered by a bitmap of it, or else by a hash table;
others are looked up among the distinct values of the build side. Codes of several columns that are
too many together are looked up by one column's, whose rows are chained.
"""

from __future__ import annotations

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.codes import are_words, group_numbers, integer_codes
from raydb.engine.operators.list_keys import list_bytes
from raydb.engine.operators.relation import MORSEL_ROWS, joined
from raydb.interrupts import check_interrupt
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.kernels.codecs.code_table import MANY_CODES, number_codes
from raydb.late import pc
from raydb.planner.expressions.columns.order import canonical_floats, order_intervals
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

# A table of so many codes is never too large; beyond, of at most so many for each row.
_FEW_CODES = 2**16
_CODES_A_ROW = 4

# Rows that have one code are looked through for the codes of other columns while that is no more
# than so many steps a row: a hash table takes as long as about eight.
_STEPS_A_ROW = 8
_SAMPLE_ROWS = 512

# Integers in a range of at most so many for each row are numbered by a bitmap of the range.
_BITS_A_ROW = 256


@dataclass(frozen=True, eq=False, slots=True)
class KeyCodes:
    """The codes of both sides' rows, each below `size` or -1."""

    build: NDArray[np.int64]
    probe: NDArray[np.int64]
    size: int


def encode_keys(
    build: Sequence[pa.ChunkedArray | pa.Array],
    probe: Sequence[pa.ChunkedArray | pa.Array],
    null_safe: Collection[int],
) -> KeyCodes:
    """Return the codes of keys of one column or several.

    NULL equals nothing, but NULL in the columns at the places in `null_safe`; doubles are in total
    order, so NaN equals NaN, and a NULL in a list equals another.
    """
    found = [
        _with_null(_encode(b, p), b, p) if place in null_safe else _encode(b, p)
        for place, (b, p) in enumerate(zip(build, probe, strict=True))
    ]
    row_count = len(found[0].build) + len(found[0].probe)
    size = math.prod(each.size for each in found)
    if _most_codes(row_count) < size < 2**63 and row_count >= MANY_CODES:
        chained = _chain(found)
        if chained is not None:
            return chained
    return functools.reduce(_combine, found)


def find_distinct(
    build: tuple[pa.ChunkedArray | pa.Array, NDArray[np.bool_] | None],
    probe: tuple[pa.ChunkedArray | pa.Array, NDArray[np.bool_] | None],
) -> NDArray[np.int32] | None:
    """Return for each probe row the build row with its key, -1 for none, without codes for either.

    Each side: its keys, and the rows that can have a partner, None for all. None where keys are no
    integers in a narrow range, or where two build rows have the same.
    """
    (own, own_may), (others, others_may) = build, probe
    if not (are_words(own.type) and are_words(others.type)):
        return None
    keys, valid = words_of(joined(own)), _both(_valid(own), own_may)
    rows = None if valid is None else np.flatnonzero(valid)
    known = keys if rows is None else keys[rows]
    if not len(known):
        return np.full(len(others), -1, np.int32)
    least, most = int(known.min()), int(known.max())
    if most - least >= _most_codes(len(own) + len(others)):
        return None
    from raydb.kernels.codecs.key_loops import (  # noqa: PLC0415  (numba: 0.24 s)
        clear_nulls,
        look_up_keys,
        place_keys,
    )

    table = np.full(most - least + 2, -1, np.int32)
    if not place_keys(known, least, table):
        return None
    if rows is not None:
        table[known.astype(np.int64) - least] = rows
    whole = joined(others)
    words, found = words_of(whole), np.empty(len(others), np.int32)
    bits = np.frombuffer(whole.buffers()[0], np.uint8) if whole.null_count else None

    def compute(start: int, stop: int) -> None:
        look_up_keys(words[start:stop], least, table, found[start:stop])
        if bits is not None:
            clear_nulls(bits, whole.offset + start, found[start:stop])

    in_morsels(len(words), compute)
    if others_may is not None:
        found[~others_may] = -1
    return found


def _both(
    one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if one is None or other is None:
        return other if one is None else one
    both: NDArray[np.bool_] = one & other
    return both


def _with_null(
    codes: KeyCodes, build: pa.ChunkedArray | pa.Array, probe: pa.ChunkedArray | pa.Array
) -> KeyCodes:
    """Return the codes with one more, for NULL."""
    for numbers, values in ((codes.build, build), (codes.probe, probe)):
        valid = _valid(values)
        if valid is not None:
            numbers[~valid] = codes.size
    return KeyCodes(codes.build, codes.probe, codes.size + 1)


def in_morsels(row_count: int, compute: Callable[[int, int], None]) -> None:
    """Call a function with the bounds of each morsel of rows, in threads."""
    starts = range(0, row_count, MORSEL_ROWS)
    if len(starts) <= 1:
        compute(0, row_count)
        return
    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        for _ in threads.map(lambda s: compute(s, min(s + MORSEL_ROWS, row_count)), starts):
            check_interrupt()


def _encode(build: pa.ChunkedArray | pa.Array, probe: pa.ChunkedArray | pa.Array) -> KeyCodes:
    """Return the codes of one column."""
    check_interrupt()
    if pt.is_struct(build.type) or pt.is_map(build.type):
        return _encode_parts(build, probe)
    if pt.is_nested(build.type):
        return _look_up(*list_bytes([build, probe], group_numbers))
    if pt.is_null(build.type) or pt.is_null(probe.type):
        nothing = (np.full(len(build), -1), np.full(len(probe), -1))
        return KeyCodes(*nothing, 1)
    build_words, probe_words = integer_codes(build), integer_codes(probe)
    if build_words is None or probe_words is None:
        return _look_up(order_intervals(build), order_intervals(probe))
    return _encode_integers(build_words, _valid(build), probe_words, _valid(probe))


def _encode_parts(build: pa.ChunkedArray | pa.Array, probe: pa.ChunkedArray | pa.Array) -> KeyCodes:
    """Return the codes of structs or maps: the numbers of both sides' groups."""
    chunks = [
        chunk
        for side in (build, probe)
        for chunk in (side.chunks if isinstance(side, pa.ChunkedArray) else [side])
    ]
    numbers = group_numbers(pa.chunked_array(chunks, build.type))
    own, others = numbers[: len(build)], numbers[len(build) :]
    return _encode_integers(own, _valid(build), others, _valid(probe))


def _valid(values: pa.ChunkedArray | pa.Array) -> NDArray[np.bool_] | None:
    if not values.null_count:
        return None
    valid: NDArray[np.bool_] = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return valid


def _encode_integers(
    build: NDArray[np.signedinteger],
    build_valid: NDArray[np.bool_] | None,
    probe: NDArray[np.signedinteger],
    probe_valid: NDArray[np.bool_] | None,
) -> KeyCodes:
    known = build if build_valid is None else build[build_valid]
    if not len(known):
        return KeyCodes(np.full(len(build), -1), np.full(len(probe), -1), 1)
    least, most = int(known.min()), int(known.max())
    if most - least >= _most_codes(len(build) + len(probe)):
        build, probe, known = (each.astype(np.int64, copy=False) for each in (build, probe, known))
        if most - least >= _BITS_A_ROW * (len(build) + len(probe)):
            return _find_integers((build, build_valid), (probe, probe_valid))
        return _number((build, build_valid), (probe, probe_valid), known, least, most)
    codes = np.empty(len(probe), np.int64)

    def compute(start: int, stop: int) -> None:
        # As an unsigned number, what lies below the least code is far above the greatest.
        distance = probe[start:stop] - np.int64(least)
        distance[distance.view(np.uint64) > np.uint64(most - least)] = -1
        if probe_valid is not None:
            distance[~probe_valid[start:stop]] = -1
        codes[start:stop] = distance

    in_morsels(len(probe), compute)
    own = build - np.int64(least)
    if build_valid is not None:
        own[~build_valid] = -1
    return KeyCodes(own, codes, most - least + 1)


def _number(
    build: tuple[NDArray[np.int64], NDArray[np.bool_] | None],
    probe: tuple[NDArray[np.int64], NDArray[np.bool_] | None],
    known: NDArray[np.int64],
    least: int,
    most: int,
) -> KeyCodes:
    """Number the distinct integers of the build side, in their order, by a bitmap of them."""
    from raydb.kernels.codecs.key_loops import (  # noqa: PLC0415  (numba: 0.24 s)
        count_before,
        number_keys,
        set_keys,
    )

    words = np.zeros((most - least + 1) // 64 + 1, np.uint64)
    count = set_keys(known, least, words)
    before = np.empty(len(words), np.int64)
    count_before(words, before)

    def numbers_of(codes: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        numbers = np.empty(len(codes), np.int64)

        def compute(start: int, stop: int) -> None:
            number_keys(codes[start:stop], least, words, before, numbers[start:stop])

        in_morsels(len(codes), compute)
        if valid is not None:
            numbers[~valid] = -1
        return numbers

    return KeyCodes(numbers_of(*build), numbers_of(*probe), count)


def _find_integers(
    build: tuple[NDArray[np.int64], NDArray[np.bool_] | None],
    probe: tuple[NDArray[np.int64], NDArray[np.bool_] | None],
) -> KeyCodes:
    """Number the distinct integers of the build side, and find the probe side's among them."""
    if len(build[0]) + len(probe[0]) < MANY_CODES:
        return _look_up(_as_array(*build), _as_array(*probe))
    (own, own_valid), (others, others_valid) = build, probe
    table, numbers = number_codes(own if own_valid is None else own[own_valid])
    if own_valid is not None:
        known, numbers = numbers, np.full(len(own), -1)
        numbers[own_valid] = known
    found = np.empty(len(others), np.int64)

    def compute(start: int, stop: int) -> None:
        found[start:stop] = table.find(others[start:stop])

    in_morsels(len(others), compute)
    if others_valid is not None:
        found[~others_valid] = -1
    return KeyCodes(numbers, found, len(table.known))


def _most_codes(row_count: int) -> int:
    return max(_FEW_CODES, _CODES_A_ROW * row_count)


def _as_array(words: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> pa.Array:
    return pa.array(words, mask=None if valid is None else ~valid)


def _look_up(build: pa.ChunkedArray | pa.Array, probe: pa.ChunkedArray | pa.Array) -> KeyCodes:
    """Number the distinct values of the build side, and find the probe side's among them."""
    build, probe = canonical_floats(build), canonical_floats(probe)
    check_interrupt()
    distinct = joined(pc.drop_null(pc.unique(build)))
    check_interrupt()
    places = [pc.index_in(values, value_set=distinct) for values in (build, probe)]
    own, others = (joined(each.fill_null(-1)).to_numpy().astype(np.int64) for each in places)
    return KeyCodes(own, others, max(len(distinct), 1))


def _chain(columns: Sequence[KeyCodes]) -> KeyCodes | None:
    """Return the codes of columns together, which are looked up by that with most of its own.

    The rows that have one of its codes are looked through for the others. None where these are
    many for one code.
    """
    from raydb.kernels.codecs.key_loops import (  # noqa: PLC0415  (numba: 0.24 s)
        chain_keys,
        find_in_chains,
    )

    first, *others = sorted(columns, key=lambda each: -each.size)
    rest = functools.reduce(_packed, others)
    heads = np.full(first.size, -1, np.int32)
    following = np.empty(len(first.build), np.int32)
    own = np.empty(len(first.build), np.int64)
    if not chain_keys(first.build, rest.build, heads, following, own, _STEPS_A_ROW * len(own)):
        return None
    found = np.empty(len(first.probe), np.int64)
    is_found = []

    def find(one: NDArray[np.int64], other: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        most = _STEPS_A_ROW * len(one)
        given = one, other, rest.build, heads, following
        is_found.append(find_in_chains(*given, numbers, most))

    # A few rows tell mostly whether there are too many steps.
    sample = np.arange(0, len(found), max(len(found) // _SAMPLE_ROWS, 1))
    find(first.probe[sample], rest.probe[sample], found[: len(sample)])
    if not is_found[0]:
        return None

    def compute(start: int, stop: int) -> None:
        some = slice(start, stop)
        find(first.probe[some], rest.probe[some], found[some])

    in_morsels(len(found), compute)
    return KeyCodes(own, found, max(len(own), 1)) if all(is_found) else None


def _combine(first: KeyCodes, second: KeyCodes) -> KeyCodes:
    """Return the codes of two columns together, renumbered where they may be many."""
    packed = _packed(first, second)
    if packed.size <= _most_codes(len(packed.build) + len(packed.probe)):
        return packed
    return _encode_integers(packed.build, packed.build >= 0, packed.probe, packed.probe >= 0)


def _packed(first: KeyCodes, second: KeyCodes) -> KeyCodes:
    """Return the codes of two columns as one number."""
    is_small = len(first.build) + len(first.probe) < MANY_CODES

    def pack(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        if is_small:
            return np.where((one < 0) | (other < 0), -1, one * second.size + other)
        from raydb.kernels.codecs.key_loops import pack_codes  # noqa: PLC0415  (numba: 0.24 s)

        packed = np.empty(len(one), np.int64)

        def compute(start: int, stop: int) -> None:
            some = slice(start, stop)
            pack_codes(one[some], other[some], second.size, packed[some])

        in_morsels(len(one), compute)
        return packed

    build, probe = pack(first.build, second.build), pack(first.probe, second.probe)
    return KeyCodes(build, probe, first.size * second.size)
