"""CALIBRATE INDEX as it may be written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydb import sql
from raydb.errors import ProgrammingError
from raydb.sql import ast

SPACES = st.sampled_from(("", " ", "  "))
SHARES = st.floats(1e-6, 1, exclude_max=True)
COUNTS = st.integers(1, 2**31 - 1)


@given(
    st.lists(SHARES, min_size=1, max_size=4, unique=True),
    st.lists(COUNTS, min_size=1, max_size=4, unique=True),
    st.sampled_from(("ratio", "kth")),
    st.integers(0, 2**31 - 1),
    SPACES,
)
def test_options_are_read_as_they_are_written(fnrs, ks, score, seed, space):
    comma = f"{space},{space}"
    text = (
        f"CALIBRATE INDEX Odd WITH (fnr = '{comma.join(map(repr, fnrs))}', "
        f"k = '{comma.join(map(str, ks))}', score = {score}, seed = {seed})"
    )
    (statement,) = sql.parse(text)
    assert statement == ast.Calibrate("Odd", None, tuple(fnrs), tuple(ks), score, seed)


def test_defaults():
    (statement,) = sql.parse('calibrate index "Odd"')
    assert statement == ast.Calibrate("Odd", None, (0.05, 0.1), (10,), None, 0)


PARTS = st.one_of(SHARES.map(repr), st.text("0123456789.eE-+_ x", max_size=6), st.text(max_size=6))


def shares_of(text: str) -> tuple[float, ...] | None:
    """Return the shares that a text lists, None where it is no list of different shares."""
    parts = [part.strip() for part in text.split(",")]
    # Python's float takes signs, underscores, names and digits of other scripts, too.
    if not all(set(part) <= set("0123456789.eE-") and part[:1] != "-" for part in parts):
        return None
    try:
        shares = tuple(map(float, parts))
    except ValueError:
        return None
    return shares if all(0 < s < 1 for s in shares) and len({*shares}) == len(shares) else None


@given(st.lists(PARTS, min_size=1, max_size=3).map(",".join))
def test_a_text_is_its_shares_or_an_error(text):
    written = "CALIBRATE INDEX i WITH (fnr = '{}')".format(text.replace("'", "''"))
    shares = shares_of(text)
    if shares is None:
        with pytest.raises(ProgrammingError):
            sql.parse(written)
    else:
        (statement,) = sql.parse(written)
        assert statement.fnrs == shares
