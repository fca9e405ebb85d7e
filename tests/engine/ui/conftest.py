"""A page's server in this process, and a page that asks it."""

import pytest
from page_client import Client

import raydb


@pytest.fixture(autouse=True)
def _history(tmp_path, monkeypatch):
    monkeypatch.setenv("RAYDB_HISTORY", str(tmp_path / "history"))


@pytest.fixture
def con():
    """Return a connection to a database in memory with two tables."""
    with raydb.connect() as connection:
        connection.execute(
            "CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR);"
            "CREATE TABLE sale (shop INTEGER REFERENCES shop (id), amount DECIMAL(8, 2));"
            "INSERT INTO shop VALUES (1, 'Oslo'), (2, 'Lyon');"
            "INSERT INTO sale VALUES (1, 10.5), (2, NULL), (1, 4)"
        )
        yield connection


@pytest.fixture
def ui(con):
    """Return the server of a page."""
    return con.ui(port=0, browser=False)


@pytest.fixture
def client(ui):
    """Return a page."""
    return Client(ui)
