"""Requests that go wrong: what is asked again, what is named, and what a failed write has done."""

from __future__ import annotations

import pytest
from store_faults import Fault, chosen
from store_server import trips

from raydb.remote import Access
from raydb.storage.objects.store import ObjectStore, PreconditionError, Wanted

DATA = bytes(range(256)) * 400
LOST = "the connection was lost"
BUSY = "the store has too much to do, also when asked again (503 Service Unavailable, SlowDown)"
ALWAYS = range(1, 100)


@pytest.fixture
def store(bucket, store_server):
    """A bucket with an object x that was written twice, and the server without its faults."""
    store_server.keeps_versions = True
    store = ObjectStore(f"s3://{bucket}", Access(timeout_ms=1500))
    store.put("x", b"0" * len(DATA))
    store.put("x", DATA)
    store_server.log.clear()
    yield store
    store_server.faults.clear()
    store_server.land_all()
    store_server.keeps_versions = False
    store_server.versions.clear()


READS = {
    "get": lambda store: bytes(store.get("x").data) == DATA,
    "tail": lambda store: bytes(store.get_tail("x", 300).data) == DATA[-300:],
    "ranges": lambda store: (
        [bytes(part) for part in store.get_ranges([Wanted("x", (5, 700)), Wanted("x", (90, 91))])]
        == [DATA[5:700], DATA[90:91]]
    ),
}
PASSING = [
    ("lost reply", None),
    ("cut", None),
    ("reset", None),
    ("status", 500),
    ("status", 503),
    ("truncated", 1),
    ("truncated", 250),
]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize(("kind", "value"), PASSING)
def test_a_read_that_fails_once_is_made_again(store, store_server, read, kind, value):
    store_server.faults.append(Fault(kind, "GET", "/x$", value=value))
    assert read(store)
    assert store_server.faults[0].met >= 2


LASTING = [
    ("get", "cut", None, LOST),
    ("ranges", "reset", None, LOST),
    ("tail", "status", 500, "the store answered 500 Internal Server Error, InternalError"),
    ("ranges", "status", 503, BUSY),
    ("get", "truncated", 1, LOST),
    ("ranges", "truncated", 1, LOST),
    ("tail", "late reply", 2, "the store did not answer in time, which object_timeout sets"),
]


@pytest.mark.parametrize(("read", "kind", "value", "words"), LASTING)
def test_a_read_that_goes_on_failing_is_named(store, store_server, read, kind, value, words):
    store_server.faults.append(Fault(kind, "GET", "/x$", ALWAYS, value))
    with pytest.raises(OSError, match=r".") as failure:
        READS[read](store)
    assert (failure.value.strerror, failure.value.filename) == (words, store.url_of("x"))


def test_a_store_that_is_not_there_is_named(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(OSError, match="its server refuses the connection"):
        ObjectStore("s3://b", Access(timeout_ms=1500)).get("x")


def test_bytes_of_an_older_object_are_not_mixed_with_others(store, store_server):
    e_tag = store.head("x").tag.e_tag
    store_server.faults.append(Fault("older", "GET", "/x$"))
    with pytest.raises(PreconditionError):
        store.get_ranges([Wanted("x", (0, 10), e_tag)])
    store_server.faults[:] = [Fault("older", "GET", "/x$"), Fault("flipped", "GET", "/x$", (2,))]
    # Whoever reads a whole object, or its bytes, checks what they are.
    assert bytes(store.get("x").data) == b"0" * len(DATA)
    assert bytes(store.get("x").data)[:2] == b"\1\1"
    store_server.faults[:] = [Fault("older", "GET", "/x$", value=9)]
    with pytest.raises(FileNotFoundError):
        store.get("x")


# A write that replaces x: whether it says that it is done, and whether it is.
WRITES = [
    ("cut", None, ALWAYS, OSError, False),
    ("cut", None, (1,), None, True),
    ("reset", None, (1,), OSError, False),
    ("lost reply", None, (1,), PreconditionError, True),
    ("late reply", 2, (1,), OSError, True),
    ("status", 409, (1,), None, True),
    ("status", 409, ALWAYS, PreconditionError, False),
    ("status", 412, (1,), PreconditionError, False),
    ("status", 500, (1,), None, True),
    ("status", 503, ALWAYS, OSError, False),
    ("status after", 500, (1,), PreconditionError, True),
    ("status after", 503, ALWAYS, OSError, True),
    ("zombie", 1, (1,), PreconditionError, True),
    ("zombie", 9, ALWAYS, OSError, False),
]


@pytest.mark.parametrize("is_new", [False, True], ids=["replaces", "is_new"])
@pytest.mark.parametrize(("kind", "value", "at", "error", "is_done"), WRITES)
def test_a_conditional_write(store, store_server, is_new, kind, value, at, error, is_done):
    key = "new" if is_new else "x"
    store_server.faults.append(Fault(kind, "PUT", f"/{key}$", at, value))
    options = {"is_new": True} if is_new else {"replaces": store.head("x").tag}
    if is_new and kind == "status" and value == 409:
        at, error, is_done = ALWAYS, PreconditionError, False  # It is not tried again.
    if error is None:
        assert store.put(key, b"mine", **options) == store.head(key).tag
    else:
        with pytest.raises(error) as failure:
            store.put(key, b"mine", **options)
        assert (type(failure.value) is PreconditionError) == (error is PreconditionError)
    found = bytes(store.get(key).data) if is_done or not is_new else None
    assert found == (b"mine" if is_done else None if is_new else DATA)


def test_a_write_may_arrive_after_it_has_failed_but_not_after_another(store, store_server):
    for has_other in (False, True):
        tag = store.put("x", DATA)
        store_server.faults[:] = [Fault("zombie", "PUT", "/x$", ALWAYS, 1000)]
        with pytest.raises(OSError, match=LOST):
            store.put("x", b"mine", replaces=tag)
        store_server.faults.clear()
        assert bytes(store.get("x").data) == DATA
        if has_other:
            store.put("x", b"another", replaces=tag)
        store_server.land_all()
        assert bytes(store.get("x").data) == (b"another" if has_other else b"mine")


def test_the_server_counts_trips_and_keeps_connections(store, store_server):
    store_server.delay_s = 0.02
    try:
        store.get_ranges([Wanted("x", each) for each in ((0, 10), (5000, 5010), (90_000, 90_010))])
        assert (len(store_server.log), trips(store_server.log)) == (3, 1)
        store.get("x")
        assert trips(store_server.log) == 2
        assert [each.received for each in store_server.log] == [10, 10, 10, len(DATA)]
    finally:
        store_server.delay_s = 0
    asked = []
    store_server.hook = lambda request: asked.append((request.method, request.path[-2:]))
    store.put("x", b"")
    store_server.hook = None
    assert asked == [("PUT", "/x")]


def test_chosen_requests_are_those_of_the_seed():
    assert chosen(7, 0.5, 100) == chosen(7, 0.5, 100) != chosen(8, 0.5, 100)
