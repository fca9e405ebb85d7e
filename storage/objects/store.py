"""A bucket, and the requests that are made of it.

Each request runs on a thread of its own, so that whoever waits for it hears an interrupt. Errors
are OSError with the URL as its filename: FileNotFoundError where there is no object,
`PreconditionError` where one is not as a conditional request wants it.
"""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from raydb.errors import NotSupportedError
from raydb.interrupts import WAIT_S, check_interrupt
from raydb.remote import Access, Traffic
from raydb.running import current
from raydb.storage.objects.access import options_of
from raydb.storage.objects.failures import PreconditionError as PreconditionError  # noqa: PLC0414
from raydb.storage.objects.failures import failure as _failure
from raydb.storage.objects.ranges import Range, divided
from raydb.storage.objects.secret_options import secret_of
from raydb.storage.objects.urls import shown, split_url
from raydb.storage.objects.usual import environment_state
from raydb.values import dataclass

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from raydb.remote import Secret

T = TypeVar("T")

# What is said of a range of an empty object, and by a server that knows of none.
_NO_RANGE = ("416", "non-partial response", "Range request not supported")
# Objects that are larger are sent in parts, side by side.
_PART_BYTES = 8 << 20


class Tag(NamedTuple):
    """What tells the content of an object from others that it had; Google's is the version."""

    e_tag: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """What a store knows of an object."""

    key: str
    size: int
    tag: Tag
    last_modified: dt.datetime


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes of an object from an offset on, and what the store knows of it."""

    entry: Entry
    start: int
    data: memoryview


class _Parts(io.RawIOBase):
    """The bytes of an object that is written in parts, until nobody waits for it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.is_over = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes; an error lets the parts go that were sent."""
        if self.is_over:
            raise OSError(None, "it was interrupted")
        return self._file.read(size)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A range of an object; e_tag: the one that it must have, None for any."""

    key: str
    range_: Range
    e_tag: str | None = None


