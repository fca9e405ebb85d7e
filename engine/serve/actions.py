"""The actions of Flight SQL: prepared statements, transactions, cancelling, and the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyarrow import flight

from raydb.engine.serve.catalog import quoted
from raydb.engine.serve.messages import Message, pack, unpack, write
from raydb.engine.serve.statements import prepare
from raydb.errors import Error, ProgrammingError
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.api.connection import Connection
    from raydb.engine.serve.clients import Client, Clients

# How an action that ends a transaction says so.
_COMMIT, _ROLLBACK = 1, 2
# How work was cancelled, and a session closed.
_CANCELLED, _NOT_CANCELLABLE, _CLOSED = 1, 3, 1
# An option of a session that could not be set.
_NOT_SET = 3


@dataclass(frozen=True, slots=True)
class Demand:
    """Who wants an action, and the message that says more."""

    clients: Clients
    client: Client
    body: bytes


@dataclass(frozen=True, slots=True)
class Action:
    """What an action does, in words and as a function, which may return an answer."""

    meaning: str
    run: Callable[[Demand], bytes | None]


def _create_prepared_statement(demand: Demand) -> bytes:
    _, message = unpack(demand.body)
    transaction = message.data(2)
    with demand.client.lent(transaction) as connection:
        statement = prepare(connection, message.text(1), transaction)
    handle = demand.client.new_handle()
    demand.client.prepared[handle] = statement
    answer: dict[int, bytes] = {1: handle}
    if statement.schema.names:
        answer[2] = statement.schema.serialize().to_pybytes()
    if statement.names:
        answer[3] = statement.parameters.serialize().to_pybytes()
    return pack("ActionCreatePreparedStatementResult", answer)


def _close_prepared_statement(demand: Demand) -> None:
    _, message = unpack(demand.body)
    demand.client.prepared.pop(message.data(1), None)


def _begin_transaction(demand: Demand) -> bytes:
    return pack("ActionBeginTransactionResult", {1: demand.client.begin()})


def _end_transaction(demand: Demand) -> None:
    _, message = unpack(demand.body)
    how = message.number(2)
    if how not in (_COMMIT, _ROLLBACK):
        raise ProgrammingError("a transaction ends by COMMIT or ROLLBACK")
    demand.client.end(message.data(1), commit=how == _COMMIT)


def _cancel_query(demand: Demand) -> bytes:
    _, message = unpack(demand.body)
    return pack("ActionCancelQueryResult", {1: _cancel(demand.clients, message.data(1))})


def _cancel_flight_info(demand: Demand) -> bytes:
    return write({1: _cancel(demand.clients, Message(demand.body).data(1))})


def _cancel(clients: Clients, info: bytes) -> int:
    """End the work for the results that a FlightInfo tells of."""
    for endpoint in flight.FlightInfo.deserialize(info).endpoints:
        name, message = unpack(endpoint.ticket.ticket)
        if name == "TicketStatementQuery" and clients.cancel(message.data(1)):
            return _CANCELLED
    return _NOT_CANCELLABLE


def _close_session(demand: Demand) -> bytes:
    demand.clients.close(demand.client)
    return write({1: _CLOSED})


def _set_session_options(demand: Demand) -> bytes:
    """Choose a catalog or a schema, as USE does; any other name is a setting, as SET has it."""
    wrong = []
    connection = demand.client.connection
    for entry in Message(demand.body).messages(1):
        name, value = entry.text(1), _option(entry.message(2))
        try:
            if name == "catalog":
                connection.execute(f"USE {quoted(str(value))}")
            elif name == "schema":
                catalog, _ = _place(connection)
                connection.execute(f"USE {quoted(catalog)}.{quoted(str(value))}")
            else:
                connection._configure({name: value})  # noqa: SLF001
        except Error:
            wrong.append(write({1: name, 2: write({1: _NOT_SET})}))
    return write({1: wrong})


def _get_session_options(demand: Demand) -> bytes:
    """Return the catalog and the schema that names are looked for in."""
    place = zip(("catalog", "schema"), _place(demand.client.connection), strict=True)
    return write({1: [write({1: name, 2: write({1: value})}) for name, value in place]})


def _place(connection: Connection) -> tuple[str, str]:
    row = connection.execute("SELECT current_database(), current_schema()").fetchone()
    assert row is not None
    return row[0], row[1]


def _option(value: Message) -> object:
    """Return the value of an option: a text, a truth, an integer, a double or a list of texts."""
    if value.has(2):
        return bool(value.number(2))
    if value.has(3):
        return int.from_bytes(value.data(3), "little", signed=True)
    if value.has(4):
        return value.double(4)
    if value.has(5):
        return ", ".join(value.message(5).texts(1))
    return value.text(1)


ACTIONS = {
    "CreatePreparedStatement": Action("prepare a statement", _create_prepared_statement),
    "ClosePreparedStatement": Action("forget a prepared statement", _close_prepared_statement),
    "BeginTransaction": Action("begin a transaction", _begin_transaction),
    "EndTransaction": Action("commit or undo a transaction", _end_transaction),
    "CancelQuery": Action("cancel a query", _cancel_query),
    "CancelFlightInfo": Action("cancel a query", _cancel_flight_info),
    "CloseSession": Action("undo what is not committed, and forget the client", _close_session),
    "SetSessionOptions": Action("set the catalog, the schema or a setting", _set_session_options),
    "GetSessionOptions": Action("return the catalog and the schema", _get_session_options),
}
