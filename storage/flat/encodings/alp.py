"""ALP: doubles that are decimals, as integers: 12.34 is 1234 * 10**2 * 10**-4, bit by bit.

    exceptions, of which the u32 says the exponent and the factor; then packed(w) of each row,
    or runs and packed(w) of each run

After ALP: Adaptive Lossless floating-Point Compression (Afroozeh, Kuffo, Boncz, 2023), whose
vectors of 1,024 values have exponents of their own. Here a chunk has one, so that a row is read by
one load, as in FRAME, and two multiplications. A value that comes back with other bits, such as a
NaN or -0.0, is an exception, and so is one that is far from most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.storage.flat.encodings.bits import (
    Line,
    check_packed,
    line_reader,
    loops_for,
    pack_line,
    packed_bytes,
    unpack_into,
    unpack_line,
)
from raydb.storage.flat.encodings.encoding import Encoded, bad_chunk
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.encodings.patches import (
    Frame,
    Patches,
    choose_frame,
    outside,
    patched_gather,
    read_patches,
)
from raydb.storage.flat.encodings.runs import SLOWER, Runs, pack_runs, read_runs, runs_bytes
from raydb.storage.flat.kinds import valid_mask, values_of
from raydb.storage.flat.layout import Flags, Kind
from raydb.storage.take_rows import take_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Gather, Rows, Sections, Source, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

MOST_EXPONENT = 18
# Powers of ten, and the doubles nearest to those of a tenth, which 10.0**-power need not be.
SCALES = np.array([[float(f"1e{sign}{n}") for n in range(MOST_EXPONENT + 1)] for sign in "+-"])
_TENS, _TENTHS = SCALES
_EXPONENTS, _FACTORS = np.array(
    [(exponent, factor) for exponent in range(MOST_EXPONENT + 1) for factor in range(exponent + 1)]
).T
# Integers of more bits do not fit a double.
_MOST_BITS = 53
_LIMIT = float(2**51)
# Fewer rows are stored as they are: to look for exponents takes 0.1 ms.
_MIN_ROWS = 1024
_FEW_ROWS, _SAMPLE_ROWS = 16, 128
_LEAST_PART = 0.5
_CANDIDATES = 3
_EXCEPTION_BITS = 96
# It has to save an eighth: doubles as they are need no decoding at all.
_SLOWER = 8 / 7


class Exponents(NamedTuple):
    """The exponents and factors that fit a column best, the best first."""

    choices: tuple[tuple[int, int], ...]


class _Fitted(NamedTuple):
    """Doubles as integers: those outside of the frame are exceptions."""

    exponent: int
    factor: int
    words: NDArray[np.int64]
    frame: Frame
    patches: Patches
    run_starts: NDArray[np.bool_] | None

    @property
    def size(self) -> int:
        """The bytes of a payload; more than these where rows are in runs, which read slower."""
        if self.run_starts is None:
            return self.patches.size + packed_bytes(len(self.words), self.frame.bits)
        return self.patches.size + _runs_size(self.run_starts, self.frame.bits)


class _Stored(NamedTuple):
    """A chunk as it is read: integers of all rows, or of all runs, times ten and tenth."""

    ten: Any
    tenth: Any
    patches: Patches
    packed: memoryview
    runs: Runs | None
    packed_count: int


class _Alp(IntegerEncoding):
    code, name, shows_width = 13, "alp", True
    kinds = frozenset({Kind.FLOAT})
    choices = kinds

    def prepare(self, source: Source, is_wanted: bool) -> Any:
        """Return the exponents of a column of doubles; None where a sample hardly gets smaller."""
        column, least = source.column, 1 if is_wanted else _MIN_ROWS
        if column.type != pa.float64() or len(column) < least:
            return None
        numbers = _sample_of(column)
        some = numbers[:: max(len(numbers) // _FEW_ROWS, 1)]
        if not len(some):
            return None
        # Doubles of chance are recognized by a few; exponents, and their cost, ask for more.
        if not is_wanted and _costs(some)[1].max() < _LEAST_PART:
            return None
        costs, _ = _costs(numbers)
        order = np.argsort(costs, kind="stable")[:_CANDIDATES]
        if not is_wanted and costs[order[0]] * _SLOWER >= 64:
            return None
        return Exponents(tuple((int(_EXPONENTS[each]), int(_FACTORS[each])) for each in order))

    def size(self, values: Values) -> int | None:
        fitted = _fitted(values)
        return None if fitted is None else int(fitted.size * _SLOWER)

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        fitted = _fitted(values)
        if fitted is None:
            return None
        (least, bits), words, flags = fitted.frame, fitted.words, 0
        head = fitted.patches.pack(fitted.exponent | fitted.factor << 8)
        if fitted.run_starts is not None:
            head += pack_runs(fitted.run_starts)
            words, flags = words[fitted.run_starts], Flags.RUNS
        packed = pack_line(words, bits, Line(least)).tobytes()
        return Encoded(self, bits, least, flags=flags, payload=head + packed)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        word, patches, packed = read_patches(column, entry, sections.payload)
        exponent, factor, place = word & 0xFF, word >> 8, entry.starts()[1]
        if column.bits != 64:
            raise bad_chunk(column, entry, place, "values of 64 bits", f"{column.bits} bits")
        if not factor <= exponent <= MOST_EXPONENT:
            expected = f"a factor up to the exponent up to {MOST_EXPONENT}"
            raise bad_chunk(column, entry, place + 4, expected, f"{factor} and {exponent}")
        runs, count = None, entry.row_count
        if entry.flags & Flags.RUNS:
            runs, packed = read_runs(column, entry, packed)
            count = runs.run_count
        check_packed(column, entry, len(packed), count, _MOST_BITS, 0)
        if abs(entry.reference) > 2**_MOST_BITS:
            expected = f"a reference of {_MOST_BITS} bits"
            raise bad_chunk(column, entry, place, expected, entry.reference)
        return None, _Stored(_TENS[factor], _TENTHS[exponent], patches, packed, runs, count)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        if isinstance(rows, slice):
            out = np.empty(count)
            self.read_into(chunk, rows.indices(chunk.entry.row_count)[0], out)
            return out
        stored: _Stored = chunk.shared
        places = rows if stored.runs is None else stored.runs.runs_of(rows)
        values = _decoded(chunk, places)
        stored.patches.put_rows(rows, values)
        return values

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        ten, tenth, patches, packed, runs, _ = chunk.shared
        if runs is None:
            words = out.view(np.int64)
            unpack_into(packed, chunk.entry.width, start, Line(chunk.entry.reference), words)
            _scale(words, ten, tenth, out)
        else:
            runs.spread(_decoded(chunk, slice(None)), slice(start, start + len(out)), out)
        patches.put(start, out)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        stored: _Stored = chunk.shared
        patches, ten, tenth = stored.patches, float(stored.ten), float(stored.tenth)
        line = Line(chunk.entry.reference)
        word_of = line_reader(stored.packed, chunk.entry.width, line, unsigned=False)
        if stored.runs is not None:
            word_of = _by_runs(word_of, stored.runs.reader())
        known = dict(
            zip(patches.rows.tolist(), patches.words.view(np.float64).tolist(), strict=True)
        )
        if not known:
            return lambda row: word_of(row) * ten * tenth

        def read(row: int) -> float:
            found = known.get(row)
            return word_of(row) * ten * tenth if found is None else found

        return read

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        if bool((column.entries["flags"] & Flags.RUNS).any()):
            return None
        return patched_gather(
            column,
            width,
            lambda words, said: words * _TENS[said >> 8] * _TENTHS[said & 0xFF],
        )


def bits_a_value(column: Any) -> float:
    """Return about how many bits a double of a chunked array takes, 64 where it does not pay.

    column: doubles, or their bits as int64.
    """
    numbers = _sample_of(column)
    return min(float(_costs(numbers)[0].min()) * _SLOWER, 64.0) if len(numbers) else 64.0


def _sample_of(column: Any) -> NDArray[np.float64]:
    rows = np.unique(np.linspace(0, len(column) - 1, _SAMPLE_ROWS).astype(np.int64))
    sample = take_rows(column, rows).combine_chunks().drop_null()
    return values_of(sample.view(pa.float64()), Kind.FLOAT)


def _by_runs(word_of: Callable[[int], int], run_of: Callable[[int], int]) -> Callable[[int], int]:
    return lambda row: word_of(run_of(row))


def _decoded(chunk: Chunk, places: Rows) -> NDArray[np.float64]:
    """Return the values of some rows, or runs, of a chunk, exceptions aside."""
    ten, tenth, _, packed, _, count = chunk.shared
    line = Line(chunk.entry.reference)
    words = unpack_line(packed, chunk.entry.width, count, line, places, np.dtype(np.int64))
    values: NDArray[np.float64] = words.view(np.float64)
    _scale(words, ten, tenth, values)
    return values


def _scale(words: NDArray[np.int64], ten: Any, tenth: Any, out: NDArray[np.float64]) -> None:
    """Write integers times a power of ten times another; `out` may lie where they do."""
    loops = loops_for(len(out))
    if loops is None:
        np.multiply(words, ten, out=out)
        out *= tenth
    else:
        loops.scale_words(words, ten, tenth, out)


def _integers(
    numbers: NDArray[np.float64], ten: Any, tenth: Any, factor_ten: Any, factor_tenth: Any
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return doubles as whole numbers, and which of them come back with the same bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(numbers * ten * factor_tenth)
        # An integer has no sign where it is 0: -0.0 becomes 0.0, and so does not come back.
        whole = np.where(np.abs(whole) < _LIMIT, whole, 0.0) + 0.0
        back = whole * factor_ten
        back *= tenth
    same: NDArray[np.bool_] = back.view(np.uint64) == numbers.view(np.uint64)
    return whole, same


def _costs(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bits a value that each exponent and factor cost, and the part that they fit."""
    columns = (_TENS[_EXPONENTS], _TENTHS[_EXPONENTS], _TENS[_FACTORS], _TENTHS[_FACTORS])
    whole, same = _integers(numbers, *(each[:, None] for each in columns))
    least = np.where(same, whole, np.inf).min(axis=1)
    greatest = np.where(same, whole, -np.inf).max(axis=1)
    part = same.mean(axis=1)
    bits = np.where(part > 0, np.ceil(np.log2(np.maximum(greatest - least, 0) + 1)), 0.0)
    return bits + (1 - part) * _EXCEPTION_BITS, part


