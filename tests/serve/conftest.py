"""A server in this process on a free port, and ADBC's connections to it."""

import adbc_driver_flightsql.dbapi as adbc
import pytest

import raydb
from raydb.engine.serve.server import FlightSqlServer


@pytest.fixture
def serve():
    """Return a function that serves a connection's database, and returns the server."""
    servers = []

    def start(base, location="grpc://127.0.0.1:0", **options):
        servers.append(FlightSqlServer(base, location, **options))
        return servers[-1]

    yield start
    for server in servers:
        assert server.close()


@pytest.fixture
def base():
    """Return a connection to a database in memory, which is served."""
    with raydb.connect(external_access=False) as connection:
        yield connection


@pytest.fixture
def connect(base, serve):
    """Return a function that connects to the server of `base`; it commits by itself."""
    server = serve(base)
    opened = []

    def connected(**options):
        uri = f"grpc://127.0.0.1:{server.port}"
        opened.append(adbc.connect(uri, **{"autocommit": True, **options}))
        return opened[-1]

    yield connected
    for connection in opened:
        connection.close()


@pytest.fixture
def cursor(connect):
    """Return a cursor of a connection that commits by itself."""
    with connect().cursor() as cursor:
        yield cursor
