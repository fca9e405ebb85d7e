"""How stores are reached: which secret is whose, and what a machine's files and servers say."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from raydb.errors import OperationalError
from raydb.remote import Access, Hidden, Secret
from raydb.running import Running
from raydb.storage.objects import instance
from raydb.storage.objects.access import options_of
from raydb.storage.objects.secret_options import secret_of
from raydb.storage.objects.store import open_store
from raydb.storage.objects.usual import usual_azure, usual_google, usual_s3


class Answering:
    """A server that keeps what it was asked. answer: (status, body) of each request."""

    def __init__(self, answer=lambda _: (200, b"hello")):
        outer, self.asked, self.answer = self, [], answer

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append((self.command, self.path, dict(self.headers)))
                status, body = outer.answer(self)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
                self.send_header("ETag", '"1"')
                self.end_headers()
                self.wfile.write(body)

            do_PUT = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    @property
    def authorization(self):
        headers = {name.lower(): value for name, value in self.asked[-1][2].items()}
        return headers.get("authorization", "")


@pytest.fixture
def server():
    server = Answering()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _bare(monkeypatch, tmp_path):
    """Have neither variables nor files, nor an instance's server."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("is_google", "is_azure"):
        monkeypatch.setattr(f"raydb.storage.objects.usual.{name}", lambda: False)


def read(url, *secrets):
    with Running() as running:
        running.access = Access(secrets, timeout_ms=5000)
        store, key = open_store(url)
        return bytes(store.get(key).data)


def s3(name="one", scope="s3://", **options):
    return Secret(name, "s3", (scope,), tuple(options.items()))


def write_profiles(folder, credentials, config=""):
    (folder / ".aws").mkdir()
    (folder / ".aws" / "credentials").write_text(credentials)
    (folder / ".aws" / "config").write_text(config)


def test_the_longest_scope_wins():
    wide, narrow, deep = s3("wide"), s3("narrow", "s3://shop"), s3("deep", "s3a://shop/private/")
    secrets = (wide, narrow, deep)
    assert secret_of("s3://other/x", secrets) is wide
    assert secret_of("s3://shop/x", secrets) is narrow
    assert secret_of("s3://shopping/x", secrets) is wide
    assert secret_of("s3a://shop/private/x", secrets) is deep
    assert secret_of("gs://shop/x", secrets) is None
    assert secret_of("s3://shop/x", (narrow, s3("again", "s3://shop"))) is narrow


def test_a_secret_takes_the_place_of_variables(server, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of the environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "x")
    place = {"endpoint": server.url, "region": "eu-north-1"}
    assert read("s3://shop/x", s3(key_id="mine", secret="hidden", **place)) == b"hello"
    assert "Credential=mine/" in server.authorization
    assert "/eu-north-1/" in server.authorization
    assert "security-token" not in server.authorization
    bare = server.url.removeprefix("http://")
    read("s3://shop/x", s3(endpoint=bare, use_ssl="false"))
    assert server.authorization == ""
    read("s3://shop/x", s3(endpoint=server.url, provider="credential_chain"))
    assert "Credential=of the environment/" in server.authorization


def test_an_endpoint_that_cannot_be_replaced_is_told(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    with pytest.raises(OperationalError, match="AWS_ENDPOINT_URL_S3 names another endpoint"):
        read("s3://shop/x", s3(endpoint="http://127.0.0.1:2"))


def test_the_bucket_may_be_in_the_name_of_the_server():
    secret = s3(endpoint="store.example", url_style="vhost", key_id="a", secret="b")
    config = options_of("s3://shop", secret, Access()).found.config
    assert config["endpoint"] == "https://shop.store.example"


def test_keys_of_google_speak_the_language_of_s3(server):
    options = (("key_id", "GOOG1"), ("secret", "x"), ("endpoint", server.url))
    assert read("gs://shop/x", Secret("g", "gs", ("gs://",), options)) == b"hello"
    assert "Credential=GOOG1/" in server.authorization


def test_a_connection_string_of_azure():
    text = "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=a2V5==;"
    secret = Secret("a", "az", ("az://",), (("connection_string", text),))
    found = options_of("az://things", secret, Access()).found
    assert found.config == {"account_name": "shop", "account_key": "a2V5=="}
    assert "a2V5" not in repr(found)
    public = Secret("a", "az", ("az://",), (("account_name", "shop"),))
    assert options_of("az://things", public, Access()).found.config["skip_signature"] == "true"


def test_headers_of_http(server):
    options = (("bearer_token", "hidden"), ("header:X-Shop", "a"))
    assert read(f"{server.url}/x", Secret("h", "http", (server.url,), options)) == b"hello"
    assert server.authorization == "Bearer hidden"
    assert server.asked[-1][2]["x-shop"] == "a"


# What the machine says


def test_profiles(server, tmp_path, monkeypatch):
    write_profiles(
        tmp_path,
        "[default]\naws_access_key_id = first\naws_secret_access_key = a%b\n"
        "[work]\naws_access_key_id = second\naws_secret_access_key = c\naws_session_token = t\n",
        f"[default]\nregion = eu-west-1\nendpoint_url = {server.url}\n"
        f"[profile work]\nregion = eu-west-2\nendpoint_url = {server.url}\n",
    )
    read("s3://shop/x")
    assert "Credential=first/" in server.authorization
    assert "/eu-west-1/" in server.authorization
    monkeypatch.setenv("AWS_PROFILE", "work")
    read("s3://shop/x")
    assert "Credential=second/" in server.authorization
    assert "security-token" in server.authorization
    monkeypatch.delenv("AWS_PROFILE")
    read("s3://shop/x", s3(provider="credential_chain", profile="work"))
    assert "Credential=second/" in server.authorization
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "third")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "d")
    read("s3://shop/x")
    assert "Credential=third/" in server.authorization
    assert "/eu-west-1/" in server.authorization


