"""Fast Static Symbol Table: compression of short byte strings, each readable on its own.

A table holds at most 255 symbols of 1 to 8 bytes. An item becomes the code of the longest symbol
that it begins with, then that of the longest symbol that the rest begins with, and so on; a byte
that begins no symbol is escaped: code 255, then the byte itself.

    symbols  0 "a "  1 "man "  2 "riding "        "a man riding X"  ->  0 1 2 255 "X"

Equal items have equal codes, so equality runs on codes. Single items are read and written in plain
Python; numba is imported by the functions for many items, when they are called.

Boncz, Neumann, Leis: FSST: Fast Random Access String Compression, PVLDB 13(11), 2020.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.codecs.rows.entries import Entries
from raydb.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

ESCAPE = 255
MAX_SYMBOLS = 255
LONGEST_SYMBOL = 8

# MASKS[length] keeps the first bytes of a little-endian word.
MASKS = np.array([(1 << 8 * length) - 1 for length in range(LONGEST_SYMBOL + 1)], np.uint64)

# Code offsets are uint32.
MAX_CODE_BYTES = 2**32 - 1

# Training on 64 KiB takes 5 to 10 ms. 16 KiB take half of it, and captions 12 % more codes.
SAMPLE_BYTES = 2**16
# An item counts as pieces of this size, so that one long item can't fill the sample.
PIECE_BYTES = 512
# Multiples of the golden ratio, modulo 1, are spread evenly wherever the sequence is cut.
GOLDEN_RATIO = 0.6180339887498949

# The 128ths of the sample that the first rounds of training read, as in the paper, and the number
# of rounds on all of it. With one of these, as in the paper, captions take 25 % more codes.
PARTIAL_ROUNDS = (8, 38, 68, 98)
FULL_ROUNDS = 6
# What occurs less often in a full sample is no candidate. At 5, accidents of the sample take
# places (captions: 10 % more codes); at 40, good symbols are missing (URLs: 18 % more).
MIN_COUNT = 20
# A byte without a symbol takes two bytes of codes, and no pair grows from it. With factor 1, prose
# takes 5 % more codes; from 2 on it hardly matters. 8 is the factor of the paper's own program.
SINGLE_BYTE_WEIGHT = 8

# Up to this many bytes of codes, chosen items are read in plain Python: it takes 30 µs, and the
# first import of numba 250 ms.
FEW_CODE_BYTES = 1024


@dataclass(frozen=True, eq=False, slots=True)
class SymbolTable:
    """Symbols by code: at most 255, all different, of 1 to 8 bytes; ValueError otherwise."""

    symbols: tuple[bytes, ...]

    def __post_init__(self) -> None:
        count = len(self.symbols)
        if count > MAX_SYMBOLS:
            raise ValueError(f"a symbol table has at most {MAX_SYMBOLS} symbols, found {count}")
        for length in sorted(set(map(len, self.symbols))):
            if not 1 <= length <= LONGEST_SYMBOL:
                raise ValueError(f"a symbol has 1 to {LONGEST_SYMBOL} bytes, found {length}")
        if len(set(self.symbols)) < count:
            raise ValueError("a symbol table has the same symbol twice")

    def to_bytes(self) -> bytes:
        r"""Return the number of symbols (1 byte), the length of each (1 byte), and their bytes.

        >>> SymbolTable((b"a ", b"man ")).to_bytes()
        b'\x02\x02\x04a man '
        """
        lengths = bytes(map(len, self.symbols))
        return bytes([len(self.symbols)]) + lengths + b"".join(self.symbols)

    @staticmethod
    def from_bytes(data: bytes | memoryview) -> SymbolTable:
        """Read what `to_bytes` wrote; a ValueError says what is wrong with any other bytes."""
        stored = bytes(data)
        if not stored:
            raise ValueError("a symbol table has at least 1 byte, found 0")
        start = 1 + stored[0]
        ends = list(accumulate(stored[1:start], initial=start))
        if len(stored) < start or ends[-1] != len(stored):
            raise ValueError(
                f"a symbol table with {stored[0]} symbols should have {ends[-1]} bytes, "
                f"found {len(stored)}"
            )
        return SymbolTable(tuple([stored[start:end] for start, end in pairwise(ends)]))


def train(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> SymbolTable:
    """Choose the symbols that compress a sample of the items best. Equal items, equal tables.

    Item i is data[offsets[i] : offsets[i + 1]]. Each round parses the sample, or a part of it, with
    the table of the round before; its symbols and their neighbouring pairs, joined, compete for the
    places of the next table. The best table wins.
    """
    _check_offsets(data, offsets)
    sample, ends = _draw_sample(data, offsets, phase=0.0)
    symbols = Symbols(np.empty(0, np.uint64), np.empty(0, np.int64))
    for part in PARTIAL_ROUNDS:
        part_ends = ends[: 1 + -(-(len(ends) - 1) * part // 128)]
        symbols = _choose_symbols(symbols, _parse(symbols, sample, part_ends), part_ends)
    tokens = _parse(symbols, sample, ends)
    best, best_size = symbols, _code_bytes(tokens)
    for _ in range(FULL_ROUNDS):
        symbols = _choose_symbols(symbols, tokens, ends)
        tokens = _parse(symbols, sample, ends)
        if _code_bytes(tokens) < best_size:
            best, best_size = symbols, _code_bytes(tokens)
    return best.to_table()


def ratio(table: SymbolTable, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> float:
    """Return how many bytes of items a byte of codes holds, on a sample; 1.0 without any bytes.

    The sample is drawn at other places than the one for training, unless both hold all items.
    """
    _check_offsets(data, offsets)
    sample, ends = _draw_sample(data, offsets, phase=0.5)
    codes, _ = compress(table, sample, ends)
    return len(sample) / len(codes) if len(codes) else 1.0


def compress(
    table: SymbolTable, data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the codes of all items and their offsets, shape (item_count + 1,).

    OverflowError where there are 2**32 bytes of codes or more.
    """
    from raydb.kernels.codecs import fsst_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    _check_offsets(data, offsets)
    codes = np.empty(2 * int(offsets[-1] - offsets[0]), np.uint8)
    code_offsets = np.empty(len(offsets), np.uint32)
    size = loops.encode_items(
        _table_matcher(table),
        _read_only(data, np.uint8),
        _read_only(offsets, np.int64),
        codes,
        code_offsets,
    )
    if size > MAX_CODE_BYTES:
        raise OverflowError(f"the codes take {size} bytes; at most {MAX_CODE_BYTES} fit a chunk")
    codes.resize(size, refcheck=False)  # Gives the memory back without a copy.
    return codes, code_offsets


