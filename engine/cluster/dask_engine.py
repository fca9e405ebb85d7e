"""Dask as the engine: a client's connections to its workers carry the questions.

    connect_engine("local")                 processes of our own, see `local_workers`
    connect_engine("tls://scheduler:8786")  a scheduler that runs
    connect_engine(client)                  a client that the program has

A question is one request to one worker (about 1 ms); tasks would take 10, and an actor would be
lost with its worker.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import time
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from raydb.engine.cluster.lines import Lines, connect_line
from raydb.errors import NotSupportedError, OperationalError, ProgrammingError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine, Mapping
    from concurrent.futures import Future

# How long the list of workers is believed.
_FRESH_S = 1.0

# How long a worker that is asked may be silent before it is asked whether it lives.
_QUIET_S = 1.0

# How long a scheduler may take to answer at first.
_CONNECT_S = 10.0


class DaskEngine:
    """The workers of a Dask client. ends: what is done at the end."""

    def __init__(self, client: Any, ends: Callable[[], None], *, is_local: bool = False) -> None:
        from raydb.engine.cluster.dask_plugin import RayDBPlugin  # noqa: PLC0415  (an extra)

        if client.asynchronous:
            raise ProgrammingError("the dask Client is asynchronous; make one that is not")
        self.is_local = is_local
        self._client, self._ends = client, ends
        self._loop = client.loop.asyncio_loop
        self._workers: Mapping[str, str] = {}
        self._asked = 0.0
        self._lines = Lines(self._connect, self._ask)
        self._keys = client.security.get_connection_args("client")["ssl_context"]
        try:
            client.register_plugin(RayDBPlugin())
        except Exception as error:
            raise OperationalError(
                f"the workers of the cluster cannot load raydb: {error}; install the same version"
                " of it, of Python and of dask everywhere"
            ) from error

    def workers(self, *, anew: bool = False) -> Mapping[str, str]:
        """Return the names of the workers by their addresses."""
        if anew or not self._workers or time.monotonic() - self._asked > _FRESH_S:
            if self._client.scheduler is None:
                raise _closed()
            # By default it tells of five workers.
            identity = self._client.scheduler.identity(n_workers=-1)
            try:
                found = self._run(identity).result(_CONNECT_S)["workers"]
            except OSError as error:  # a TimeoutError is one
                raise OperationalError(
                    f"the scheduler of the cluster does not answer: {error or 'it is silent'}"
                ) from error
            self._workers = {each: str(found[each]["name"]) for each in sorted(found)}
            self._asked = time.monotonic()
            self._lines.keep(self._workers)
        return self._workers

    def call(self, questions: Mapping[str, bytes]) -> dict[str, Future[bytes]]:
        """Ask workers; a future fails with OSError where its worker is lost."""
        return {worker: self._lines.ask(worker, each) for worker, each in questions.items()}

    def _connect(self, worker: str) -> socket.socket:
        from distributed.comm.addressing import get_address_host  # noqa: PLC0415  (an extra)

        place = self._run(self._client.rpc(worker).raydb_line()).result(_CONNECT_S)
        return connect_line(get_address_host(worker), place, self._keys)

    def _ask(self, worker: str, question: bytes, answer: Future[bytes]) -> None:
        """Ask by Dask's connection, which others reach where ports are closed."""
        self._run(self._answered(worker, question, answer))

    async def _answered(self, worker: str, question: bytes, answer: Future[bytes]) -> None:
        try:
            answer.set_result(await self._client.rpc(worker).raydb_call(question=question))
        except asyncio.CancelledError:
            answer.set_exception(ConnectionAbortedError("the client has been closed"))
            raise
        except Exception as error:  # noqa: BLE001  (whoever waits for the answer raises it)
            answer.set_exception(error)

    def lose(self, answer: Future[bytes]) -> None:
        """Let an answer fail whose worker does not know of the call; only lines lose some."""
        self._lines.lose(answer)

    def end(self, worker: str, call: str) -> None:
        """Tell a worker that nobody waits for a call."""
        self._run(self._client.rpc(worker).raydb_end(call=call))

    def about(self, worker: str) -> Future[bytes]:
        """Ask a worker about itself."""
        return self._run(self._client.rpc(worker).raydb_about())

    def train(self, worker: str, part: str, question: bytes, patience: float) -> Future[bytes]:
        """Ask a worker about a part of a training, see `raydb.engine.gnn.worker`.

        The future fails with OSError, too, where it gives no sign of life for so many seconds.
        """
        return self._run(self._trained(worker, part, question, patience))

    async def _trained(self, worker: str, part: str, question: bytes, patience: float) -> bytes:
        rpc = self._client.rpc(worker)
        answer = asyncio.ensure_future(rpc.raydb_train(part=part, question=question))
        try:
            while not answer.done():
                await asyncio.wait({answer}, timeout=min(_QUIET_S, patience / 2))
                if not answer.done():
                    await asyncio.wait_for(rpc.raydb_about(), patience)
            found: bytes = answer.result()
        except TimeoutError:
            raise OSError(f"{worker} has given no sign of life for {patience:g} s") from None
        finally:
            answer.cancel()
        return found

    def close(self) -> None:
        """Leave the workers."""
        self._lines.close()
        self._ends()

    def _run(self, request: Coroutine[Any, Any, Any]) -> Future[Any]:
        try:
            return asyncio.run_coroutine_threadsafe(request, self._loop)
        except RuntimeError as error:  # Its loop has ended.
            request.close()
            raise _closed() from error