def _fitted(values: Values) -> _Fitted | None:
    """Return the integers of a chunk, kept from the choice to the encoding; None without any."""
    exponents = values.plan.prepared
    if not isinstance(exponents, Exponents) or values.numbers is None:
        return None
    if "alp" not in values.kept:
        numbers: NDArray[np.float64] = np.ascontiguousarray(values.numbers)
        rows = np.arange(_SAMPLE_ROWS) * (len(numbers) - 1) // (_SAMPLE_ROWS - 1)
        mask = valid_mask(values.array) if values.array.null_count else None
        values.kept["alp"] = _fit(numbers, mask, _best_for(numbers[rows], exponents))
    fitted: _Fitted | None = values.kept["alp"]
    return fitted


def _best_for(sample: NDArray[np.float64], exponents: Exponents) -> tuple[int, int]:
    """Return the exponent and the factor that cost a chunk the fewest bits."""
    best, best_cost = exponents.choices[0], np.inf
    for exponent, factor in exponents.choices if len(exponents.choices) > 1 else ():
        whole, same = _integers(
            sample, _TENS[exponent], _TENTHS[exponent], _TENS[factor], _TENTHS[factor]
        )
        fit = whole[same]
        bits = np.log2(fit.max() - fit.min() + 1) if len(fit) else 0.0
        cost = bits + (1 - len(fit) / len(sample)) * _EXCEPTION_BITS
        if cost < best_cost:
            best, best_cost = (exponent, factor), cost
    return best


