"""Requests to an object store: what they bring, what is counted, what an error says."""

from __future__ import annotations

import pytest

from raydb.errors import OperationalError
from raydb.storage.objects.ranges import divided, joined
from raydb.storage.objects.remote_file import Memory, RemoteFile, open_object
from raydb.storage.objects.store import PreconditionError, Wanted, open_store
from raydb.storage.objects.urls import is_url, split_url

DATA = bytes(range(256)) * 400


def test_objects_come_and_go(bucket):
    store, key = open_store(f"s3://{bucket}/a/x")
    first = store.put(key, DATA)
    assert bytes(store.get(key).data) == DATA
    assert store.get(key, unless=first) is None
    tail = store.get_tail(key, 5)
    assert (tail.start, bytes(tail.data)) == (len(DATA) - 5, DATA[-5:])
    second = store.put(key, b"another", replaces=first)
    assert store.get(key, unless=first).entry.tag.e_tag == second.e_tag
    assert [(each.key, each.size) for each in store.entries("a/")] == [("a/x", 7)]
    store.delete([key, "a/none"])
    with pytest.raises(FileNotFoundError, match="no such object"):
        store.get(key)


def test_conditions(bucket):
    store, key = open_store(f"s3://{bucket}/x")
    first = store.put(key, b"1", is_new=True)
    with pytest.raises(PreconditionError):
        store.put(key, b"2", is_new=True)
    store.put(key, b"3", replaces=first)
    with pytest.raises(PreconditionError):
        store.put(key, b"4", replaces=first)
    with pytest.raises(PreconditionError):
        store.get_ranges([Wanted(key, (0, 1), first.e_tag)])
    assert bytes(store.get(key).data) == b"3"


def test_a_file_brings_what_is_needed(bucket, store_server):
    store, key = open_store(f"s3://{bucket}/x")
    store.put(key, DATA)
    store_server.log.clear()
    file = RemoteFile(store, key, Memory(len(DATA)))
    file.need([(10, 20), (4000, 4100), (90_000, 90_001)])
    assert bytes(file.view[4000:4100]) == DATA[4000:4100]
    file.need([(0, 8192)])
    assert len(store_server.log) == 1
    file.need([(0, len(DATA))])
    assert bytes(file.view) == DATA


def test_an_object_is_opened_by_its_end(bucket, store_server):
    store, key = open_store(f"s3://{bucket}/x")
    store.put(key, DATA)
    store_server.log.clear()
    file = open_object(f"s3://{bucket}/x")
    file.need([(len(DATA) - 100, len(DATA))])
    assert bytes(file.view[-100:]) == DATA[-100:]
    assert len(store_server.log) == 1
    store.put(key, b"\0" * len(DATA))
    with pytest.raises(OperationalError, match=r"x' cannot be read: it has changed meanwhile"):
        file.need([(0, 10)])


def test_what_is_missing_is_named(bucket):
    with pytest.raises(FileNotFoundError, match="no such object") as failure:
        open_object(f"s3://{bucket}/none")
    assert failure.value.filename == f"s3://{bucket}/none"
    with pytest.raises(FileNotFoundError, match="no such bucket"):
        open_object("s3://no-bucket-of-this-name/x")


def test_urls():
    assert is_url("s3://shop/x")
    assert not is_url("/tmp/s3:/x")
    assert split_url("gcs://shop/a/b") == ("gs://shop", "a/b")
    with pytest.raises(OperationalError, match="has a password in it") as failure:
        split_url("https://me:hidden@shop/x")
    assert "hidden" not in str(failure.value)


def test_ranges():
    assert divided(joined([(0, 3), (5, 9), (100, 101)], gap=2), most=6) == [
        (0, 6),
        (6, 9),
        (100, 101),
    ]