def compress_one(table: SymbolTable, value: bytes) -> bytes:
    """Return the codes of one item, those that `compress` gives it, without numba."""
    code_of = _table_codes(table)
    codes = bytearray()
    place = 0
    while place < len(value):
        for length in range(LONGEST_SYMBOL, 0, -1):
            symbol = value[place : place + length]
            if symbol in code_of:
                codes.append(code_of[symbol])
                place += len(symbol)  # Less than `length` at the end of the value.
                break
        else:
            codes += bytes((ESCAPE, value[place]))
            place += 1
    return bytes(codes)


def decompress(
    table: SymbolTable, codes: NDArray[np.uint8], offsets: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of all items and their offsets, shape (item_count + 1,).

    ValueError, naming the item, for offsets that fall or leave the codes, for a code without a
    symbol, and for an escape at the end of an item.
    """
    if len(offsets) == 0:
        raise ValueError("there is one offset more than items, found none")
    bounds = offsets.astype(np.int64)
    return _decompress(table, codes, bounds[:-1], bounds[1:])


def decompress_items(
    table: SymbolTable, codes: NDArray[np.uint8], starts: NDArray[Any], ends: NDArray[Any]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of the items codes[start:end] and their offsets; errors as `decompress`.

    starts, ends: integers, shape (item_count,), in any order, also more than once.
    """
    first, last = starts.astype(np.int64), ends.astype(np.int64)
    if int((last - first).sum()) > FEW_CODE_BYTES:
        return _decompress(table, codes, first, last)
    _check_items(codes, first, last)
    stored = _read_only(codes, np.uint8).data
    items: list[bytes] = []
    try:
        for start, end in zip(first.tolist(), last.tolist(), strict=True):
            items.append(decompress_one(table, stored[start:end]))
    except ValueError as error:
        raise ValueError(f"item {len(items)}: {error}") from None
    offsets = np.fromiter(accumulate(map(len, items), initial=0), np.int64, len(items) + 1)
    return np.frombuffer(b"".join(items), np.uint8), offsets


def decompress_one(table: SymbolTable, codes: bytes | memoryview) -> bytes:
    """Return the bytes of one item, without numba: 1 µs for 64 characters.

    ValueError for a code without a symbol and for an escape at the end.
    """
    stored = bytes(codes)
    symbols = table.symbols
    try:
        # A comprehension, because join(map(symbols.__getitem__, stored)) takes 1.5 times as long.
        if ESCAPE not in stored:
            return b"".join([symbols[code] for code in stored])
        parts = []
        place = 0
        while (escape := stored.find(ESCAPE, place)) >= 0:
            parts += [symbols[code] for code in stored[place:escape]]
            parts.append(stored[escape + 1 : escape + 2])
            place = escape + 2
        if place > len(stored):
            raise ValueError(f"an item of {len(stored)} bytes of codes ends in an escape")
        parts += [symbols[code] for code in stored[place:]]
        return b"".join(parts)
    except IndexError:
        raise ValueError(
            f"an item has a code without a symbol; the table has {len(symbols)} symbols"
        ) from None


def _decompress(
    table: SymbolTable,
    codes: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    from raydb.kernels.codecs import fsst_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    _check_items(codes, starts, ends)
    words, lengths = table_words(table)
    # Every code writes 8 bytes and keeps the symbol's. What is never written takes no memory.
    room = int((ends - starts).sum()) * max(int(lengths.max()), 1) + LONGEST_SYMBOL
    data = np.empty(room, np.uint8)
    offsets = np.empty(len(starts) + 1, np.int64)
    size = loops.decode_items(
        words,
        lengths,
        len(table.symbols),
        _read_only(codes, np.uint8),
        _read_only(starts, np.int64),
        _read_only(ends, np.int64),
        data,
        offsets,
    )
    if size < 0:
        item = -1 - size
        try:
            decompress_one(table, codes[starts[item] : ends[item]].tobytes())
        except ValueError as error:
            raise ValueError(f"item {item}: {error}") from None
        raise AssertionError(f"item {item} is good in Python and bad in numba")
    data.resize(size, refcheck=False)  # Gives the memory back without a copy.
    return data, offsets


def _check_offsets(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Raise ValueError unless the offsets rise from item to item inside of the data."""
    if len(offsets) == 0:
        raise ValueError("there is one offset more than items, found none")
    if offsets[0] < 0 or offsets[-1] > len(data) or bool((offsets[1:] < offsets[:-1]).any()):
        raise ValueError(f"item offsets must rise from 0 or more to at most {len(data)}")


def _check_items(
    codes: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    """Raise ValueError, naming the first bad item, unless all lie inside of the codes."""
    if len(starts) != len(ends):
        raise ValueError(f"items have one start and one end, found {len(starts)} and {len(ends)}")
    bad = (starts < 0) | (ends < starts) | (ends > len(codes))
    if bool(bad.any()):
        item = int(bad.argmax())
        raise ValueError(
            f"item {item} has bytes {starts[item]} to {ends[item]} of {len(codes)} bytes of codes"
        )


def _read_only(values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """View an array as numba's loops take it: they're compiled once, not again for a memory map."""
    view = np.ascontiguousarray(values, dtype).view()
    view.flags.writeable = False
    return view


# The symbols as arrays


@dataclass(frozen=True, eq=False, slots=True)
class Symbols:
    """Symbols as little-endian words (uint64) and lengths (int64), one of each a symbol."""

    words: NDArray[np.uint64]
    lengths: NDArray[np.int64]

    @staticmethod
    def of_table(table: SymbolTable) -> Symbols:
        """Return a table's symbols in the order of their codes."""
        padded = b"".join([symbol.ljust(8, b"\0") for symbol in table.symbols])
        lengths = np.fromiter(map(len, table.symbols), np.int64, len(table.symbols))
        return Symbols(np.frombuffer(padded, "<u8").astype(np.uint64), lengths)

    def to_table(self) -> SymbolTable:
        """Return the table of these symbols in the order of their bytes."""
        pairs = zip(self.words.tolist(), self.lengths.tolist(), strict=True)
        return SymbolTable(
            tuple(sorted(word.to_bytes(8, "little")[:length] for word, length in pairs))
        )


class Matcher(NamedTuple):
    """Symbols arranged to find the longest one at a place by its next two bytes.

    first: uint16, shape (65536,): the first entry for the two bytes (little-endian).
    words, masks, lengths: uint64; codes: uint8; shape (entry_count,). The entries for two bytes are
        the symbols of two or more bytes, longest first, then "any byte": mask 0, length 1, and the
        code of the first byte alone or an escape. Where there are no such symbols, first[pair] is
        one of the entries 0..255, "any byte" for each byte.
    """

    first: NDArray[np.uint16]
    words: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    codes: NDArray[np.uint8]

    @staticmethod
    def of_symbols(symbols: Symbols) -> Matcher:
        """Arrange symbols; their places are their codes."""
        codes = np.arange(len(symbols.words), dtype=np.uint8)
        is_long = symbols.lengths > 1
        byte_codes = np.full(256, ESCAPE, np.uint8)
        byte_codes[symbols.words[~is_long].astype(np.int64)] = codes[~is_long]
        long_words = symbols.words[is_long]
        long_pairs = (long_words & np.uint64(0xFFFF)).astype(np.int64)
        pairs = np.unique(long_pairs)
        entry_pairs = np.concatenate([long_pairs, pairs])
        lengths = np.concatenate([symbols.lengths[is_long], np.ones(len(pairs), np.int64)])
        order = np.lexsort((-lengths, entry_pairs))
        first = (np.arange(2**16) & 0xFF).astype(np.uint16)
        first[pairs] = 256 + np.searchsorted(entry_pairs[order], pairs)
        words = np.concatenate([long_words, np.zeros(len(pairs), np.uint64)])[order]
        lengths = np.concatenate([np.ones(256, np.int64), lengths[order]])
        entry_codes = np.concatenate([codes[is_long], byte_codes[pairs & 0xFF]])[order]
        return Matcher(
            first=first,
            words=np.concatenate([np.zeros(256, np.uint64), words]),
            masks=np.where(lengths > 1, MASKS[lengths], np.uint64(0)),
            lengths=lengths.astype(np.uint64),
            codes=np.concatenate([byte_codes, entry_codes]),
        )


# What is derived from the tables used last is kept: 140 KiB, 3 KiB and 30 KiB for each.


@lru_cache(maxsize=16)
def _table_matcher(table: SymbolTable) -> Matcher:
    return Matcher.of_symbols(Symbols.of_table(table))


@lru_cache(maxsize=1024)
def table_words(table: SymbolTable) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Return (words, lengths) by code, shape (256,); both are 0 behind the last symbol."""
    symbols = Symbols.of_table(table)
    words, lengths = np.zeros(256, np.uint64), np.zeros(256, np.uint8)
    words[: len(symbols.words)] = symbols.words
    lengths[: len(symbols.words)] = symbols.lengths
    words.flags.writeable = lengths.flags.writeable = False
    return words, lengths


@lru_cache(maxsize=64)
def table_entries(table: SymbolTable) -> Entries:
    """Return the symbols as entries, of all 255 codes."""
    lengths = np.fromiter(map(len, table.symbols), np.int64, len(table.symbols))
    data = np.frombuffer(b"".join(table.symbols), np.uint8)
    return Entries.of(data, np.cumsum([0, *lengths.tolist()]), MAX_SYMBOLS)


@lru_cache(maxsize=16)
def _table_codes(table: SymbolTable) -> dict[bytes, int]:
    return {symbol: code for code, symbol in enumerate(table.symbols)}


# Training


def _draw_sample(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], phase: float
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return pieces of items, about 64 KiB, and their offsets; all items where that is less.

    Pieces are drawn by evenly spread places in the bytes, so that long items count by their
    length, and lie in the order drawn: the first pieces are a sample too.
    """
    starts, ends = offsets[:-1], offsets[1:]
    total = int(offsets[-1] - offsets[0])
    if total > SAMPLE_BYTES:
        mean = min(max(total / len(starts), 1.0), PIECE_BYTES)
        spread = (phase + np.arange(int(SAMPLE_BYTES / mean) + 1) * GOLDEN_RATIO) % 1.0
        places = offsets[0] + (spread * total).astype(np.int64)
        items = np.searchsorted(offsets, places, side="right") - 1
        drawn = offsets[items] + (places - offsets[items]) // PIECE_BYTES * PIECE_BYTES
        once = np.sort(np.unique(drawn, return_index=True)[1])
        starts = drawn[once]
        ends = np.minimum(starts + PIECE_BYTES, offsets[items[once] + 1])
        count = int(np.searchsorted(np.cumsum(ends - starts), SAMPLE_BYTES, side="right"))
        starts, ends = starts[:count], ends[:count]
    lengths = ends - starts
    sample_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(sample_offsets[-1]) + np.repeat(starts - sample_offsets[:-1], lengths)
    return data[places], sample_offsets


def _parse(
    symbols: Symbols, sample: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """Return the sample as tokens: an escaped byte (0..255) or 256 + a code."""
    from raydb.kernels.codecs import fsst_loops as loops  # noqa: PLC0415  (numba takes 0.24 s)

    tokens = np.empty(len(sample), np.uint16)
    matcher, bounds = Matcher.of_symbols(symbols), _read_only(offsets, np.int64)
    count = loops.parse_items(matcher, _read_only(sample, np.uint8), bounds, tokens)
    return tokens[:count]


def _code_bytes(tokens: NDArray[np.uint16]) -> int:
    """Return how many bytes of codes the tokens take: two an escaped byte, one a symbol."""
    return len(tokens) + int(np.count_nonzero(tokens < 256))


def _choose_symbols(
    symbols: Symbols, tokens: NDArray[np.uint16], offsets: NDArray[np.int64]
) -> Symbols:
    """Return the 255 candidates that cover most bytes of what was parsed.

    Candidates are the tokens and the pairs of neighbours in one piece, cut to 8 bytes.
    """
    words = np.concatenate([np.arange(256, dtype=np.uint64), symbols.words])
    lengths = np.concatenate([np.ones(256, np.int64), symbols.lengths])
    least = max(2, MIN_COUNT * int(offsets[-1]) // SAMPLE_BYTES)
    counts = np.bincount(tokens, minlength=len(words))
    single = np.flatnonzero(counts >= least)

    token_ends = np.cumsum(lengths[tokens])
    is_end = np.zeros(offsets[-1] + 1, np.bool_)
    is_end[offsets] = True
    pairs = (tokens[:-1].astype(np.int64) << 9 | tokens[1:])[~is_end[token_ends[:-1]]]
    pair_counts = np.bincount(pairs, minlength=1)
    pair = np.flatnonzero(pair_counts >= least)
    left, right = pair >> 9, pair & 511
    joined = words[left] | np.where(
        lengths[left] < 8, words[right] << (8 * (lengths[left] & 7)).astype(np.uint64), 0
    )

    word = np.concatenate([words[single], joined])
    length = np.concatenate([lengths[single], np.minimum(lengths[left] + lengths[right], 8)])
    gain = np.concatenate([counts[single], pair_counts[pair]]) * length
    gain[: len(single)][lengths[single] == 1] *= SINGLE_BYTE_WEIGHT
    return _best_symbols(word, length, gain)


def _best_symbols(
    words: NDArray[np.uint64], lengths: NDArray[np.int64], gains: NDArray[np.int64]
) -> Symbols:
    """Add up the gains of equal candidates and return the 255 greatest; longer ones win ties."""
    if len(words) == 0:
        return Symbols(words, lengths)
    order = np.lexsort((lengths, words))
    words, lengths, gains = words[order], lengths[order], gains[order]
    is_new = np.ones(len(words), np.bool_)
    is_new[1:] = (words[1:] != words[:-1]) | (lengths[1:] != lengths[:-1])
    places = np.flatnonzero(is_new)
    words, lengths, gains = words[places], lengths[places], np.add.reduceat(gains, places)
    best = np.lexsort((words, -lengths, -gains))[:MAX_SYMBOLS]
    return Symbols(words[best], lengths[best])
