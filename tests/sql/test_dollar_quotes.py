"""Strings between dollars are those in single quotes, whatever stands in them and beside them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import raydb
from raydb.sql.parse.dollar_quotes import split

# What may seem to begin or to end a string, a name or a comment.
MARKS = ("'", "''", '"', "--", "/*", "*/", "$", "$$", "$a$", "$b", "\\", ";", "\n", "\r", "5", "x")
CODE = ("SELECT", "1", ",", "'a;b'", "'it''s'", '"n""m"', "-- it's $$\n", "/* $$ /* ' */ */")

texts = st.lists(st.sampled_from(MARKS), max_size=6).map("".join)


def dollars(text: str) -> str:
    """Return a text between dollars, by the first mark that is not in it."""
    marks = ("$$", *(f"${'q' * length}$" for length in range(1, 9)))
    mark = next(mark for mark in marks if mark not in text and not f"{text}$".endswith(mark))
    return f"{mark}{text}{mark}"


def quotes(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@given(st.lists(st.tuples(texts, st.sampled_from(CODE)), min_size=1, max_size=4))
def test_tokens_are_those_of_quotes(parts: list[tuple[str, str]]) -> None:
    written = " ".join(f"{dollars(text)} {code}" for text, code in parts)
    plain = " ".join(f"{quotes(text)} {code}" for text, code in parts)
    found = split(written)
    assert [(t.token_type, t.text) for t in found] == [(t.token_type, t.text) for t in split(plain)]
    strings = [token for token in found if written[token.start] == "$"]
    assert [written[t.start : t.end + 1] for t in strings] == [dollars(text) for text, _ in parts]


@settings(max_examples=40)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_answers_are_those_of_quotes(pairs: list[tuple[str, str]]) -> None:
    """Plans are kept by the shapes of texts, in which constants are found by other means."""
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (a VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?)", [(text,) for pair in pairs for text in pair])
        for one, other in [*pairs, *pairs]:
            beside = f"{quotes(one)}{dollars(other)}"
            query = f"SELECT {beside} FROM t WHERE a <> {dollars(one)} OR a = {beside}"
            expected = sum(text != one or text == one + other for pair in pairs for text in pair)
            assert con.execute(query).fetchall() == [(one + other,)] * expected
