"""Decimals are rescaled, rounded and read as Python's are, digit by digit."""

from __future__ import annotations

import decimal
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from stars import SEED

from raydb.planner.expressions.casts.cast import try_cast_values
from raydb.planner.expressions.columns.rounding import round_decimals

EXACT = decimal.Context(prec=120)
MODES = {
    "half_towards_infinity": decimal.ROUND_HALF_UP,
    "towards_zero": decimal.ROUND_DOWN,
    "down": decimal.ROUND_FLOOR,
    "up": decimal.ROUND_CEILING,
}
# Numbers at the ends of machine words, on which Arrow's division of 128 and 256 bits fails.
WORDS = [2**bits + near for bits in (31, 32, 33, 63, 64, 95, 96, 120) for near in (-1, 0, 1)]


def unscaled(chance, digits):
    """Return an integer of at most so many digits."""
    value = chance.choice(WORDS) * 10 ** chance.randint(0, digits) * chance.choice([1, 1, 7, 10**6])
    value += chance.choice([0, 0, 1, -1])
    while value >= 10**digits:
        value //= 10
    return chance.choice([1, -1]) * value


def numbers(chance, precision, scale, count=300):
    return [Decimal(unscaled(chance, precision)).scaleb(-scale, EXACT) for _ in range(count)]


def rounded(value, scale, mode):
    return value.quantize(Decimal(1).scaleb(-scale), rounding=mode, context=EXACT)


@pytest.mark.parametrize("mode", MODES)
def test_digits_are_dropped_exactly(mode):
    chance = random.Random(f"{SEED} {mode}")
    for _ in range(12):
        scale = chance.randint(1, 38)
        wanted = chance.randint(0, scale)
        values = numbers(chance, 38, scale)
        found = round_decimals(pa.array(values, pa.decimal128(38, scale)), wanted, mode)
        assert found.type.scale == wanted
        assert found.to_pylist() == [rounded(value, wanted, MODES[mode]) for value in values]


def held(value, precision, scale):
    """Return what a DECIMAL holds of a number, None where that is too large."""
    whole = rounded(value, scale, decimal.ROUND_HALF_UP)
    return whole if abs(whole) < 10 ** (precision - scale) else None


def test_casts_between_decimals_are_exact_or_errors():
    chance = random.Random(SEED)
    for _ in range(40):
        scales = chance.randint(0, 38), chance.randint(0, 38)
        precision = chance.randint(max(scales[1], 1), 38)
        values = numbers(chance, 38, scales[0], 30)
        source = pa.array(values, pa.decimal128(38, scales[0]))
        found = try_cast_values(source, pa.decimal128(precision, scales[1]))
        assert found.to_pylist() == [held(value, precision, scales[1]) for value in values]


def test_texts_of_any_length_are_read_exactly_or_not_at_all():
    chance = random.Random(SEED)
    for _ in range(40):
        scale = chance.randint(0, 38)
        precision = chance.randint(max(scale, 1), 38)
        texts = []
        for _ in range(30):
            digits = "".join(chance.choices("0123456789", k=chance.choice([1, 5, 19, 38, 39, 45])))
            point = chance.randint(0, len(digits))
            exponent = chance.choice(["", "", "", f"e{chance.randint(-45, 45)}"])
            sign = chance.choice(["", "-", "+", " "])
            texts.append(f"{sign}{digits[:point]}.{digits[point:]}{exponent}")
        found = try_cast_values(pa.array(texts), pa.decimal128(precision, scale)).to_pylist()
        wanted = [held(Decimal(text.strip()), precision, scale) for text in texts]
        assert found == wanted
