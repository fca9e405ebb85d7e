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


# CREATE SECRET


def secrets_of(connection):
    return {each.name: dict(each.options) for each in connection._session.settings.secrets}


@pytest.fixture
def con():
    with raydb.connect() as connection:
        yield connection


def test_secrets_come_and_go(con):
    con.execute("CREATE SECRET (TYPE s3, KEY_ID 'AKIA1', SECRET 'hidden', REGION 'eu-west-1')")
    con.execute("CREATE TEMPORARY SECRET web (TYPE http, BEARER_TOKEN 'b', SCOPE 'https://a.b/')")
    assert secrets_of(con)["__default_s3"] == {
        "provider": "config",
        "key_id": "AKIA1",
        "secret": "hidden",
        "region": "eu-west-1",
    }
    with pytest.raises(raydb.ProgrammingError, match="the secret 'web' exists already"):
        con.execute("CREATE SECRET Web (TYPE http)")
    con.execute("CREATE SECRET IF NOT EXISTS web (TYPE http)")
    assert secrets_of(con)["web"]["bearer_token"] == "b"
    con.execute("CREATE OR REPLACE SECRET web (TYPE http, EXTRA_HTTP_HEADERS MAP {'X-A': 'b'})")
    assert secrets_of(con)["web"] == {"provider": "config", "header:X-A": "b"}
    other = con.duplicate()
    con.execute("DROP SECRET web; DROP SECRET IF EXISTS web")
    assert list(secrets_of(con)) == ["__default_s3"]
    assert list(secrets_of(other)) == ["__default_s3", "web"]
    with pytest.raises(raydb.ProgrammingError, match="the secret 'web' does not exist"):
        con.execute("DROP SECRET web")


def test_values_are_parameters_words_and_variables(con, monkeypatch):
    con.execute("CREATE SECRET a (TYPE s3, KEY_ID ?, SECRET ?)", ("AKIA1", "first"))
    con.execute("CREATE SECRET b (TYPE s3, KEY_ID $k, SECRET $s)", {"k": "AKIA2", "s": "x"})
    monkeypatch.setenv("MY_KEY", "from the environment")
    con.execute("CREATE SECRET c (TYPE s3, KEY_ID k, SECRET getenv('MY_KEY'), URL_STYLE path)")
    con.execute("CREATE SECRET d (TYPE gcs, KEY_ID k, SECRET \"s\", SCOPE ['gs://a', 'gs://b'])")
    found = secrets_of(con)
    assert [found[name]["secret"] for name in "abcd"] == ["first", "x", "from the environment", "s"]
    assert con.execute("SELECT scope FROM secrets() WHERE name = 'd'").fetchone() == (
        ["gs://a", "gs://b"],
    )
    assert con.execute("FROM which_secret('gs://b/x', 'gcs')").fetchone()[0] == "d"
    chain = con.execute("CREATE SECRET e (TYPE s3, PROVIDER credential_chain, CHAIN 'env')")
    assert "'chain' is DuckDB's and has no effect" in str(chain.messages)


# Statements that hold 'hidden', and what the error says instead of it.
WRONG = {
    "CREATE PERSISTENT SECRET (TYPE s3, KEY_ID 'hidden')": "never stored",
    "CREATE SECRET (TYPE s3 KEY_ID 'hidden', SECRET 'x')": "syntax error in CREATE SECRET",
    "CREATE SECRET (TYPE s3, KEY_ID 'hidden', SECRET 'x') 'hidden'": "syntax error in",
    "CREATE SECRET (TYPE s3, KEY_ID 'hidden)": "this string does not end",
    "CREATE SECRET (TYPE s3, KEY_ID 'hidden' || hidden_too, SECRET 'x')": "needs a text, a",
    "CREATE SECRET (TYPE s3, KEY_ID 'hidden', KEY_ID 'x')": "has the option 'key_id' twice",
    "CREATE SECRET (TYPE s3, KEYID 'hidden', SECRET 'x')": "no option 'keyid'; did you mean",
    "CREATE SECRET (TYPE s3, SECRET 'hidden')": "a secret with secret has key_id, too",
    "CREATE SECRET (TYPE 'hidden', KEY_ID 'hidden')": "secrets have the types s3, gcs, azure",
    "CREATE SECRET (KEY_ID 'hidden')": "a secret has a TYPE",
    "CREATE SECRET (TYPE s3, PROVIDER hidden)": "secrets have the providers",
    "CREATE SECRET (TYPE s3, SCOPE 'hidden')": "begins with 's3://' or 's3a://'",
    "CREATE SECRET (TYPE s3, URL_STYLE hidden)": "is path or vhost",
    "CREATE SECRET (TYPE s3, USE_SSL hidden)": "is true or false",
    "CREATE SECRET (TYPE s3, ENDPOINT 'http://me:hidden@host')": "has no password in it",
    "CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {'X': E'hidden\\n'})": "no line breaks",
    "PREPARE p AS CREATE SECRET (TYPE s3, KEY_ID 'hidden')": "PREPARE of CREATE",
    "EXPLAIN CREATE SECRET (TYPE s3, KEY_ID 'hidden')": "EXPLAIN CREATE is not supported",
}


