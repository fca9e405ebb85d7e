"""What other sites, other machines and hostile values get of a page's server: nothing."""

import json
import socket

import pytest
from page_client import Client

import raydb
from raydb.engine.ui.command import main, open_page

PATHS = ["/", "/page/main.js", "/api/events", "/api/rows?result=x&offset=0&count=1", "/api/facts"]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Return a page that all attacks of this module are on."""
    with pytest.MonkeyPatch.context() as patch, raydb.connect() as con:
        patch.setenv("RAYDB_HISTORY", str(tmp_path_factory.mktemp("ui") / "history"))
        yield Client(con.ui(port=0, browser=False))


def sentence(answer):
    status, _, contents = answer
    assert status == 403, answer
    return json.loads(contents)["sentence"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]:1"]
)
def test_another_host(client, path, host):
    headers = {**client.headers, "Host": host}
    assert sentence(client.send("GET", path, headers=headers)) == "the request is for another host"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", ""])
def test_another_origin(client, path, origin):
    for method in ("GET", "POST", "OPTIONS"):
        headers = {**client.headers, "Origin": origin}
        answer = client.send(method, path, b"{}" if method == "POST" else None, headers)
        assert sentence(answer) == "the request comes from another site"
        assert not [name for name in answer[1] if name.lower().startswith("access-control")]


def test_a_page_of_another_port_is_another_site(client):
    headers = {**client.headers, "Origin": f"http://127.0.0.1:{client.port + 1}"}
    assert "another site" in sentence(client.send("POST", "/api/facts", b"{}", headers))
    headers = {**client.headers, "Sec-Fetch-Site": "same-site"}
    assert "another site" in sentence(client.send("POST", "/api/facts", b"{}", headers))
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert "another site" in sentence(client.send("GET", "/page/main.js", headers=headers))
    assert client.send("GET", "/", headers=headers)[0] == 200  # A link, as in a notebook.


@pytest.mark.parametrize("token", [None, "", "x", "é", "\x00", "A" * 32])
@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith("/api")])
def test_no_token_or_a_wrong_one(client, path, token):
    headers = {"X-RayDB-Page": client.headers["X-RayDB-Page"]}
    if token is not None:
        headers["X-RayDB-Token"] = token.encode("latin-1").replace(b"\0", b"%00").decode("latin-1")
    for method in ("GET", "POST"):
        answer = client.send(method, path, b"{}" if method == "POST" else None, headers)
        assert "token is missing or wrong" in sentence(answer)


def test_the_page_itself_holds_no_token(client):
    for path in ("/", "/page/main.js", "/page/server.js"):
        status, headers, contents = client.send("GET", path, headers={})
        assert status == 200
        assert client.token.encode() not in contents
        assert client.token not in str(headers)


def test_what_browsers_are_told(client):
    status, headers, contents = client.send("GET", "/", headers={})
    assert status == 200
    policy = headers["content-security-policy"]
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert f'nonce="{nonce}"' in contents.decode()
    for word in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"):
        assert word in policy
    assert "unsafe" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert nonce not in client.send("GET", "/", headers={})[2].decode()
    assert client.send("POST", "/api/facts", b"{}")[1]["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/page/../server.py",
        "/page/%2e%2e/server.py",
        "/page/vendor/../../server.py",
        "/page//etc/passwd",
        "/page/package.json.",
        "/download/x/y",
        "/api/nothing",
    ],
)
def test_no_other_file(client, path):
    assert client.send("GET", path)[0] in {404, 405, 410}


def test_names_and_errors_are_text_for_json(client):
    name = '<img src=x onerror="alert(1)">"'
    quoted = '"' + name.replace('"', '""') + '"'
    found = client.result(f"SELECT '<script>alert(1)</script>' AS {quoted}")
    assert found["names"] == [name]
    assert client.window(found["result"]) == [("<script>alert(1)</script>",)]
    failed = client.run(f"SELECT * FROM {quoted}")[-1]
    assert name in failed["sentence"]
    status, headers, _ = client.send("POST", "/api/ask", json.dumps({"sql": f"FROM {quoted}"}))
    assert (status, headers["content-type"]) == (400, "application/json")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"tab": 1, "text": []}', b"\xff", b"null"])
@pytest.mark.parametrize("name", ["run", "ask", "complete", "download", "cancel", "close_tab"])
def test_bodies_that_are_no_question(client, name, body):
    status, _, contents = client.send("POST", f"/api/{name}", body)
    assert status in {400, 410}
    assert json.loads(contents)["sentence"]


@pytest.mark.parametrize(
    "query", ["offset=-1&count=1", "offset=1", "offset=x&count=1", "offset=²&count=1"]
)
def test_windows_that_are_none(client, query):
    path = f"/api/rows?result=x&{query}".replace("²", "%C2%B2")
    assert client.send("GET", path)[0] == 400


def test_a_page_that_nobody_opened(client):
    headers = {**client.headers, "X-RayDB-Page": "page-of-nobody"}
    status, _, contents = client.send("POST", "/api/facts", b"{}", headers)
    assert (status, json.loads(contents)["kind"]) == (410, "InterfaceError")
    headers = {**client.headers, "X-RayDB-Page": "x" * 1000}
    assert client.send("GET", "/api/events", headers=headers)[0] == 400


def test_what_is_no_http_ends_nothing(client):
    for noise in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n", b"\0" * 100):
        with socket.create_connection(("127.0.0.1", client.port), timeout=5) as connection:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert client.post("facts")["database"] == ""


def test_other_machines_only_with_tls_or_insecure():
    with pytest.raises(raydb.ProgrammingError, match="reached from other machines"):
        main(["--host", "0.0.0.0"])
    with pytest.raises(raydb.ProgrammingError, match="go together"):
        main(["--tls-cert", "cert.pem"])
    with pytest.raises(raydb.OperationalError, match="cannot be read"):
        main(["--tls-cert", "/nowhere/cert.pem", "--tls-key", "/nowhere/key.pem"])


def test_external_access_is_that_of_the_connection():
    with raydb.connect(external_access=False) as con, open_page(con, port=0) as ui:
        client = Client(ui)
        assert "external_access" in client.run("FROM '/etc/passwd.csv'")[-1]["sentence"]
        status, _, contents = client.send("POST", "/api/upload?name=a.csv", b"a")
        assert (status, b"external_access is off" in contents) == (400, True)
