"""The server: which command of Flight SQL is answered by what.

GetFlightInfo   a query begins, any other text runs; the answer says where the rows are fetched
DoGet           the rows, as they are computed
DoPut           updates, parameters of prepared statements, rows to ingest
DoAction        prepared statements, transactions, cancelling, the session
GetSchema       the columns of what would be answered
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import flight

from raydb.engine.serve import actions
from raydb.engine.serve.catalog import CATALOG
from raydb.engine.serve.clients import COOKIE, Clients, batches, hearing
from raydb.engine.serve.facts import FACTS
from raydb.engine.serve.failures import telling
from raydb.engine.serve.ingest import ingest
from raydb.engine.serve.messages import Message, pack, unpack, write
from raydb.engine.serve.statements import prepare
from raydb.engine.serve.tokens import GATE, Gate, Handshake
from raydb.errors import NotSupportedError
from raydb.storage.nested import leaf_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.engine.api.connection import Connection
    from raydb.engine.serve.clients import Call, Client
    from raydb.engine.serve.statements import Result

# What a client may ask of the server and of its databases: a schema, and a function of the
# connection and the message that returns the rows.
_ASKED = {**CATALOG, **FACTS}

# How long the end waits for clients that fetch rows.
_STOP_S = 5.0


class FlightSqlServer(flight.FlightServerBase):
    """A Flight SQL server over a database; it serves from its construction to `close`.

    base: a connection to the database, which stays the caller's. location: such as
    "grpc://127.0.0.1:31337", "grpc+tls://..." with certificates; port 0 is any that is free.
    certificates: pairs of a certificate and its key in PEM. idle_s: how long a client may be idle.
    """

    def __init__(
        self,
        base: Connection,
        location: str,
        *,
        tokens: Sequence[str] = (),
        certificates: Sequence[tuple[bytes, bytes]] = (),
        idle_s: float = 1800.0,
    ) -> None:
        self._clients = Clients(base, idle_s)
        super().__init__(
            location,
            auth_handler=Handshake(),
            tls_certificates=list(certificates) or None,
            middleware={GATE: Gate(tokens)},
        )

    def close(self) -> bool:
        """Refuse new statements, end those that run, undo what is not committed, and stop.

        Return whether all requests have ended; one does not whose client reads no further.
        """
        self._clients.close_all()
        stopping = threading.Thread(target=self.shutdown, daemon=True)
        stopping.start()
        stopping.join(_STOP_S)
        return not stopping.is_alive()

    # -- the requests of Flight -----------------------------------------------------------------

    def get_flight_info(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.FlightInfo:
        """Begin a query, or run another text, and say where the rows are fetched."""
        with self._request(context) as (client, call):
            name, message = unpack(descriptor.command)
            if name in _ASKED:
                schema = _ASKED[name].schema(message)
                return _info(schema, descriptor, descriptor.command, -1)
            result = self._run(name, message, client, call)
            if not result.schema.names and result.row_count != -1:
                return flight.FlightInfo(result.schema, descriptor, [], result.row_count, -1)
            handle = client.keep(result, call)
            ticket = pack("TicketStatementQuery", {1: handle})
            return _info(result.schema, descriptor, ticket, result.row_count)

    def get_schema(
        self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor
    ) -> flight.SchemaResult:
        """Return the columns of what would be answered; nothing runs."""
        with self._request(context) as (client, _):
            name, message = unpack(descriptor.command)
            if name in _ASKED:
                return flight.SchemaResult(_ASKED[name].schema(message))
            if name == "CommandPreparedStatementQuery":
                return flight.SchemaResult(client.statement(message.data(1)).schema)
            if name != "CommandStatementQuery":
                raise NotSupportedError(f"the schema of {name} is not known")
            with client.lent(message.data(2)) as connection:
                return flight.SchemaResult(prepare(connection, message.text(1), b"").schema)

    def do_get(
        self, context: flight.ServerCallContext, ticket: flight.Ticket
    ) -> flight.FlightDataStream:
        """Return the rows of a result, as they are computed, or those of what is asked."""
        with self._request(context) as (client, _):
            name, message = unpack(ticket.ticket)
            if name in _ASKED:
                rows = _ASKED[name].rows(client.connection, message)
                return flight.RecordBatchStream(rows)
            if name != "TicketStatementQuery":
                raise NotSupportedError(f"{name} is no ticket of this server")
            handle = message.data(1)
            pending = self._clients.find(handle).fetch(handle)
            schema, rows = pending.result.schema, self._rows(pending.result, pending.call, context)
            leaves = chain.from_iterable(map(leaf_types, schema.types))
            if any(map(pa.types.is_dictionary, leaves)):  # A GeneratorStream sends none.
                return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(schema, rows))
            return flight.GeneratorStream(schema, rows)

    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        """Run an update, bind parameters, or write rows into a table."""
        with self._request(context) as (client, call):
            name, message = unpack(descriptor.command)
            match name:
                case "CommandStatementUpdate":
                    result = client.run(message.text(1), None, message.data(2), call)
                case "CommandPreparedStatementUpdate":
                    statement = client.statement(message.data(1))
                    sets = statement.bind(reader.read_all()) if statement.names else None
                    result = client.execute(statement, sets, call)
                case "CommandPreparedStatementQuery":
                    statement = client.statement(message.data(1))
                    statement.sets = statement.bind(reader.read_all())
                    writer.write(pa.py_buffer(write({1: message.data(1)})))
                    return
                case "CommandStatementIngest":
                    # ADBC names no transaction here, and means the one that it has begun.
                    own = message.data(6) or client.transaction
                    with client.lent(own) as connection, hearing(connection, call):
                        row_count = ingest(connection, message, reader)
                    writer.write(pa.py_buffer(write({1: row_count})))
                    return
                case _:
                    raise NotSupportedError(f"{name} is not supported")
            writer.write(pa.py_buffer(write({1: result.row_count})))

    def do_action(
        self, context: flight.ServerCallContext, action: flight.Action
    ) -> Iterator[flight.Result]:
        """Do what no rows belong to."""
        with self._request(context) as (client, _):
            if action.type not in actions.ACTIONS:
                raise NotSupportedError(f"the action {action.type} is not supported")
            body = action.body.to_pybytes()
            demand = actions.Demand(self._clients, client, body)
            answer = actions.ACTIONS[action.type].run(demand)
        return iter(() if answer is None else (flight.Result(pa.py_buffer(answer)),))

    def list_actions(self, context: flight.ServerCallContext) -> list[tuple[str, str]]:
        """Return the actions and what they do."""
        return [(name, action.meaning) for name, action in actions.ACTIONS.items()]

    def list_flights(
        self, context: flight.ServerCallContext, criteria: bytes
    ) -> Iterator[flight.FlightInfo]:
        """Return nothing: what there is to fetch is asked by commands."""
        return iter(())

    # -- what they have in common ---------------------------------------------------------------

    @contextmanager
    def _request(self, context: flight.ServerCallContext) -> Iterator[tuple[Client, Call]]:
        """Yield who asks, and what works for it; errors are told as Flight's."""
        middleware = context.get_middleware(GATE)
        cookie = None if middleware is None else middleware.cookies.get(COOKIE)
        with telling(context), self._clients.request(context, cookie) as found:
            yield found

    def _run(self, name: str, message: Message, client: Client, call: Call) -> Result:
        match name:
            case "CommandStatementQuery":
                return client.run(message.text(1), None, message.data(2), call)
            case "CommandPreparedStatementQuery":
                statement = client.statement(message.data(1))
                return client.execute(statement, statement.sets, call)
            case _:
                raise NotSupportedError(f"{name} is not supported")

    def _rows(
        self, result: Result, call: Call, context: flight.ServerCallContext
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a result while the request lives that fetches them."""
        with telling(context), self._clients.waiting(call, context):
            yield from batches(result, call)


def _info(
    schema: pa.Schema, descriptor: flight.FlightDescriptor, ticket: bytes, row_count: int
) -> flight.FlightInfo:
    """Return that the rows are fetched in one piece, where they were asked for."""
    endpoint = flight.FlightEndpoint(ticket, [])
    return flight.FlightInfo(schema, descriptor, [endpoint], row_count, -1)
