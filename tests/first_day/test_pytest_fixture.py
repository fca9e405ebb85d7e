"""A project that tests its code on RayDB: a database for a test, data of a module, a rollback."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

PROJECT = """
import pytest
import raydb

def total(con, city):
    (found,) = con.execute("SELECT sum(amount) FROM sale WHERE city = ?", [city]).fetchone()
    return found

@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "test.raydb"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE sale (city VARCHAR, amount INTEGER)")
        con.executemany("INSERT INTO sale VALUES (?, ?)", [("Oslo", 1), ("Oslo", 2), ("Lyon", 4)])
    return path

@pytest.fixture
def con(database):
    with raydb.connect(database) as con:
        con.begin()
        yield con
        con.rollback()

@pytest.mark.parametrize("amount", [10, 20])
def test_new_sales_count(con, amount):
    con.execute("INSERT INTO sale VALUES ('Oslo', ?)", [amount])
    assert total(con, "Oslo") == 3 + amount

def test_nothing_is_left_of_other_tests(con):
    assert total(con, "Oslo") == 3

@pytest.fixture
def memory():
    return raydb.connect()

@pytest.mark.parametrize("n", range(20))
def test_each_has_a_database_of_its_own(memory, n):
    memory.execute("CREATE TABLE t (a INTEGER)")
    assert memory.execute("SELECT count(*) FROM t").fetchone() == (0,)

def test_errors_are_asserted(con):
    with pytest.raises(raydb.ProgrammingError, match="column 'towm' does not exist"):
        con.execute("SELECT towm FROM sale")
"""


@pytest.mark.long
def test_a_project_tests_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROJECT)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error").assert_outcomes(
        passed=24
    )