@pytest.mark.parametrize("statement", WRONG)
def test_errors_show_no_values(con, statement):
    with pytest.raises(raydb.Error) as failure:
        con.execute(statement)
    assert WRONG[statement] in str(failure.value)
    shown, error = "", failure.value
    while error is not None:
        shown += str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert "hidden" not in shown
    assert secrets_of(con) == {}


def test_nothing_shows_or_keeps_values(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (x INTEGER)")
        con.execute("BEGIN; CREATE SECRET s (TYPE s3, KEY_ID 'AKIAhidden', SECRET 'hidden')")
        con.execute("INSERT INTO t VALUES (1); COMMIT; CHECKPOINT")
        rows = con.execute("FROM duckdb_secrets()").fetchall()
        rows += con.execute("FROM duckdb_settings()").fetchall()
        rows += con.execute("EXPLAIN FROM secrets()").fetchall()
        con.execute(f"EXPORT DATABASE '{tmp_path / 'out'}'")
        assert "hidden" not in str(rows)
        assert "hidden" not in repr(con._session.settings.access)
        assert "hidden" not in repr(con._session.settings.secrets[0].options)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"hidden" not in file.read_bytes(), file
    with raydb.connect(path) as con:
        assert con.execute("SELECT count(*) FROM secrets()").fetchone() == (0,)


def test_external_access_closes_secrets():
    with raydb.connect(external_access=False) as con:
        for statement in ("CREATE SECRET (TYPE s3)", "DROP SECRET IF EXISTS s"):
            with pytest.raises(raydb.OperationalError, match="external_access is off"):
                con.execute(statement)


def test_the_shell_keeps_no_values(tmp_path, monkeypatch):
    from raydb.engine.shell.error_display import complaint
    from raydb.engine.shell.history import open_history
    from raydb.engine.shell.script import Piece

    monkeypatch.setenv("RAYDB_HISTORY", str(tmp_path / "history"))
    kept, _ = open_history()
    for text in (
        "SELECT 1;",
        "create  or replace\nsecret s (TYPE s3, KEY_ID 'hidden');",
        "CREATE TEMPORARY SECRET (TYPE s3, KEY_ID 'hidden');",
        "SET s3_secret_access_key = 'hidden';",
        "FROM secrets();",
    ):
        kept.append_string(text)
    assert list(open_history()[0].load_history_strings()) == ["FROM secrets();", "SELECT 1;"]
    text = "CREATE SECRET (TYPE s3, KEYID 'hidden')"
    with raydb.connect() as con, pytest.raises(raydb.ProgrammingError) as failure:
        con.execute(text)
    shown = complaint(failure.value, Piece(text, 1), is_colored=False)
    assert "no option 'keyid'" in shown
    assert "hidden" not in shown


def test_a_statement_is_reached_with_its_secret(bucket, store_server, monkeypatch):
    """The server of the tests takes any keys, and answers nothing without its address."""
    from raydb.running import current
    from raydb.storage.objects.store import open_store

    for name in store_server.environment:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    config = {"s3_endpoint": store_server.url.removeprefix("http://"), "s3_use_ssl": False}
    with raydb.connect(config={**config, "s3_access_key_id": "k"}) as con:
        reached = []

        def reach(step, share):
            if not reached:
                store, key = open_store(f"s3://{bucket}/x")
                store.put(key, b"kept")
                reached.append(bytes(store.get(key).data))

        con.progress = reach
        con.execute("CREATE TABLE t AS SELECT range AS x FROM range(100000)")
        con.execute("CREATE BVH b ON t (SCAN (x), AGGREGATE (x))")
        assert reached == [b"kept"]
        assert current.get() is None
