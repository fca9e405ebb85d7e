"""FSST: every item comes back, plain and compiled code agree, hostile bytes are refused."""

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from raydb.kernels.codecs import fsst
from raydb.kernels.codecs.fsst import SymbolTable
from raydb.kernels.codecs.fsst_loops import load_word

SEED = 20
EMPTY = SymbolTable(())
# Prefixes of each other, symbols that end in NUL bytes, and codes up to 9.
NESTED = SymbolTable(
    (b"a", b"ab", b"abc", b"abcdefgh", b"b\0", b"abc\0", b"\0", b"\xff", b"\xff\xff", b"bcd")
)


def pack(items):
    data = np.frombuffer(b"".join(items), np.uint8)
    return data, np.cumsum([0, *map(len, items)], dtype=np.int64)


def unpack(data, offsets):
    bounds = offsets.tolist()
    stored = data.tobytes()
    return [stored[bounds[i] : bounds[i + 1]] for i in range(len(bounds) - 1)]


def check_round_trip(table, items):
    """Compress and decompress in every way; return the codes of each item."""
    codes, offsets = fsst.compress(table, *pack(items))
    assert (codes.dtype, offsets.dtype) == (np.uint8, np.uint32)
    stored = unpack(codes, offsets)
    assert stored == [fsst.compress_one(table, item) for item in items]
    assert [fsst.decompress_one(table, memoryview(item)) for item in stored] == items

    data, ends = fsst.decompress(table, codes, offsets)
    assert (data.dtype, ends.dtype) == (np.uint8, np.int64)
    assert unpack(data, ends) == items

    chosen = np.array([*range(len(items)), *range(0, len(items), 3)][::-1], np.int64)
    data, ends = fsst.decompress_items(table, codes, offsets[chosen], offsets[chosen + 1])
    assert (data.dtype, ends.dtype) == (np.uint8, np.int64)
    assert unpack(data, ends) == [items[i] for i in chosen]
    return stored


similar = st.lists(st.sampled_from(b"ab\0\xff"), min_size=1, max_size=8).map(bytes)
symbols = st.one_of(st.binary(min_size=1, max_size=8), similar)
tables = st.lists(symbols, max_size=255, unique=True).map(lambda s: SymbolTable(tuple(s)))
items = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.text("abcdefgh\0", max_size=40).map(str.encode),
        st.lists(st.sampled_from(NESTED.symbols), max_size=12).map(b"".join),
    ),
    max_size=40,
)


# Round trips


@settings(max_examples=150)
@given(tables, items)
@example(EMPTY, [b"", bytes(range(256)), b"\xff\xff", b""])
@example(NESTED, [b"abcdefg", b"abcdefgh", b"abc", b"abc\0", b"ab", b"b", b"\0", b"\xff\xff\xff"])
def test_any_items_come_back_with_any_table(table, items):
    stored = check_round_trip(table, items)
    assert len(set(stored)) == len(set(items)), "equal items, equal codes"
    copy = SymbolTable.from_bytes(table.to_bytes())
    assert copy.symbols == table.symbols
    assert [fsst.compress_one(copy, item) for item in items] == stored


@settings(max_examples=60)
@given(items)
def test_any_items_come_back_with_their_own_table(items):
    table = fsst.train(*pack(items * 5))
    check_round_trip(table, items)
    assert all(any(symbol in item for item in items) for symbol in table.symbols)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [b""],
        [b""] * 1000,
        [bytes([byte]) for byte in range(256)],
        [bytes(range(256)) * 8],
        [b"\0" * 1000, b"\xff" * 1000, b"\0"],
        [b"", b"one", b""] * 300,
    ],
    ids=["none", "empty", "many empty", "lone bytes", "all bytes", "NUL and 0xFF", "gaps"],
)
def test_special_items(items):
    check_round_trip(fsst.train(*pack(items)), items)


@pytest.mark.long
def test_items_of_one_megabyte():
    rng = random.Random(SEED)
    letters = b"\0\xff" + rng.randbytes(40)
    words = [bytes(rng.choices(letters, k=rng.randrange(1, 12))) for _ in range(200)]
    prose = b"".join(rng.choice(words) for _ in range(200_000))[: 2**20]
    items = [prose, rng.randbytes(2**20), b"short", b"\0" * 2**20]
    table = fsst.train(*pack([prose, items[3]]))
    stored = check_round_trip(table, items)
    assert len(stored[0]) < len(prose) / 1.5
    assert len(stored[3]) == 2**20 / 8


def test_matching_takes_the_longest_symbol():
    codes = [list(fsst.compress_one(NESTED, b"abcdefghabcd")), *map(list, [b"", b"\xff"])]
    assert codes[0] == [3, 2, 255, ord("d")]
    check_round_trip(NESTED, [b"abcdefghabcd", b"\xff\xff\xff"])


