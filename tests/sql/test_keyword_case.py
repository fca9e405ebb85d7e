"""Words of SQL in any case give the same statement, words too that no golden file mixes."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pyarrow as pa
import pytest
from respelling import respelled
from sqlglot import exp
from stars import SEED
from test_golden import FILES, read_statements

import raydb
from raydb.sql.named_types import NamedType
from raydb.sql.parse.parser import parse
from raydb.sql.parse.reader import tokenize

# What keeps its letters: names, and the texts of statements.
NAMES = (exp.Identifier, exp.Anonymous, exp.Var)
TEXTS = ("CreateBvh.text", "CreateView.text", "Prepare.text", "Check.text", "Execute.arguments")
SAMPLED = 150


def differences(one, other, where=""):
    """Return where two statements differ in more than the case of names."""
    if type(one) is not type(other):
        return [where]
    match one:
        case exp.Expr():
            if isinstance(one, NAMES):
                return []
            pairs = [(key, one.args.get(key), other.args.get(key)) for key in one.args]
        case list() | tuple():
            if len(one) != len(other):
                return [where]
            pairs = [("", *pair) for pair in zip(one, other, strict=True)]
        case dict():
            if one.keys() != other.keys():
                return [where]
            pairs = [("", value, other[key]) for key, value in one.items()]
        case pa.Schema() | pa.Field():
            fields = (one, other) if isinstance(one, pa.Schema) else ([one], [other])
            pairs = [("", *([str(field) for field in each] for each in fields))]
        case str() if one.lower() == other.lower():
            return []  # the name of something
        case NamedType():
            pairs = [("type_name", one.type_name, other.type_name)]
        case _ if dataclasses.is_dataclass(one):
            names = [field.name for field in dataclasses.fields(one)]
            pairs = [(name, getattr(one, name), getattr(other, name)) for name in names]
        case _:
            return [] if one == other or where in TEXTS else [where]
    kind = type(one).__name__
    return [
        each
        for name, left, right in pairs
        for each in differences(left, right, f"{kind}.{name}" if name else where)
    ]


def statements():
    """Return some statements of the golden files, and those with words that few of them have.

    A text that ends within a string has no words to spell in another way.
    """
    every = {
        statement.sql
        for path in FILES
        for statement in read_statements(Path(path).read_text(encoding="utf-8").splitlines())
    }
    rare = [text for text in every if " OR IGNORE " in text or "GROUPS" in text]
    sampled = random.Random(SEED).sample(sorted(every), SAMPLED)
    return [text for text in rare + sampled if has_words(text)]


def has_words(text):
    try:
        tokenize(text)
    except raydb.Error:
        return False
    return True


def parsed(text):
    try:
        return parse(text)
    except raydb.Error as error:
        return [type(error).__name__]


def test_words_in_any_case_give_the_same_statement():
    found = {
        (text, where)
        for text in statements()
        for spell in (str.upper, str.swapcase)
        for where in differences(
            parsed(respelled(text, str.lower)), parsed(respelled(text, spell)), "statement"
        )
    }
    assert not found


@pytest.mark.parametrize(
    "words", ["INSERT OR REPLACE INTO", "insert or replace into", "Insert Or Replace Into"]
)
def test_insert_or_replace_replaces(words):
    con = raydb.connect()
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t VALUES (1, 1)")
    con.execute(f"{words} t VALUES (1, 5), (2, 6)")
    assert con.execute("SELECT k, v FROM t ORDER BY k").fetchall() == [(1, 5), (2, 6)]
