"""CALIBRATE INDEX as it may be written."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from raydb import sql
from raydb.errors import ProgrammingError

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
    assert statement == sql.Calibrate("odd", None, tuple(fnrs), tuple(ks), score, seed)


def test_defaults():
    (statement,) = sql.parse('calibrate index "Odd"')
    assert statement == sql.Calibrate("Odd", None, (0.05, 0.1), (10,), "ratio", 0)


@given(st.text(max_size=12))
def test_any_text_is_a_share_or_an_error(text):
    written = text.replace("'", "''")
    with contextlib.suppress(ProgrammingError):
        (statement,) = sql.parse(f"CALIBRATE INDEX i WITH (fnr = '{written}')")
        assert all(0 < fnr < 1 for fnr in statement.fnrs)