@pytest.mark.parametrize("behind", [b"", b"\0", b"\0\0\0\0\0\0\0\0\0"])
def test_a_last_byte_does_not_match_a_symbol_that_reaches_behind_it(behind):
    table = SymbolTable((b"b\0", b"b\0\0\0", b"ab\0"))
    stored = check_round_trip(table, [b"b", behind, b"ab", behind])
    assert list(stored[0]) == [255, ord("b")]
    assert list(stored[2]) == [255, ord("a"), 255, ord("b")]


def test_a_slice_of_items_keeps_its_offsets():
    data, offsets = pack([b"left out", b"abcabc", b"", b"bcd", b"left out too"])
    codes, code_offsets = fsst.compress(NESTED, data, offsets[1:5])
    read = fsst.decompress(NESTED, codes, code_offsets)
    assert unpack(*read) == [b"abcabc", b"", b"bcd"]
    read = fsst.decompress(NESTED, codes, code_offsets[1:])
    assert unpack(*read) == [b"", b"bcd"]


def test_words_end_with_the_data():
    data = np.arange(1, 21, dtype=np.uint8)
    assert load_word(data[:12], np.uint64(4)) == int.from_bytes(range(5, 13), "little")
    assert load_word(data[:12], np.uint64(9)) == int.from_bytes([10, 11, 12], "little")
    assert load_word(data[:3], np.uint64(0)) == int.from_bytes([1, 2, 3], "little")


def test_read_only_buffers_are_taken():
    data, offsets = pack([b"abcabcab"] * 900)
    codes, code_offsets = fsst.compress(NESTED, data, offsets)
    held = np.frombuffer(codes.tobytes(), np.uint8)
    held_offsets = np.frombuffer(code_offsets.tobytes(), np.uint32)
    assert unpack(*fsst.decompress(NESTED, held, held_offsets)) == [b"abcabcab"] * 900
    few = fsst.decompress_items(NESTED, held, held_offsets[:2], held_offsets[1:3])
    assert unpack(*few) == [b"abcabcab"] * 2


def test_codes_beyond_32_bits_are_an_overflow(monkeypatch):
    monkeypatch.setattr(fsst, "MAX_CODE_BYTES", 9)
    assert len(fsst.compress(EMPTY, *pack([b"1234"]))[0]) == 8
    with pytest.raises(OverflowError, match="10 bytes; at most 9"):
        fsst.compress(EMPTY, *pack([b"12", b"345"]))


# Training


def sentences(count, seed=SEED):
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randrange(2, 9))) for _ in range(300)]
    weights = [1 / (i + 1) for i in range(300)]
    return [
        " ".join(rng.choices(words, weights, k=rng.randrange(4, 14))).encode() for _ in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 50, 5000])
def test_training_is_deterministic(count):
    data, offsets = pack(sentences(count))
    first = fsst.train(data, offsets)
    again = fsst.train(data.copy(), offsets.copy())
    assert again.symbols == first.symbols
    assert len(first.symbols) <= 255
    assert list(first.symbols) == sorted(first.symbols)


def test_training_reads_only_its_items():
    inside = sentences(40)
    data, offsets = pack([b"zzzzzzzz" * 50, *inside, b"yyyyyyyy" * 50])
    table = fsst.train(data, offsets[1:-1])
    assert table.symbols == fsst.train(*pack(inside)).symbols


def test_a_trained_table_pays():
    data, offsets = pack(sentences(5000))
    table = fsst.train(data, offsets)
    codes, _ = fsst.compress(table, data, offsets)
    assert len(data) / len(codes) > 2.2
    assert fsst.ratio(table, data, offsets) == pytest.approx(len(data) / len(codes), rel=0.05)


def test_a_sample_of_sorted_items_holds_all_kinds():
    items = [b"aaaaaaaa"] * 20_000 + [b"bbbbbbbb" * 100] * 200 + [b"cccccccc"] * 20_000
    assert {b"aaaaaaaa", b"bbbbbbbb", b"cccccccc"} <= set(fsst.train(*pack(items)).symbols)


def test_ratio_says_when_nothing_is_gained():
    noise = random.Random(SEED).randbytes(200_000)
    data, offsets = pack([noise[i : i + 50] for i in range(0, len(noise), 50)])
    assert fsst.ratio(EMPTY, data, offsets) == 0.5
    assert 0.9 < fsst.ratio(fsst.train(data, offsets), data, offsets) < 1.05
    assert fsst.ratio(EMPTY, *pack([b"", b""])) == 1.0


@pytest.mark.parametrize("offsets", [[], [-1, 2], [0, 2, 1], [0, 9]])
def test_offsets_outside_of_the_data_are_refused(offsets):
    data, bounds = np.zeros(8, np.uint8), np.array(offsets, np.int64)
    for run in (fsst.train, lambda d, o: fsst.compress(EMPTY, d, o)):
        with pytest.raises(ValueError, match="offset"):
            run(data, bounds)