class ObjectStore:
    """The objects of a bucket; threads may share it.

    url: 's3://bucket'. access: time-outs, how many requests run side by side. secret: says how the
    store is reached, None where the machine says it. Use `open_store`.
    """

    def __init__(self, url: str, access: Access, secret: Secret | None = None) -> None:
        """Prepare. Raises NotSupportedError without the library, OperationalError for options."""
        self.url = url
        self.access = access
        self._store, self._is_signed = _make(url, access, secret)

    def url_of(self, key: str) -> str:
        """Return the URL of an object."""
        return f"{shown(self.url)}/{key}"

    # Reading

    def get(self, key: str, unless: Tag | None = None, *, asks: bool = True) -> Content | None:
        """Return an object as a whole; None where its tag still is `unless`."""
        options = {} if unless is None else {"if_none_match": unless.e_tag}
        found = self._one(key, partial(_get, self._store, key, options), asks=asks)
        return found if found is None else self._received(found)

    def get_later(self, key: str, unless: Tag | None) -> Callable[[], Content | None]:
        """Ask for an object, and return the function that waits for it, see `get`."""
        options = {} if unless is None else {"if_none_match": unless.e_tag}
        self._count(requests=1, trips=1)
        call = partial(_get, self._store, key, options)
        future = _threads(self.access.requests).submit(call)

        def wait_for() -> Content | None:
            while wait([future], timeout=WAIT_S).not_done:
                check_interrupt()
            found = self._result(future, self.url_of(key))
            return found if found is None else self._received(found)

        return wait_for

    def get_tail(self, key: str, size: int) -> Content:
        """Return the last bytes of an object, all of a shorter one."""
        return self.get_ends([key], size)[0]

    def get_ends(self, keys: Sequence[str], size: int, *, first: bool = False) -> list[Content]:
        """Return the last bytes of some objects, or the first ones, in one trip.

        Those that are shorter come as a whole, and those of a store that answers no ranges.
        """
        get = partial(_get_end, self._store, size, first, not self.url.startswith("az://"))
        found = self._all(keys, [partial(get, key) for key in keys])
        self._count(requests=sum(count for _, count in found) - len(keys))
        return [self._received(content) for content, _ in found]

    def get_ranges(self, wanted: Sequence[Wanted]) -> list[memoryview]:
        """Return ranges of objects, fetched side by side; long ones by several requests.

        Raises `PreconditionError` where an object has another e_tag than is wanted.
        """
        pieces = [divided([each.range_]) for each in wanted]
        calls = [
            partial(_get_range, self._store, each.key, piece, each.e_tag)
            for each, parts in zip(wanted, pieces, strict=True)
            for piece in parts
        ]
        urls = [each.key for each, parts in zip(wanted, pieces, strict=True) for _ in parts]
        found = self._all(urls, calls)
        self._count(received=sum(map(len, found)))
        joined, place = [], 0
        for parts in pieces:
            mine = found[place : place + len(parts)]
            place += len(parts)
            joined.append(mine[0] if len(mine) == 1 else memoryview(b"".join(mine)))
        return joined

    def head(self, key: str) -> Entry:
        """Return what the store knows of an object."""

        def ask() -> Entry:
            import obstore  # noqa: PLC0415

            return _entry(obstore.head(self._store, key))

        return self._one(key, ask)

    def entries(self, prefix: str, *, is_deep: bool = True) -> Iterator[Entry]:
        """Yield the objects whose keys begin with a prefix, in order of their keys.

        is_deep: those too that have another slash behind it.
        """

        def ask() -> list[Entry]:
            import obstore  # noqa: PLC0415

            # The library takes whole names between slashes only.
            folder = prefix[: prefix.rfind("/") + 1]
            pages = (
                obstore.list(self._store, folder)
                if is_deep
                else [obstore.list_with_delimiter(self._store, folder)["objects"]]
            )
            found = [_entry(each) for page in pages for each in page]
            return sorted(
                (each for each in found if each.key.startswith(prefix)), key=lambda each: each.key
            )

        yield from self._one(prefix, ask)

    # Writing

    def put(
        self,
        key: str,
        data: bytes | memoryview,
        *,
        replaces: Tag | None = None,
        is_new: bool = False,
        asks: bool = True,
    ) -> Tag:
        """Write an object in one request, and return its tag.

        replaces: the tag of the object that it takes the place of, and of no other. is_new: there
        must be none. Otherwise `PreconditionError` is raised, and also where the write was done and
        its reply was lost: who needs to know reads the object again. After any other error it was
        done, was not, or will be: a write that is on its way may arrive later, until the object is
        another one than `replaces`. asks: whether an interrupt of the statement ends the waiting.
        """
        mode: Any = "create" if is_new else "overwrite"
        if replaces is not None:
            mode = {name: value for name, value in replaces._asdict().items() if value is not None}

        def ask() -> Tag:
            import obstore  # noqa: PLC0415

            result = obstore.put(self._store, key, data, mode=mode, use_multipart=False)
            return Tag(result["e_tag"], result["version"])

        tag = self._one(key, ask, asks=asks)
        self._count(sent=len(data))
        return tag

    def put_file(self, key: str, path: str) -> None:
        """Write an object from a file; see `put_stream`."""
        with Path(path).open("rb") as file:
            self.put_stream(key, file, Path(path).stat().st_size)

    def put_stream(self, key: str, file: BinaryIO, size: int) -> None:
        """Write an object from a file of so many bytes; a large one in parts.

        Parts appear together, and go where an error or an interrupt comes before their end.
        """
        if size <= _PART_BYTES or self.url.startswith("http"):
            self.put(key, file.read())
            return
        source = _Parts(file)

        def ask() -> None:
            import obstore  # noqa: PLC0415

            most = self.access.requests
            parts: Any = source
            obstore.put(
                self._store,
                key,
                parts,
                chunk_size=_PART_BYTES,
                max_concurrency=most,
                use_multipart=True,
            )

        try:
            self._one(key, ask)
        finally:
            source.is_over = True
        # That which begins it, and that which ends it.
        self._count(requests=1 + len(divided([(0, size)], _PART_BYTES)), trips=2, sent=size)

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; one that does not exist is no error."""

        def ask(key: str) -> None:
            import obstore  # noqa: PLC0415

            with suppress(FileNotFoundError):
                obstore.delete(self._store, key)

        self._all(keys, [partial(ask, key) for key in keys])

    # Requests

    def _one(self, key: str, ask: Callable[[], T], *, asks: bool = True) -> T:
        return self._all([key], [ask], asks=asks)[0]

    def _all(
        self, keys: Sequence[str], calls: Sequence[Callable[[], T]], *, asks: bool = True
    ) -> list[T]:
        """Return what calls return that run side by side, in their order: one trip."""
        if not calls:
            return []
        self._count(requests=len(calls), trips=1)
        futures = [_threads(self.access.requests).submit(call) for call in calls]
        found = []
        try:
            while waiting := wait(futures, timeout=WAIT_S).not_done:
                if asks:
                    check_interrupt()
                _tell(self.url_of(keys[0]), 1 - len(waiting) / len(futures))
            for key, future in zip(keys, futures, strict=True):
                found.append(self._result(future, self.url_of(key)))
        finally:
            for future in futures:
                future.cancel()
            if any(future.running() for future in futures):
                # Nobody waits for them any more, and no later request is to wait for them.
                _pools.pop((os.getpid(), self.access.requests), None)
        return found

    def _result(self, future: Future[T], url: str) -> T:
        try:
            return future.result()
        except OSError as error:
            raise error if error.filename else _failure(error, url) from None
        except Exception as error:  # The library's own begin at Exception.
            if not type(error).__module__.startswith("obstore"):
                raise
            raise self._failed(error, url) from None

    def _failed(self, error: Exception, name: str) -> OSError:
        """Return an error of the library's as one with the URL."""
        return _failure(error, name, is_signed=self._is_signed)

    def _received(self, found: Content) -> Content:
        self._count(received=len(found.data))
        return found

    def _count(self, requests: int = 0, trips: int = 0, received: int = 0, sent: int = 0) -> None:
        running = current.get()
        for traffic in (TOTAL, running.traffic if running is not None else None):
            if traffic is not None:
                traffic.requests += requests
                traffic.trips += trips
                traffic.received += received
                traffic.sent += sent


