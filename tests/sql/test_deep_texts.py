"""Texts that nest without end are refused before the stack overflows, in a thread with a small one.

They are read in a process of their own: a compiled parser would end it.
"""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys, threading
from raydb import sql
from raydb.errors import Error

def read():
    for name, text in json.load(sys.stdin).items():
        try:
            sql.parse(text)
            answer = "read"
        except Error as error:
            answer = error.sentence
        print(name, answer, sep=": ", flush=True)

threading.stack_size(1 << 20)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""
DEEP = {
    "brackets": "SELECT {}1{}".format("(" * 5000, ")" * 5000),
    "lists": "SELECT {}1{}".format("ARRAY[" * 5000, "]" * 5000),
    "casts in brackets": "SELECT {}1{}".format("CAST(" * 3000, " AS INTEGER)" * 3000),
    "cases": "SELECT {}1{}".format("CASE WHEN true THEN " * 5000, " END" * 5000),
    "operators": "SELECT " + "NOT - ~ " * 5000 + "1",
    "operators behind others": "SELECT " + "NOT 1 BETWEEN 2 AND " * 5000 + "1",
    "queries": "SELECT {}1{}".format("(SELECT " * 5000, ")" * 5000),
    "FROM alone": "FROM " * 5000 + "t",
    "DESCRIBE": "SELECT * FROM (" + "DESCRIBE " * 5000 + "SELECT 1)",
    "WITH": "WITH a AS (SELECT 1) " * 5000 + "SELECT 1",
    "joins without conditions": "SELECT 1 FROM a" + " JOIN a" * 30,
    "subscripts": "SELECT a" + "[1]" * 5000,
    "time zones": "SELECT a" + " AT TIME ZONE 'x'" * 5000,
    "types": "SELECT 1::{}INT{}".format("STRUCT<a " * 5000, ">" * 5000),
    "named arguments": "SELECT f(a" + " := a" * 5000 + ")",
    "a default": "CREATE TABLE t (a INT DEFAULT 1" + "::INT" * 5000 + ")",
    "a check": "CREATE TABLE t (a INT CHECK (a" + " + 1 - 1" * 5000 + " > 0))",
}
LONG = {
    "AND": "SELECT 1 FROM t WHERE a = -1" + " AND NOT a = -1" * 3000,
    "values": "INSERT INTO t VALUES (-1)" + ", (-1)" * 3000,
    "unions": "SELECT 1" + " UNION ALL SELECT 1" * 3000,
    "joins": "SELECT 1 FROM t" + " JOIN t ON a[1] = b[2]" * 1000,
    "cases": "SELECT " + ", ".join(["CASE WHEN a THEN -1 END"] * 1000),
    "some brackets": "SELECT {}1{}".format("(" * 30, ")" * 30),
}

# What may begin a string or a comment, and does not end: each is looked at once.
OPEN = {
    "a": "SELECT " + " ".join(f"$a{number}$" for number in range(100_000)),
    "b": "SELECT $$a$$ " + "/* " * 300_000,
    "c": "SELECT 1 " + "/* " * 300_000,
    "d": "SELECT $$a$$ " + "$b " * 100_000 + "'",
}


def answers(texts: dict[str, str]) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def check(texts: dict[str, str], answer: str) -> None:
    assert answers(texts) == [f"{name}: {answer}" for name in texts]


def test_deep_texts_are_refused() -> None:
    check(DEEP, "the statement is nested too deeply")


def test_long_texts_are_read() -> None:
    check(LONG, "read")


def test_texts_with_many_open_ends_are_refused() -> None:
    found = answers(OPEN)
    assert len(found) == len(OPEN)
    assert all(each.endswith("does not end") for each in found), found
