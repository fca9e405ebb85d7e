"""What each arithmetic instruction of PTX computes, over arrays of exactly its types.

`operation` returns (function, types of its sources, type of its result) for an opcode. Modifiers
that are not named here change what an instruction means, so an opcode with one is unknown.
"""

from fractions import Fraction

import numpy as np
from ptx_text import WIDTHS, PtxError

TYPES = {
    name: np.dtype(bool if name == "pred" else {"s": "i", "f": "f"}.get(name[0], "u") + str(size))
    for name, size in WIDTHS.items()
}

CANONICAL_NAN = {4: np.uint32(0x7FFFFFFF).view(np.float32), 8: np.float64(np.nan)}


def operation(parts):
    """Return (function, source types, result type) of an opcode's parts. Raises PtxError."""
    name, *rest = parts
    types = [part for part in rest if part in TYPES]
    modifiers = tuple(part for part in rest if part not in TYPES)
    if not types:
        raise PtxError(f"unknown opcode: {'.'.join(parts)}")
    kind = types[-1]
    found = (
        _conversion(name, modifiers, types)
        or _comparison(name, modifiers, kind)
        or (kind[0] == "f" and _of_floats(name, modifiers, kind))
        or (kind[0] in "bus" and _of_integers(name, modifiers, kind))
        or _of_bits(name, modifiers, kind)
        or _of_fields(name, modifiers, kind)
    )
    if not found:
        raise PtxError(f"unknown opcode: {'.'.join(parts)}")
    return found


def _wide(kind):
    return f"{kind[0]}{16 * WIDTHS[kind]}"