# Of the process, as tests and benchmarks read it.
TOTAL = Traffic()

# The newest ones; what else holds a store keeps it.
_MOST_STORES = 64
_stores: OrderedDict[Hashable, ObjectStore] = OrderedDict()
_stores_lock = threading.Lock()


def open_store(url: str) -> tuple[ObjectStore, str]:
    """Return the store of an object, as the statement that runs may use it, and the object's key.

    Raises NotSupportedError where the library is not installed, OperationalError for options that
    it does not know.
    """
    root, key = split_url(url)
    access = current_access()
    secret = secret_of(url, access.secrets)
    kept = root, secret, environment_state(), access.timeout_ms, access.requests
    with _stores_lock:
        known = _stores.get(kept)
    if known is None:
        known = ObjectStore(root, access, secret)
    with _stores_lock:
        _stores[kept] = known
        _stores.move_to_end(kept)
        while len(_stores) > _MOST_STORES:
            _stores.popitem(last=False)
    return known, key


def current_access() -> Access:
    """Return what the statement that runs, or is about to, says of stores."""
    running = current.get()
    return Access() if running is None or running.access is None else running.access


def _make(url: str, access: Access, secret: Secret | None) -> tuple[Any, bool]:
    """Return the library's store, and whether its requests are signed."""
    try:
        from obstore import store  # noqa: PLC0415  (an extra, and 20 ms)
    except ImportError:
        raise NotSupportedError(
            f"'{shown(url)}' is in an object store, which needs obstore: pip install 'raydb[s3]'"
        ) from None
    options = options_of(url, secret, access)
    found = options.found
    parts: dict[str, Any] = {"client_options": options.client, "retry_config": options.retries}
    classes: dict[str, Any] = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}
    is_signed = found.config.get("skip_signature") != "true"
    try:
        if options.kind not in classes:
            return store.HTTPStore.from_url(url, **parts), is_signed
        if options.kind == "s3":
            # Also one of Google's, which speaks the same language.
            url = f"s3://{url.partition('://')[2]}"
        if found.provider is not None:
            parts["credential_provider"] = found.provider
        return classes[options.kind].from_url(url, config=found.config, **parts), is_signed
    except Exception as error:  # noqa: BLE001  (the library's own begin there)
        raise _failure(error, shown(url)) from None


def _tell(name: str, share: float) -> None:
    """Tell the listener of the statement how far reading or writing has come."""
    running = current.get()
    if running is not None and running.listener is not None:
        running.listener(f"requests of {name}", share)


def _get_end(
    store: Any, size: int, first: bool, has_suffixes: bool, key: str
) -> tuple[Content, int]:
    """Return the first or the last bytes of an object, and how many requests that took."""
    import obstore  # noqa: PLC0415

    if first or has_suffixes:
        wanted: Any = (0, size) if first else {"suffix": size}
        request_count = 1
    else:
        known = obstore.head(store, key)["size"]
        wanted = (max(known - size, 0), known)
        request_count = 2
    try:
        found = _get(store, key, {"range": wanted})
    except Exception as error:
        if not any(words in str(error) for words in _NO_RANGE):
            raise
        found = _get(store, key, None)
        request_count += 1
    assert found is not None
    return found, request_count


def _get(store: Any, key: str, options: Any) -> Content | None:
    import obstore  # noqa: PLC0415
    from obstore.exceptions import NotModifiedError  # noqa: PLC0415

    try:
        found = obstore.get(store, key, options=options or None)
        data = memoryview(found.bytes())
    except NotModifiedError:
        return None
    start, stop = found.range
    if len(data) != stop - start:
        raise OSError(None, f"{len(data)} bytes came, not {stop - start}")
    return Content(_entry(found.meta), start, data)


def _get_range(store: Any, key: str, piece: Range, e_tag: str | None) -> memoryview:
    options: dict[str, Any] = {"range": piece}
    # A weak one matches nothing.
    if e_tag is not None and not e_tag.startswith("W/"):
        options["if_match"] = e_tag
    found = _get(store, key, options)
    assert found is not None
    if found.entry.tag.e_tag != (e_tag or found.entry.tag.e_tag):
        raise PreconditionError(None, "it has changed meanwhile")
    if len(found.data) != piece[1] - piece[0]:
        raise OSError(None, f"it has {found.entry.size} bytes, not {piece[1]} or more")
    return found.data


def _entry(meta: Mapping[str, Any]) -> Entry:
    tag = Tag(meta["e_tag"], meta["version"])
    return Entry(meta["path"], meta["size"], tag, meta["last_modified"])


_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _threads(count: int) -> ThreadPoolExecutor:
    """Return the threads of this process that make requests; one that was forked has its own."""
    pool = _pools.get((os.getpid(), count))
    if pool is None:
        pool = _pools[os.getpid(), count] = ThreadPoolExecutor(count, "raydb requests")
    return pool