def _fit(
    numbers: NDArray[np.float64], mask: NDArray[np.bool_] | None, choice: tuple[int, int]
) -> _Fitted | None:
    exponent, factor = choice
    whole, same = _integers(
        numbers, _TENS[exponent], _TENTHS[exponent], _TENS[factor], _TENTHS[factor]
    )
    words = whole.astype(np.int64)
    if not same.all():
        fit = words[same]
        if not len(fit):
            return None
        words[~same] = fit[0]
    least, greatest = int(words.min()), int(words.max())
    frame = choose_frame(words, least, greatest - least)
    is_patched = ~same | outside(words, frame)
    # The value before it, which a NULL has, need not come back.
    places = np.flatnonzero(is_patched if mask is None else is_patched & mask)
    patches = Patches(places.astype(np.uint32), numbers[places].view(np.uint64))
    if is_patched.any():
        # The one before it, so that runs go on across an exception.
        rows = np.where(is_patched, 0, np.arange(len(words)))
        rows[: int(is_patched.argmin())] = int(is_patched.argmin())
        words = words[np.maximum.accumulate(rows)]
    starts = np.ones(len(words), np.bool_)
    np.not_equal(words[1:], words[:-1], out=starts[1:])
    is_in_runs = _runs_size(starts, frame.bits) < packed_bytes(len(words), frame.bits)
    return _Fitted(exponent, factor, words, frame, patches, starts if is_in_runs else None)


def _runs_size(starts: NDArray[np.bool_], bits: int) -> int:
    packed = packed_bytes(int(np.count_nonzero(starts)), bits)
    return int((runs_bytes(len(starts)) + packed) * SLOWER)


ALP = _Alp()
