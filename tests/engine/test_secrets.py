"""Settings and secrets of object stores: what statements change, and what is never shown."""

from __future__ import annotations

import pytest

import raydb
from raydb.remote import Access


def access_of(connection) -> Access:
    return connection._session.settings.access


def test_settings_say_how_stores_are_reached():
    config = {"object_timeout": 5000, "object_requests": 4, "cache_size": "1GB"}
    with raydb.connect(config=config) as con:
        assert access_of(con) == Access((), 5000, 4, None, 10**9)
        con.execute("SET cache_size = 0; SET cache_directory = '/tmp/kept'")
        assert access_of(con) == Access((), 5000, 4, "/tmp/kept", 0)
        con.execute("RESET cache_size")
        assert con.execute("SHOW cache_size").fetchone() == ("10GB",)
        assert access_of(con.duplicate()) is access_of(con)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("SET object_timeout = 0", "object_timeout is a number from 1 to 3600000, not '0'"),
        ("SET object_requests = 'many'", "object_requests is a number from 1 to 1024, not 'many'"),
        ("SET cache_size = '80%'", "cache_size is like '10GB' or 0, not '80%'"),
        ("SET s3_url_style = 'side'", "s3_url_style"),
    ],
)
def test_settings_refuse_other_values(statement, sentence):
    with pytest.raises(raydb.ProgrammingError, match=sentence), raydb.connect() as con:
        con.execute(statement)


def test_settings_of_duckdb_are_credentials():
    config = {"s3_access_key_id": "AKIA1", "s3_secret_access_key": "hidden", "s3_use_ssl": False}
    with raydb.connect(config=config, external_access=False) as con:
        (secret,) = access_of(con).secrets
        assert dict(secret.options) == {
            "key_id": "AKIA1",
            "secret": "hidden",
            "use_ssl": "false",
            "provider": "config",
        }
        for name in ("s3_access_key_id", "s3_secret_access_key"):
            assert con.execute(f"SHOW {name}").fetchone() == ("***",)
        assert con.execute("SHOW s3_session_token").fetchone() == ("",)
        settings = con.execute("FROM duckdb_settings()").fetchall()
        assert "hidden" not in str(settings)
        assert "AKIA1" not in str(settings)
        for statement in ("SET s3_endpoint = 'elsewhere'", "RESET cache_directory"):
            with pytest.raises(raydb.OperationalError, match="external_access is off"):
                con.execute(statement)


def test_a_database_is_opened_with_the_settings(monkeypatch):
    seen = []

    def note(path, begin):
        from raydb.running import current

        seen.append((path, current.get().access))
        raise raydb.OperationalError("no such store")

    monkeypatch.setattr("raydb.engine.api.connection.share", note)
    with pytest.raises(raydb.OperationalError, match="no such store"):
        raydb.connect("s3://shop/db", config={"object_timeout": 77, "s3_region": "eu-west-1"})
    ((path, access),) = seen
    assert path == "s3://shop/db"
    assert access.timeout_ms == 77
    assert dict(access.secrets[0].options)["region"] == "eu-west-1"
    with pytest.raises(raydb.ProgrammingError, match="setting 's3_regoin' does not exist"):
        raydb.connect("s3://shop/db", config={"s3_regoin": "x"})
    assert len(seen) == 1