# Hostile bytes


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b"", "at least 1 byte, found 0"),
        (b"\x02\x01", "2 symbols should have"),
        (b"\x02\x01\x03abc", "should have 7 bytes, found 6"),
        (b"\x01\x01ab", "should have 3 bytes, found 4"),
        (b"\x01\x00", "1 to 8 bytes, found 0"),
        (b"\x01\x09abcdefghi", "1 to 8 bytes, found 9"),
        (b"\x02\x01\x01aa", "same symbol twice"),
        (b"\xff" + b"\x01" * 255 + bytes(254) + b"\x01\x02", "should have 511 bytes, found 512"),
    ],
)
def test_a_bad_table_is_named(stored, message):
    with pytest.raises(ValueError, match=message):
        SymbolTable.from_bytes(memoryview(stored))


def test_a_table_of_256_symbols_is_refused():
    with pytest.raises(ValueError, match="at most 255 symbols, found 256"):
        SymbolTable(tuple(bytes([byte]) for byte in range(256)))


@settings(max_examples=300)
@given(st.binary(max_size=80))
def test_any_bytes_are_a_table_or_an_error(stored):
    try:
        table = SymbolTable.from_bytes(stored)
    except ValueError:
        return
    assert table.to_bytes() == stored


@settings(max_examples=200)
@given(
    tables,
    st.binary(max_size=200),
    st.lists(st.integers(0, 210), max_size=20),
    st.booleans(),
    st.integers(1, 40),
)
def test_any_codes_decode_or_are_refused(table, stored, bounds, is_sorted, repeats):
    """The compiled loop says just what the plain one says, item by item."""
    codes = np.frombuffer(stored, np.uint8)
    offsets = np.array([0, *(sorted(bounds) if is_sorted else bounds)], np.uint32)
    pairs = list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
    try:
        assert all(start <= end <= len(stored) for start, end in pairs)
        expected = [fsst.decompress_one(table, stored[start:end]) for start, end in pairs]
    except (AssertionError, ValueError):
        with pytest.raises(ValueError, match="item"):
            fsst.decompress(table, codes, offsets)
        with pytest.raises(ValueError, match="item"):
            fsst.decompress_items(
                table, codes, np.tile(offsets[:-1], repeats), np.tile(offsets[1:], repeats)
            )
        return
    assert unpack(*fsst.decompress(table, codes, offsets)) == expected
    starts, ends = np.tile(offsets[:-1], repeats), np.tile(offsets[1:], repeats)
    assert unpack(*fsst.decompress_items(table, codes, starts, ends)) == expected * repeats


@pytest.mark.parametrize("item_count", [1, 500])
def test_bad_codes_are_named(item_count):
    table = SymbolTable((b"abc", b"d"))
    for bad, message in [
        (b"\x00\xff", "ends in an escape"),
        (b"\xff", "ends in an escape"),
        (b"\xff\xff\xff", "ends in an escape"),
        (b"\x00\x02", "without a symbol; the table has 2"),
        (b"\xff\x02\xfe", "without a symbol; the table has 2"),
    ]:
        codes = b"\x00\x01\xff\x05" * item_count + bad + b"\x00"
        ends = [*range(0, 4 * item_count + 1, 4), 4 * item_count + len(bad), len(codes)]
        offsets = np.array(ends, np.uint32)
        array = np.frombuffer(codes, np.uint8)
        with pytest.raises(ValueError, match=f"^item {item_count}: .*{message}"):
            fsst.decompress(table, array, offsets)
        with pytest.raises(ValueError, match=f"^item {item_count}: .*{message}"):
            fsst.decompress_items(table, array, offsets[:-1], offsets[1:])
        with pytest.raises(ValueError, match=message):
            fsst.decompress_one(table, bad)


@pytest.mark.parametrize(
    ("starts", "ends"),
    [([-1], [2]), ([0], [9]), ([3], [2]), ([2**62], [-(2**62)]), ([0, 0], [2]), ([2**63], [4])],
)
def test_items_outside_of_the_codes_are_refused(starts, ends):
    codes = np.zeros(8, np.uint8)
    with pytest.raises(ValueError, match="item"):
        fsst.decompress_items(NESTED, codes, np.array(starts), np.array(ends))
    with pytest.raises(ValueError, match="found none"):
        fsst.decompress(NESTED, codes, np.empty(0, np.uint32))


def test_single_items_need_no_numba():
    program = (
        "import sys, numpy as np\n"
        "from raydb.kernels.codecs import fsst\n"
        "table = fsst.SymbolTable.from_bytes(b'\\x01\\x02ab')\n"
        "codes = fsst.compress_one(table, b'abc')\n"
        "assert fsst.decompress_one(table, codes) == b'abc'\n"
        "ends = np.array([len(codes)])\n"
        "fsst.decompress_items(table, np.frombuffer(codes, np.uint8), ends - ends, ends)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
