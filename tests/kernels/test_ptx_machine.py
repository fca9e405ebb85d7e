"""The PTX machine computes as PTX says, and finds each fault that it looks for."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_arithmetic import operation
from ptx_machine import launch
from ptx_memory import Fault, Memory
from ptx_text import PtxError, read_kernel

HEAD = """
.version 8.0  // hand-written
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.global .align 8 .u64 seven = 7;
.visible .entry test({parameters})
{{
    .reg .pred %p<9>;
    .reg .b16 %h<9>;
    .reg .b32 %r<19>;
    .reg .b64 %d<19>;
    .reg .f32 %f<9>;
    .shared .align 4 .b8 static[128];
    .local .align 8 .b8 own[16];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    {loads}
    {body}
    ret;
}}
"""


def run(body, *arrays, grid=1, block=64, shared_bytes=0, seed=1):
    """Run a kernel whose arrays are in %d1, %d2 and so on; return them as they are then."""
    memory = Memory(seed)
    held = []
    for array in arrays:
        buffer, address = memory.allocate(array.nbytes)
        view = buffer[: array.nbytes].view(array.dtype)
        view[:] = array
        held.append((buffer, view, address))
    names = range(1, len(arrays) + 1)
    text = HEAD.format(
        parameters=", ".join(f".param .u64 p{number}" for number in names),
        loads="\n".join(f"ld.param.u64 %d{number}, [p{number}];" for number in names),
        body=body,
    )
    words = [address.to_bytes(8, "little") for _, _, address in held]
    launch(memory, text, words, (grid, 1, 1), (block, 1, 1), shared_bytes, seed)
    return [view for _, view, _ in held]


def fault(body, *arrays, **options):
    with pytest.raises(Fault) as found:
        run(body, *arrays, **options)
    return str(found.value)


# The address of this thread's 4 bytes in the first array, and of its 8 bytes.
MINE_4 = "mad.wide.u32 %d9, %r0, 4, %d1;"
MINE_8 = "mad.wide.u32 %d9, %r0, 8, %d1;"
OWN_SHARED = "mov.u64 %d8, dynamic; mad.wide.u32 %d8, %r0, 4, %d8;"


def test_integers_wrap_around_in_their_width():
    (found,) = run(
        f"""{MINE_4}
        ld.global.u32 %r2, [%d9];
        add.s32 %r2, %r2, 1;
        cvt.s64.s32 %d8, %r2;
        shr.u64 %d8, %d8, 32;
        cvt.u32.u64 %r3, %d8;
        xor.b32 %r2, %r2, %r3;
        st.global.u32 [%d9], %r2;""",
        np.full(64, 2**31 - 1, np.int32),
    )
    assert found.tolist() == [(2**31 ^ 0xFFFFFFFF) - 0] * 64


def test_narrow_values_fill_wide_registers_by_their_type():
    data = np.array([0x80, 0xFF, 0x7F, 0x81], np.uint8)
    out = np.zeros(4, np.int64)
    for kind, expected in (("s8", [-128, -1, 127, -127]), ("u8", [128, 255, 127, 129])):
        _, found = run(
            f"""cvt.u64.u32 %d8, %r0; add.s64 %d9, %d1, %d8;
            ld.global.{kind} %d7, [%d9];
            mad.wide.u32 %d8, %r0, 8, %d2;
            st.global.u64 [%d8], %d7;""",
            data,
            out,
            block=4,
        )
        assert found.tolist() == expected


def test_shifts_beyond_the_width():
    for amount in (0, 1, 31, 32, 33, 2**31):
        signed, unsigned, left = run(
            f"""mov.u32 %r2, {amount};
            ld.global.u32 %r3, [%d1]; shr.s32 %r3, %r3, %r2; st.global.u32 [%d1], %r3;
            ld.global.u32 %r3, [%d2]; shr.u32 %r3, %r3, %r2; st.global.u32 [%d2], %r3;
            ld.global.u32 %r3, [%d3]; shl.b32 %r3, %r3, %r2; st.global.u32 [%d3], %r3;""",
            np.array([-(2**31)], np.int32),
            np.array([2**31], np.uint32),
            np.array([3], np.uint32),
            block=1,
        )
        assert signed[0] == -(2**31) >> min(amount, 31)
        assert unsigned[0] == 2**31 >> min(amount, 40)
        assert left[0] == (3 << min(amount, 40)) % 2**32


INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1])


def compute(opcode, *values):
    function, kinds, result = operation(tuple(opcode.split(".")))
    types = {"s64": np.int64, "u64": np.uint64, "s32": np.int32, "u32": np.uint32, "b64": np.uint64}
    sources = [
        np.array([value]).astype(types[kind])
        if kind[0] == "f"
        else np.array([int(value) % 2 ** int(kind[1:])], f"u{int(kind[1:]) // 8}").view(types[kind])
        for value, kind in zip(values, kinds, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = np.asarray(function(*sources))
    assert found.dtype == types[result]
    return int(found.reshape(-1)[0])


def wrapped(value, bits, signed=True):
    value %= 2**bits
    return value - 2**bits if signed and value >> (bits - 1) else value


@given(INTEGERS, INTEGERS, INTEGERS)
@settings(max_examples=100)
def test_products_and_quotients_are_python_s(a, b, c):
    a32, b32 = wrapped(a, 32), wrapped(b, 32)
    assert compute("mul.lo.s64", a, b) == wrapped(a * b, 64)
    assert compute("mul.hi.s64", a, b) == a * b >> 64
    assert compute("mul.hi.u64", a, b) == (a % 2**64) * (b % 2**64) >> 64
    assert compute("mul.hi.s32", a32, b32) == a32 * b32 >> 32
    assert compute("mul.wide.s32", a32, b32) == a32 * b32
    assert compute("mul.wide.u32", a32, b32) == (a32 % 2**32) * (b32 % 2**32)
    assert compute("mad.lo.s64", a, b, c) == wrapped(a * b + c, 64)
    assert compute("mad.wide.s32", a32, b32, c) == wrapped(a32 * b32 + c, 64)
    assert compute("min.u64", a, b) == min(a % 2**64, b % 2**64)
    if b and (a, b) != (-(2**63), -1):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        assert compute("div.s64", a, b) == quotient
        assert compute("rem.s64", a, b) == a - quotient * b
        assert compute("div.u64", a, b) == (a % 2**64) // (b % 2**64)


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def nearest(exact, dtype):
    """A fraction as the nearest number of a type, the even one of two."""
    value = float(exact) if dtype == np.float64 else None
    if value is not None:
        return dtype(value)
    guess = dtype(float(exact))
    near = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    finite = [each for each in near if np.isfinite(each)]
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.int32)) & 1))


@given(FLOATS, FLOATS, FLOATS)
@settings(max_examples=200)
def test_a_fused_sum_of_floats_is_rounded_once(a, b, c):
    function, *_ = operation(("fma", "rn", "f32"))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact and abs(exact) < 2**127:
        with np.errstate(all="ignore"):
            found = function(*(np.array([each], np.float32) for each in (a, b, c)))
        assert found[0] == nearest(exact, np.float32)


def test_a_fused_sum_that_float64_would_round_twice():
    # The product is one and a half times the last place of 1, less a little.
    a, b, c = np.float32(1 + 2**-23), np.float32(2**-24), np.float32(1)
    function, *_ = operation(("fma", "rn", "f32"))
    assert function(*(np.array([each]) for each in (a, b, c)))[0] == np.float32(1 + 2**-23)
    function, *_ = operation(("fma", "rn", "f64"))
    a, b, c = np.array([1 + 2.0**-52]), np.array([2.0**-53]), np.array([1.0])
    assert function(a, b, c)[0] == 1 + 2.0**-52
    assert (a * b + c)[0] == 1 + 2.0**-52


def test_no_number_and_zeros_in_minima_and_comparisons():
    nan, one = np.array([np.nan], np.float32), np.array([1], np.float32)
    zeros = np.array([0.0], np.float32), np.array([-0.0], np.float32)
    least, most = operation(("min", "f32"))[0], operation(("max", "f32"))[0]
    assert least(nan, one)[0] == most(one, nan)[0] == 1
    assert least(nan, nan).view(np.uint32)[0] == 0x7FFFFFFF
    for pair in (zeros, zeros[::-1]):
        assert np.signbit(least(*pair)[0])
        assert not np.signbit(most(*pair)[0])
    for how, expected in (("lt", 0), ("ne", 0), ("neu", 1), ("ltu", 1), ("nan", 1), ("num", 0)):
        assert operation(("setp", how, "f32"))[0](nan, one)[0] == expected
    whole = operation(("cvt", "rzi", "s32", "f32"))[0]
    far = np.array([np.nan, 3e9, -3e9, -1.9], np.float32)
    with np.errstate(all="ignore"):
        assert whole(far).tolist() == [0, 2**31 - 1, -(2**31), -1]


def test_threads_part_and_meet_again():
    """Of a loop that each thread leaves after another number of turns the sum is right."""
    body = f"""{MINE_4}
        mov.u32 %r2, 0; mov.u32 %r3, 0;
    $loop:
        setp.ge.u32 %p1, %r3, %r0;
        @%p1 bra $out;
        add.u32 %r3, %r3, 1;
        and.b32 %r4, %r3, 1;
        setp.eq.u32 %p2, %r4, 0;
        @%p2 bra $loop;
        add.u32 %r2, %r2, %r3;
        bra.uni $loop;
    $out:
        @!%p1 trap;
        bar.sync 0;
        st.global.u32 [%d9], %r2;"""
    (found,) = run(body, np.zeros(64, np.uint32))
    assert found.tolist() == [sum(range(1, n + 1, 2)) for n in range(64)]


def test_a_table_of_branches():
    body = f"""{MINE_4}
        and.b32 %r2, %r0, 3;
    $table: .branchtargets $a, $b, $b, $c;
        brx.idx %r2, $table;
    $a: mov.u32 %r3, 10; bra $end;
    $b: mov.u32 %r3, 20; bra $end;
    $c: mov.u32 %r3, 30;
    $end: st.global.u32 [%d9], %r3;"""
    (found,) = run(body, np.zeros(8, np.uint32), block=8)
    assert found.tolist() == [10, 20, 20, 30] * 2


@pytest.mark.parametrize(("body", "expected"), [
    ("ld.global.u32 %r2, [%d9+2];", r"4 bytes at \S+ are not aligned"),
    ("ld.global.v2.u32 {%r2, %r3}, [%d9+4];", r"8 bytes at \S+ are not aligned"),
    ("ld.global.u32 %r2, [%d9+256];", r"outside of an allocation of 256 bytes"),
    ("ld.global.u32 %r2, [%d1+-4];", r"outside of any allocation"),
    ("st.global.u32 [%d9+8], %r0;", r"thread 62 of block 0: .* outside of an allocation"),
    ("mov.u64 %d3, 16; ld.u32 %r2, [%d3];", r"outside of any allocation"),
    ("mov.u64 %d3, dynamic; ld.shared.u32 %r2, [%d3+32];", r"outside of 160 bytes of shared"),
    ("mov.u64 %d3, own; st.local.u64 [%d3+16], %d3;", r"outside of 16 bytes of local"),
    ("ld.param.u64 %d3, [p1+8];", r"outside of 8 bytes of param"),
    ("div.u32 %r2, %r0, %r0;", r"thread 0 of block 0: an integer is divided by zero"),
    ("setp.gt.u32 %p1, %r0, 31; @%p1 bar.sync 0;", r"thread 32 .*not all threads of the block"),
    ("setp.eq.u32 %p1, %r0, 9; @%p1 ret; bar.sync 0;", r"not all threads of the block come"),
    ("$x: bra $x;", r"does not end"),
    ("trap;", r"the kernel stops itself"),
])  # fmt: skip
def test_faults(body, expected, monkeypatch):
    monkeypatch.setattr("ptx_machine.MAX_STEPS", 1_000)
    found = fault(MINE_4 + body, np.zeros(64, np.int32), shared_bytes=32)
    assert re.search(expected, found), found


@pytest.mark.parametrize(("body", "expected"), [
    ("lop3.b32 %r1, %r1, %r1, %r1, 0x80;", "unknown opcode: lop3.b32"),
    ("add.f16 %h1, %h1, %h1;", "unknown opcode: add.f16"),
    ("div.approx.f32 %f1, %f1, %f1;", "unknown opcode: div.approx.f32"),
    ("add.rz.f32 %f1, %f1, %f1;", "unknown opcode: add.rz.f32"),
    ("add.u32 %r1, %r1, %d1;", "unknown form: add.u32 %r1, %r1, %d1"),
    ("mov.u32 %r1, %clock;", "unknown form: mov.u32 %r1, %clock"),
    ("bra $nowhere;", "unknown form: bra"),
    ("bar.red.popc.u32 %r1, 0, %p1;", "unknown form: bar.red"),
])  # fmt: skip
def test_what_is_not_known_is_named(body, expected):
    with pytest.raises(PtxError, match=re.escape(expected)):
        run(body)


def test_a_function_that_is_not_inlined_is_named():
    with pytest.raises(PtxError, match="not inlined"):
        read_kernel(".func f() { ret; }\n.entry test() { ret; }")


def test_memory_that_was_given_back_is_no_address():
    memory = Memory()
    buffer, address = memory.allocate(64)
    text = HEAD.format(
        parameters=".param .u64 p1",
        loads="ld.param.u64 %d1, [p1];",
        body="ld.global.u32 %r2, [%d1];",
    )
    arguments = memory, text, [address.to_bytes(8, "little")], (1, 1, 1), (1, 1, 1)
    launch(*arguments)
    del buffer
    with pytest.raises(Fault, match="outside of any allocation"):
        launch(*arguments)


def test_registers_and_shared_memory_begin_with_garbage():
    body = f"""{MINE_4}{OWN_SHARED}
        ld.shared.u32 %r3, [%d8]; add.u32 %r4, %r3, %r9; st.global.u32 [%d9], %r4;"""
    found = {
        run(body, np.zeros(64, np.uint32), shared_bytes=256, seed=n)[0].tobytes() for n in range(3)
    }
    assert len(found) == 3


@pytest.mark.parametrize("space", ["shared", "global"])
def test_atomics_of_all_threads_on_one_place(space):
    place = "mov.u64 %d8, dynamic;" if space == "shared" else "mov.u64 %d8, %d1;"
    body = f"""{place}
        setp.ne.u32 %p1, %r0, 0; mov.u32 %r4, 0;
        @!%p1 st.{space}.u32 [%d8], %r4;
        bar.sync 0;
        atom.{space}.add.u32 %r2, [%d8], 3;
        red.{space}.max.u32 [%d8], %r4;
        mad.wide.u32 %d9, %r0, 4, %d2; st.global.u32 [%d9], %r2;
        bar.sync 0;
        ld.{space}.u32 %r2, [%d8];
        @!%p1 st.global.u32 [%d1], %r2;"""
    total, found = run(body, np.zeros(1, np.uint32), np.zeros(64, np.uint32), shared_bytes=4)
    assert total[0] == 192
    # Each found another value, and not in the order of the threads.
    assert sorted(found.tolist()) == list(range(0, 192, 3))
    assert found.tolist() != sorted(found.tolist())


def test_a_lock_by_compare_and_swap_has_one_winner():
    body = f"""{MINE_4} ld.param.u64 %d2, [p2];
        add.u32 %r2, %r0, 1;
        atom.global.cas.b32 %r3, [%d2], 0, %r2;
        st.global.u32 [%d9], %r3;"""
    found, winner = run(body, np.zeros(64, np.uint32), np.zeros(1, np.uint32))
    assert (found == 0).sum() == 1
    assert winner[0] == np.flatnonzero(found == 0)[0] + 1


@pytest.mark.parametrize(("body", "is_race"), [
    # Each thread reads what its neighbour wrote, after a barrier or without one.
    ("st.shared.u32 [%d8], %r0; bar.sync 0; ld.shared.u32 %r2, [%d7];", False),
    ("st.shared.u32 [%d8], %r0; ld.shared.u32 %r2, [%d7];", True),
    ("ld.shared.u32 %r2, [%d8]; st.shared.u32 [%d7], %r2;", True),
    ("ld.shared.u32 %r2, [%d8]; bar.sync 0; st.shared.u32 [%d7], %r2;", False),
    ("mov.u64 %d8, dynamic; st.shared.u32 [%d8], %r0;", True),
    ("mov.u64 %d8, dynamic; red.shared.add.u32 [%d8], 1;", False),
    ("mov.u64 %d8, dynamic; red.shared.add.u32 [%d8], 1; ld.shared.u32 %r2, [%d8];", True),
    ("ld.shared.u32 %r2, [%d7]; red.shared.add.u32 [%d8], 1;", True),
    # A barrier of a warp parts its own threads only.
    ("xor.b32 %r3, %r0, 1; st.shared.u32 [%d8], %r0; bar.warp.sync 0xffffffff;"
     "mad.wide.u32 %d7, %r3, 4, %d6; ld.shared.u32 %r2, [%d7];", False),
    ("xor.b32 %r3, %r0, 32; st.shared.u32 [%d8], %r0; bar.warp.sync 0xffffffff;"
     "mad.wide.u32 %d7, %r3, 4, %d6; ld.shared.u32 %r2, [%d7];", True),
])  # fmt: skip
def test_races(body, is_race):
    places = f"{OWN_SHARED} mov.u64 %d6, dynamic; xor.b32 %r3, %r0, 63;"
    text = f"{places} mad.wide.u32 %d7, %r3, 4, %d6; {body}"
    if is_race:
        assert "a race: another thread" in fault(text, shared_bytes=256)
    else:
        run(text, shared_bytes=256, grid=40)


@pytest.mark.parametrize(("body", "is_race"), [
    ("setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%d1], %r1;", True),
    ("st.global.u32 [%d8], %r1; add.u64 %d8, %d8, 4; ld.global.u32 %r2, [%d8+4];", True),
    ("st.global.u32 [%d8], %r1; red.global.add.u32 [%d1], 1;", True),
    ("st.global.u32 [%d8], %r1; bar.sync 0; ld.global.u32 %r2, [%d8];", False),
    ("red.global.add.u32 [%d1], 1; ld.global.u32 %r2, [%d1];", False),
])  # fmt: skip
def test_races_between_blocks(body, is_race):
    text = f"mad.wide.u32 %d8, %r1, 8, %d1; {body}"
    for seed in range(3):
        sources = (np.zeros(9, np.uint64),)
        if is_race:
            told = fault(text, *sources, grid=4, block=1, seed=seed)
            assert "a race: another thread" in told
        else:
            run(text, *sources, grid=4, block=1, seed=seed)


def test_blocks_have_their_own_shared_memory_and_run_in_an_order_of_chance():
    body = f"""{OWN_SHARED} st.shared.u32 [%d8], %r1; bar.sync 0;
        mov.u64 %d7, dynamic; ld.shared.u32 %r2, [%d7+4];
        setp.ne.u32 %p1, %r0, 0; @%p1 ret;
        atom.global.add.u32 %r3, [%d2], 1;
        mad.wide.u32 %d9, %r3, 4, %d1; st.global.u32 [%d9], %r2;"""
    orders = []
    for seed in (1, 2):
        sources = np.zeros(90, np.uint32), np.zeros(1, np.uint32)
        orders.append(run(body, *sources, grid=90, shared_bytes=256, seed=seed)[0].tolist())
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(90))
    assert orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])


def shuffled(how, distance, clamp):
    body = f"""{MINE_4} add.u32 %r2, %r0, 100;
        shfl.sync.{how}.b32 %r3|%p1, %r2, {distance}, {clamp}, 0xffffffff;
        @!%p1 add.u32 %r3, %r3, 1000;
        st.global.u32 [%d9], %r3;"""
    return run(body, np.zeros(64, np.uint32))[0][:32].tolist()


def test_shuffles():
    lanes = range(32)
    assert shuffled("bfly", 16, 31) == [100 + (n ^ 16) for n in lanes]
    assert shuffled("down", 4, 31) == [100 + n + 4 if n < 28 else 1100 + n for n in lanes]
    assert shuffled("up", 4, 0) == [100 + n - 4 if n >= 4 else 1100 + n for n in lanes]
    assert shuffled("idx", 3, 31) == [103] * 32
    # In segments of eight lanes.
    assert shuffled("idx", 3, 0x181F) == [100 + n // 8 * 8 + 3 for n in lanes]
    assert shuffled("down", 4, 0x181F) == [100 + n + 4 if n % 8 < 4 else 1100 + n for n in lanes]


def test_votes_and_reductions():
    body = """mad.wide.u32 %d9, %r0, 16, %d1; and.b32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 1;
        vote.sync.ballot.b32 %r3, %p1, 0xffffffff;
        vote.sync.all.pred %p2, %p1, 0xffffffff; selp.u32 %r4, 1, 0, %p2;
        vote.sync.any.pred %p2, !%p1, 0xffffffff; selp.u32 %r5, 1, 0, %p2;
        redux.sync.add.u32 %r6, %r0, 0xffffffff;
        st.global.v4.u32 [%d9], {%r3, %r4, %r5, %r6};"""
    (found,) = run(body, np.zeros(256, np.uint32))
    rows = found.reshape(64, 4).tolist()
    assert rows == [[0x22222222, 0, 1, sum(range(32)) + n // 32 * 1024] for n in range(64)]


def test_lanes_wait_for_those_of_the_mask():
    # The upper half comes to the same shuffle later, and the warp meets there.
    body = f"""{MINE_4} mov.u32 %r2, %r0; setp.lt.u32 %p1, %r0, 16; @%p1 bra $meet;
        add.u32 %r2, %r2, 100;
    $meet: shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0xffffffff; st.global.u32 [%d9], %r3;"""
    (found,) = run(body, np.zeros(32, np.uint32), block=32)
    assert found.tolist() == [116 + n for n in range(16)] + list(range(16))
    alone = "setp.lt.u32 %p1, %r0, 16; @%p1 bra $end; activemask.b32 %r4;"
    (found,) = run(
        f"{MINE_4}{alone} st.global.u32 [%d9], %r4; $end:", np.zeros(32, np.uint32), block=32
    )
    assert found[16:].tolist() == [0xFFFF0000] * 16
    part = f"{alone} shfl.sync.bfly.b32 %r3, %r0, 1, 31, 0xffffffff; $end: bar.sync 0;"
    assert "not all threads" in fault(part, block=32) or "not all lanes" in fault(part, block=32)
    mask = "shfl.sync.bfly.b32 %r3, %r0, 1, 31, 0xffff;"
    assert "the mask leaves out the lane itself" in fault(mask, block=32)


def test_variables_pieces_of_words_and_generic_addresses():
    body = """mov.u64 %d3, seven; ld.global.u64 %d4, [%d3]; ld.global.u64 %d5, [seven];
        add.u64 %d4, %d4, %d5;
        mov.b64 {%r2, %r3}, 0x500000003;
        { .reg .b32 %low; mov.b32 %low, %r3; mov.b64 %d6, {%r2, %low}; }
        mov.u64 %d8, static; cvta.shared.u64 %d8, %d8; st.u64 [%d8], %d6;
        ld.shared.u64 %d6, [static]; mov.u64 %d7, own; cvta.local.u64 %d7, %d7;
        st.u64 [%d7+8], %d6; ld.local.u64 %d6, [own+8];
        st.global.v2.u64 [%d1], {%d4, %d6};"""
    (found,) = run(body, np.zeros(2, np.uint64), block=1)
    assert found.tolist() == [14, 0x500000003]


def test_a_block_of_two_dimensions():
    text = """.entry test(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %d<5>;
        ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.y;
        mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r3, 15, %r5;
        mad.wide.u32 %d2, %r5, 4, %d1; mul.lo.u32 %r6, %r3, 100; mad.lo.u32 %r6, %r2, 10, %r6;
        add.u32 %r6, %r6, %r1; st.global.u32 [%d2], %r6; ret; }"""
    memory = Memory()
    buffer, address = memory.allocate(120)
    launch(memory, text, [address.to_bytes(8, "little")], (1, 2, 1), (5, 3, 1))
    expected = [100 * z + 10 * y + x for z in range(2) for y in range(3) for x in range(5)]
    assert buffer[:120].view(np.uint32).tolist() == expected


def test_what_a_driver_refuses():
    assert "a grid of 1 blocks of 2048 threads" in fault("", block=2048)
    assert "a grid of 0 blocks" in fault("", grid=0)
    assert "49280 bytes of shared memory" in fault("", shared_bytes=48 * 1024)