def _closed() -> OperationalError:
    return OperationalError("the dask Client of the connection is closed; connect with another one")


def connect_engine(cluster: object, *, allow_insecure: bool = False) -> DaskEngine:
    """Return the engine that `raydb.connect(.., cluster=..)` asks for.

    Raises OperationalError where it cannot be reached, ProgrammingError for what is no cluster.
    """
    try:
        import distributed  # noqa: PLC0415  (an extra, which takes 0.3 s)
    except ImportError:
        raise NotSupportedError(
            "a cluster needs dask and distributed: pip install 'raydb[cluster]'"
        ) from None
    if isinstance(cluster, distributed.Client):
        return DaskEngine(cluster, lambda: None)
    if not isinstance(cluster, str):
        raise ProgrammingError(
            f"cluster is 'local', the address of a scheduler or a dask Client, not {cluster!r}"
        )
    if cluster == "local":
        from raydb.engine.cluster.local_workers import LocalWorkers  # noqa: PLC0415  (needs dask)

        local = LocalWorkers()
        try:
            engine = DaskEngine(local.client, local.close, is_local=True)
            _tell_of_compiling(engine)
        except BaseException:
            local.close()
            raise
        return engine
    check_address(cluster, allow_insecure=allow_insecure)
    _check_keys(cluster)
    try:
        client = distributed.Client(cluster, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise OperationalError(f"the cluster '{cluster}' cannot be reached: {error}") from error
    try:
        return DaskEngine(client, client.close)
    except BaseException:
        client.close()
        raise


def _tell_of_compiling(engine: DaskEngine) -> None:
    """Let the log tell, once a connection, that loops are compiled."""
    asked = [engine.about(each) for each in engine.workers()]
    done, _ = wait(asked, _QUIET_S)
    states = [json.loads(each.result())["state"] for each in done if each.exception() is None]
    if "compiling" in states:
        logging.getLogger("raydb").warning(
            "the workers of cluster='local' have no compiled loops yet; these are compiled now,"
            " once on this machine, and for about half a minute queries are answered slower;"
            " 'raydb compile' does it ahead"
        )


def check_address(address: str, *, allow_insecure: bool) -> None:
    """Raise for the address of a scheduler that is none, or that anybody on the way could be."""
    kind, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    host = host.strip("[]")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) < 2**16
    if kind not in ("tls", "tcp") or not (host and is_port):
        raise ProgrammingError(
            f"cluster is 'local', 'tls://host:port' or a dask Client, not '{address}'"
        )
    if kind == "tcp" and not (allow_insecure or _is_this_machine(host)):
        raise OperationalError(
            f"the cluster '{address}' is reached without TLS, and whoever can speak to a scheduler"
            " can run programs; use tls://, or say cluster_insecure=True where the network is yours"
        )


def _check_keys(address: str) -> None:
    """Raise OperationalError where dask's configuration has no keys for an address with TLS."""
    if not address.startswith("tls://"):
        return
    import distributed  # noqa: PLC0415  (an extra)

    try:
        keys = distributed.Security().get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:
        raise OperationalError(
            f"the keys of dask's configuration (distributed.comm.tls) cannot be read: {error}"
        ) from error
    if keys is None:
        raise OperationalError(
            f"the cluster '{address}' is reached by TLS, and dask's configuration has no keys: set"
            " distributed.comm.tls.ca-file, .client.cert and .client.key, or give a dask Client"
        )


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