def test_a_profile_that_is_written_anew_is_read_again(server, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    for name in ("early", "much later"):
        path = tmp_path / "keys"
        path.write_text(f"[default]\naws_access_key_id={name}\naws_secret_access_key=x\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))
        read("s3://shop/x")
        assert f"Credential={name}/" in server.authorization


def test_profiles_that_do_not_help_are_named(tmp_path, monkeypatch):
    write_profiles(
        tmp_path,
        "",
        "[profile signed]\nsso_start_url = https://example.com\nsso_account_id = 1\n"
        "sso_region = eu-west-1\nsso_role_name = r\nregion = eu-west-1\n",
    )
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(OperationalError, match="'signed' signs in or takes a role, which needs"):
        usual_s3("signed")
    monkeypatch.delitem(sys.modules, "boto3")
    assert usual_s3("signed").provider is not None
    with pytest.raises(OperationalError, match="the AWS profile 'absent' is in neither"):
        usual_s3("absent")
    (tmp_path / ".aws" / "credentials").write_text("[default]\nhidden\n= very hidden\n")
    with pytest.raises(OperationalError, match="cannot be read as AWS profiles") as failure:
        usual_s3()
    assert "hidden" not in str(failure.value)
    assert failure.value.__suppress_context__


def test_without_credentials_requests_are_not_signed(server, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    assert read("s3://shop/x") == b"hello"
    assert server.authorization == ""
    assert usual_google().config == usual_azure().config == {"skip_signature": "true"}


def test_an_instance_gives_its_role(monkeypatch):
    role = (
        b'{"AccessKeyId": "instance", "SecretAccessKey": "x", "Token": "t",'
        b' "Expiration": "2099-01-01T00:00:00Z"}'
    )

    def answer(request):
        if "/latest/" not in request.path:
            return 200, b"hello"
        if request.command == "PUT":
            return 200, b"a token"
        return 200, b"reader" if request.path.endswith("/") else role

    server = Answering(answer)
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", server.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    assert read("s3://shop/x") == b"hello"
    assert "Credential=instance/" in server.authorization
    server.close()


def test_a_server_that_keeps_silent_costs_a_second_once(server, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setattr(instance, "_WAIT_S", 0.2)
        start = time.monotonic()
        for _ in range(3):
            assert read("s3://shop/x") == b"hello"
        assert 0.2 <= time.monotonic() - start < 5
        assert server.authorization == ""


def test_certificates_of_another_authority(tmp_path, monkeypatch):
    path = tmp_path / "authority.pem"
    monkeypatch.setenv("AWS_CA_BUNDLE", str(path))
    with pytest.raises(OperationalError, match="which AWS_CA_BUNDLE names, cannot be read"):
        options_of("s3://shop", None, Access())
    path.write_bytes(b"a certificate")
    assert options_of("s3://shop", None, Access()).client["root_certificate"] == b"a certificate"


def test_values_are_not_shown():
    secret = s3("mine", key_id=Hidden("AKIA"), secret=Hidden("very hidden"))
    found = options_of("s3://shop", secret, Access((secret,)))
    shown = repr((secret, Access((secret,)), found, secret.options))
    assert "hidden" not in shown
    assert "AKIA" not in shown
    assert "'mine'" in shown
