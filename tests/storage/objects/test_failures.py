"""What errors of stores say: one sentence with the URL, and nothing of keys or answers."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from test_access import Answering

from raydb.errors import OperationalError
from raydb.remote import Access, Hidden, Secret
from raydb.running import Interrupts, Running
from raydb.storage.objects import failures, store
from raydb.storage.objects.store import Wanted, open_store

KEYS = (("key_id", Hidden("AKIAhidden")), ("secret", Hidden("hidden")))


def ask(endpoint, *, timeout_ms=3000, keys=KEYS, url="s3://shop/a/x", **options):
    """Return the words of the error of a read."""
    secret = Secret("s", "s3", ("s3://",), (*keys, ("endpoint", endpoint), *options.items()))
    with Running() as running, pytest.raises(OSError) as failure:  # noqa: PT011, PT012
        running.access = Access((secret,), timeout_ms=timeout_ms)
        objects, key = open_store(url)
        objects.get(key)
    error = failure.value
    assert error.filename == url
    assert "hidden" not in str(error)
    assert "<" not in str(error)
    assert error.__suppress_context__
    return f"{type(error).__name__}: {error.strerror}"


DENIED = "PermissionError: access denied"


def answering(status, code="", rest=""):
    body = f"<Error><Code>{code}</Code><Message>AKIAhidden</Message>{rest}</Error>" if code else ""
    return Answering(lambda _: (status, body.encode()))


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (403, "InvalidAccessKeyId", f"{DENIED}: the store does not know the key"),
        (403, "SignatureDoesNotMatch", f"{DENIED}: the secret of the key is wrong"),
        (400, "ExpiredToken", f"{DENIED}: the token has expired"),
        (403, "RequestTimeTooSkewed", f"{DENIED}: the clock of this machine is wrong"),
        (403, "AccessDenied", f"{DENIED} (AccessDenied)"),
        (403, "", f"{DENIED} (403)"),
        (401, "", f"{DENIED} (401)"),
        (404, "NoSuchKey", "FileNotFoundError: no such object"),
        (404, "NoSuchBucket", "FileNotFoundError: no such bucket"),
        (412, "PreconditionFailed", "PreconditionError: it has changed meanwhile"),
        (501, "NotImplemented", "OSError: the store answered 501 Not Implemented, NotImplemented"),
    ],
)
def test_answers(status, code, sentence):
    server = answering(status, code)
    assert ask(server.url) == sentence
    server.close()


@pytest.mark.parametrize(("status", "code"), [(503, "SlowDown"), (429, "")])
def test_a_store_with_too_much_to_do_is_asked_again(status, code):
    server = answering(status, code)
    assert "has too much to do, also when asked again (" in ask(server.url)
    assert len(server.asked) == 5
    server.close()


def test_another_region_is_named(monkeypatch):
    malformed = answering(400, "AuthorizationHeaderMalformed", "<Region>eu-west-3</Region>")
    assert "its bucket is in the region 'eu-west-3'; name it as REGION" in ask(malformed.url)
    malformed.close()
    redirect = answering(301, "PermanentRedirect")
    for known, words in (("eu-west-1", "the region 'eu-west-1'"), (None, "another region")):
        monkeypatch.setattr(failures, "region_of", {"shop": known}.get)
        assert f"its bucket is in {words}; name it" in ask(redirect.url)
    redirect.close()


def test_requests_that_are_not_signed_say_so():
    server = answering(403, "AccessDenied")
    assert ask(server.url, keys=()).endswith("access denied (AccessDenied), no credentials")
    server.close()


def test_servers_that_do_not_answer(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "did not answer in time, which object_timeout sets" in ask(url, timeout_ms=300)
    assert "its server refuses the connection" in ask(url, timeout_ms=300)
    assert "name of its server is not known" in ask("http://no-such-host.invalid", timeout_ms=300)
    plain = Answering()
    assert "its server speaks no TLS" in ask(plain.url.replace("http", "https"), timeout_ms=300)
    plain.close()


def test_options_that_are_wrong_are_not_shown():
    with Running() as running:
        options = (("account_name", "shop"), ("account_key", "hid den"))
        running.access = Access((Secret("a", "az", ("az://",), options),))
        with pytest.raises(OSError, match="Invalid Access Key") as failure:
            open_store("az://things/x")
    assert "hid den" not in str(failure.value)


# Waiting


def test_an_interrupt_ends_a_read_at_once(bucket, store_server, monkeypatch):
    objects, key = open_store(f"s3://{bucket}/x")
    objects.put(key, b"kept")
    interrupts = Interrupts()
    monkeypatch.setattr(store_server, "delay_s", 3.0)
    start = time.monotonic()
    threading.Timer(0.2, interrupts.interrupt).start()
    with pytest.raises(OperationalError, match="interrupted"), Running(interrupts):
        objects.get(key)
    limited = Running()
    limited.begin(limited.device_memory, most_ms=200)
    with pytest.raises(OperationalError, match="max_execution_time"), limited:
        objects.get(key)
    assert time.monotonic() - start < 2
    # Requests that nobody waits for do not stand in the way of the next ones.
    monkeypatch.setattr(store_server, "delay_s", 0.0)
    start = time.monotonic()
    for _ in range(objects.access.requests):
        assert bytes(objects.get(key).data) == b"kept"
    assert time.monotonic() - start < 2


def test_a_listener_hears_of_many_requests(bucket, store_server, monkeypatch):
    objects, key = open_store(f"s3://{bucket}/x")
    objects.put(key, bytes(100))
    monkeypatch.setattr(store, "divided", lambda ranges: [(n, n + 1) for n in range(40)])
    monkeypatch.setattr(store_server, "delay_s", 0.1)
    heard = []
    with Running(None, lambda step, share: heard.append((step, share))):
        objects.get_ranges([Wanted(key, (0, 40))])
    assert {step for step, _ in heard} == {f"requests of s3://{bucket}/x"}
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert any(0 < share < 1 for share in shares)