def _of_integers(name, modifiers, kind):
    bits = 8 * WIDTHS[kind]
    dtype = TYPES[kind]
    u32 = "u32"
    match name, modifiers:
        case ("add", ()):
            return np.add, (kind, kind), kind
        case ("sub", ()):
            return np.subtract, (kind, kind), kind
        case ("mul" | "mad", (("lo" | "hi" | "wide") as part,)):
            result = _wide(kind) if part == "wide" else kind
            product = {"lo": np.multiply, "hi": _high, "wide": _widened(kind)}[part]
            if name == "mul":
                return product, (kind, kind), result
            return lambda a, b, c: product(a, b) + c, (kind, kind, result), result
        case ("div" | "rem", ()):
            return (_quotient if name == "div" else _remainder), (kind, kind), kind
        case ("neg", ()):
            return np.negative, (kind,), kind
        case ("abs", ()):
            return np.abs, (kind,), kind
        case ("min", ()):
            return np.minimum, (kind, kind), kind
        case ("max", ()):
            return np.maximum, (kind, kind), kind
        case ("shl", ()):
            return (
                lambda a, n: np.where(n < bits, a << (n % bits).astype(dtype), 0),
                (kind, u32),
                kind,
            )
        case ("shr", ()):
            # Shifts by more than the width leave what a shift by the width would.
            return (
                lambda a, n: (
                    (a >> (np.minimum(n, bits - 1) // 1).astype(dtype)) >> (n >= bits).astype(dtype)
                ),
                (kind, u32),
                kind,
            )
        case ("popc", ()):
            return lambda a: np.bitwise_count(a).astype(np.uint32), (kind,), u32
        case ("clz", ()):
            return lambda a: _leading_zeros(a, bits), (kind,), u32
    return None


def _of_bits(name, modifiers, kind):
    if name == "selp" and not modifiers:
        return lambda a, b, p: np.where(p, a, b), (kind, kind, "pred"), kind
    if modifiers or kind[0] not in "bp":
        return None
    both = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    if name in both:
        return both[name], (kind, kind), kind
    if name == "not":
        return np.invert, (kind,), kind
    return None


def _of_fields(name, modifiers, kind):
    """Bits by their places: turned round, the first one, some of them replaced by others."""
    dtype, bits = TYPES[kind], 8 * WIDTHS[kind]

    def replaced(field, word, place, count):
        place, count = np.minimum(place & 255, bits), np.minimum(count & 255, bits)
        wide = np.broadcast_arrays(
            *(np.asarray(a).astype(object) for a in (field, word, place, count))
        )
        masks = [((1 << c) - 1) << p for p, c in zip(wide[2].flat, wide[3].flat, strict=True)]
        found = [
            (w & ~mask | (f << p) & mask) & (2**bits - 1)
            for f, w, p, mask in zip(*(a.flat for a in wide[:3]), masks, strict=True)
        ]
        return np.array(found, dtype)

    def turned(words):
        return np.array([int(f"{int(word):0{bits}b}"[::-1], 2) for word in np.ravel(words)], dtype)

    def shift_of_first(words):
        """How far the first bit is from the highest place; all ones where there is none."""
        return np.where(words == 0, 2**32 - 1, _leading_zeros(words, bits)).astype(np.uint32)

    match name, modifiers:
        case ("bfi", ()):
            return replaced, (kind, kind, "u32", "u32"), kind
        case ("brev", ()):
            return turned, (kind,), kind
        case ("bfind", ("shiftamt",)) if kind[0] == "u":
            return shift_of_first, (kind,), "u32"
    return None


def _of_floats(name, modifiers, kind):
    """IEEE 754, rounded to the nearest; approximations of the device's are unknown here."""
    width = WIDTHS[kind]

    def canonical(function):
        """What the device makes of a result that is no number."""

        def compute(*sources):
            found = np.asarray(function(*sources), TYPES[kind])
            none = np.isnan(found)
            return np.where(none, CANONICAL_NAN[width], found) if none.any() else found

        return compute

    one, two, three = ((kind,) * count for count in (1, 2, 3))
    match name, modifiers:
        case ("add", () | ("rn",)):
            return canonical(np.add), two, kind
        case ("sub", () | ("rn",)):
            return canonical(np.subtract), two, kind
        case ("mul", () | ("rn",)):
            return canonical(np.multiply), two, kind
        case ("fma", ("rn",)):
            return canonical(_fused_32 if width == 4 else _fused_64), three, kind
        case ("div", ("rn",)):
            return canonical(np.divide), two, kind
        case ("rcp", ("rn",)):
            return canonical(lambda a: np.divide(a.dtype.type(1), a)), one, kind
        case ("sqrt", ("rn",)):
            return canonical(np.sqrt), one, kind
        case ("neg", ()):
            return np.negative, one, kind
        case ("abs", ()):
            return np.abs, one, kind
        case ("min" | "max", () | ("NaN",)):
            return canonical(_least_or_most(name, propagates=bool(modifiers))), two, kind
        case ("copysign", ()):
            return lambda a, b: np.copysign(b, a), two, kind
    return None


def _comparison(name, modifiers, kind):
    """setp: the second result, and what it is combined with, are the machine's."""
    if name != "setp" or len(modifiers) != 1:
        return None
    plain = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    (how,) = modifiers
    two = (kind, kind)
    if kind[0] == "f":
        if how in {"num", "nan"}:
            return lambda a, b: (np.isnan(a) | np.isnan(b)) == (how == "nan"), two, "pred"
        if how in plain:
            # Unlike IEEE's, this "not equal" is false where one is no number.
            ordered = plain[how]
            return lambda a, b: ordered(a, b) & ~np.isnan(a) & ~np.isnan(b), two, "pred"
        if how.removesuffix("u") in plain:
            either = plain[how.removesuffix("u")]
            return lambda a, b: either(a, b) | np.isnan(a) | np.isnan(b), two, "pred"
        return None
    if how in unsigned and kind[0] == "u":
        how = unsigned[how]
    return (plain[how], two, "pred") if how in plain else None


def _conversion(name, modifiers, types):
    if name != "cvt" or len(types) != 2:
        return None
    result, source = types
    to = TYPES[result]
    match source[0] == "f", result[0] == "f", modifiers:
        case (False, False, ()):
            return lambda a: a.astype(to), (source,), result
        case (False, False, ("sat",)):
            limits = np.iinfo(to)
            return lambda a: _clamped(a, limits).astype(to), (source,), result
        case (False, True, ("rn",)):
            return lambda a: a.astype(to), (source,), result
        case (True, True, () | ("rn",)):
            return lambda a: _converted(a, to), (source,), result
        case (True, False, ("rni" | "rzi" | "rmi" | "rpi",)):
            rounds = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
            return lambda a: _whole(rounds[modifiers[0]](a), to), (source,), result
    return None


def _converted(values, to):
    found = values.astype(to)
    return np.where(np.isnan(found), CANONICAL_NAN[to.itemsize], found).astype(to)


def _clamped(values, limits):
    # In Python's integers where a type holds no such limit.
    return np.array([min(max(int(v), limits.min), limits.max) for v in np.atleast_1d(values)])


def _whole(values, to):
    """Whole floats as integers, those too great as the greatest, and no number as 0."""
    limits = np.iinfo(to)
    values = values.astype(np.float64)
    found = np.zeros(np.shape(values), to)
    # The greatest of 64 bits has no float64; 2.0 ** 63 is the first that is too great.
    high, low = values >= float(limits.max), values <= float(limits.min)
    inside = ~(high | low | np.isnan(values))
    np.copyto(found, values.astype(to, casting="unsafe"), where=inside)
    found[high], found[low] = limits.max, limits.min
    return found


def _widened(kind):
    dtype = TYPES[_wide(kind)] if WIDTHS[kind] < 8 else None
    return lambda a, b: np.multiply(a.astype(dtype), b.astype(dtype))


def _high(a, b):
    """The upper half of a product: in Python's integers, because no type holds one of 64 bits."""
    a, b = np.broadcast_arrays(a, b)
    bits = 8 * a.itemsize
    return ((a.astype(object) * b.astype(object)) >> bits).astype(a.dtype)


def _quotient(a, b):
    a, b = np.broadcast_arrays(a, b)
    if not b.all():
        raise ZeroDivisionError("an integer is divided by zero")
    # Towards zero, where NumPy's is towards the lesser one.
    found = np.floor_divide(a, b)
    return found + ((found < 0) & (found * b != a)).astype(a.dtype)


def _remainder(a, b):
    return a - _quotient(a, b) * b


def _fused_32(a, b, c):
    """a * b + c rounded once: the sum in float64 is rounded to odd, so that float32's is right."""
    product, c = np.broadcast_arrays(a.astype(np.float64) * b.astype(np.float64), np.float64(c))
    total = np.asarray(product + c)
    back = total - product
    rest = (product - (total - back)) + (c - back)
    odd = total.copy().view(np.int64)
    is_even = np.isfinite(total) & (rest != 0) & (odd & 1 == 0)
    odd += np.where(is_even, np.where((rest > 0) == (total > 0), 1, -1), 0)
    return odd.view(np.float64).astype(np.float32)


def _fused_64(a, b, c):
    """a * b + c rounded once, in fractions."""
    plain = np.atleast_1d(a * b + c)
    found = plain.copy()
    for place, (x, y, z) in enumerate(np.broadcast(*map(np.atleast_1d, (a, b, c)))):
        if np.isfinite([x, y, z]).all():
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            if exact:
                try:
                    found[place] = float(exact)
                except OverflowError:
                    found[place] = np.inf if exact > 0 else -np.inf
    return found


def _least_or_most(name, propagates):
    choose = np.fmin if name == "min" else np.fmax
    if propagates:
        choose = np.minimum if name == "min" else np.maximum

    def compute(a, b):
        # Of two zeros the negative one is less.
        first = np.signbit(a) if name == "min" else ~np.signbit(a)
        return np.where(a == b, np.where(first, a, b), choose(a, b))

    return compute


def _leading_zeros(a, bits):
    return np.array([bits - int(v).bit_length() for v in np.atleast_1d(a)], np.uint32)
