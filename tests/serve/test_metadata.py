"""What clients ask of databases, tables, keys and the server, by ADBC and by Flight alone."""

import pyarrow as pa
import pytest
from pyarrow import flight

from raydb.engine.serve.facts import FACTS
from raydb.engine.serve.messages import Message, pack, unpack, write

SCHEMA = """
    CREATE SCHEMA s;
    CREATE TABLE shop (city VARCHAR, street VARCHAR, id INTEGER UNIQUE, PRIMARY KEY (city, street));
    CREATE TABLE sale (
        at TIMESTAMP, city VARCHAR, street VARCHAR, amount DECIMAL(10, 2) NOT NULL,
        shop_id INTEGER REFERENCES shop (id) ON DELETE CASCADE,
        FOREIGN KEY (city, street) REFERENCES shop (city, street) ON DELETE NO ACTION);
    CREATE TABLE s.other (n INTEGER GENERATED ALWAYS AS IDENTITY, x DOUBLE);
    CREATE VIEW large AS SELECT * FROM sale WHERE amount > 100;
"""


@pytest.fixture
def ask(base, serve):
    """Return a function that asks with a command, and returns the rows."""
    base.execute(SCHEMA)
    client = flight.connect(f"grpc://127.0.0.1:{serve(base).port}")

    def asked(name, fields=None):
        descriptor = flight.FlightDescriptor.for_command(pack(name, fields or {}))
        info = client.get_flight_info(descriptor)
        rows = client.do_get(info.endpoints[0].ticket).read_all()
        assert rows.schema == info.schema == client.get_schema(descriptor).schema
        return rows

    yield asked
    client.close()


def test_catalogs_schemas_and_types(ask):
    assert ask("CommandGetCatalogs").to_pylist() == [{"catalog_name": "raydb"}]
    names = ask("CommandGetDbSchemas")["db_schema_name"].to_pylist()
    assert names == ["information_schema", "main", "s"]
    assert ask("CommandGetDbSchemas", {1: "none"}).num_rows == 0
    assert ask("CommandGetDbSchemas", {2: "m_i%"})["db_schema_name"].to_pylist() == ["main"]
    assert "VIEW" in ask("CommandGetTableTypes")["table_type"].to_pylist()


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, ["large", "sale", "shop", "other"]),
        ({1: "raydb", 2: "main"}, ["large", "sale", "shop"]),
        ({1: ""}, []),
        ({3: "s%"}, ["sale", "shop"]),
        ({3: "s_l_"}, ["sale"]),
        ({3: r"s\_l_"}, []),
        ({4: [b"VIEW"]}, ["large"]),
        ({4: [b"TABLE", b"VIEW"], 2: "s"}, ["other"]),
    ],
)
def test_tables(ask, fields, names):
    assert ask("CommandGetTables", fields)["table_name"].to_pylist() == names


def test_tables_with_their_columns(ask):
    rows = ask("CommandGetTables", {5: True})
    found = {
        row["table_name"]: pa.ipc.read_schema(pa.py_buffer(row["table_schema"]))
        for row in rows.to_pylist()
    }
    sale = found["sale"]
    assert sale.names == ["at", "city", "street", "amount", "shop_id"]
    assert sale.field("amount").type == pa.decimal128(10, 2)
    assert not sale.field("amount").nullable
    assert sale.field("at").nullable
    told = sale.field("amount").metadata
    assert told[b"ARROW:FLIGHT:SQL:TYPE_NAME"] == b"DECIMAL(10,2)"
    assert told[b"ARROW:FLIGHT:SQL:PRECISION"] == b"10"
    assert told[b"ARROW:FLIGHT:SQL:SCALE"] == b"2"
    assert found["other"].field("n").metadata[b"ARROW:FLIGHT:SQL:IS_AUTO_INCREMENT"] == b"1"
    assert found["large"].names == sale.names


def test_primary_keys(ask):
    rows = ask("CommandGetPrimaryKeys", {3: "shop"}).to_pylist()
    assert [(row["column_name"], row["key_sequence"]) for row in rows] == [
        ("city", 1),
        ("street", 2),
    ]
    assert ask("CommandGetPrimaryKeys", {3: "sale"}).num_rows == 0


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("CommandGetImportedKeys", {3: "sale"}),
        ("CommandGetExportedKeys", {3: "shop"}),
        ("CommandGetCrossReference", {3: "shop", 6: "sale"}),
    ],
)
def test_foreign_keys(ask, name, fields):
    rows = ask(name, fields).to_pylist()
    columns = ("pk_column_name", "fk_column_name", "key_sequence", "update_rule", "delete_rule")
    assert sorted(tuple(row[column] for column in columns) for row in rows) == [
        ("city", "city", 1, 3, 3),
        ("id", "shop_id", 1, 3, 0),
        ("street", "street", 2, 3, 3),
    ]
    assert {row["pk_table_name"] for row in rows} == {"shop"}
    assert {row["fk_table_name"] for row in rows} == {"sale"}


def test_foreign_keys_of_other_tables_are_none(ask):
    assert ask("CommandGetImportedKeys", {3: "shop"}).num_rows == 0
    assert ask("CommandGetExportedKeys", {3: "sale"}).num_rows == 0
    assert ask("CommandGetCrossReference", {3: "sale", 6: "shop"}).num_rows == 0


def test_facts(ask):
    rows = ask("CommandGetSqlInfo", {1: 0}).to_pylist()
    assert rows == [{"info_name": 0, "value": "RayDB"}]
    everything = ask("CommandGetSqlInfo")
    assert everything.num_rows == len(set(everything["info_name"].to_pylist())) > 70
    # Packed, as protobuf writes repeated numbers.
    assert ask("CommandGetSqlInfo", {1: b"\x03\x08\xe3\x07"}).to_pylist() == [
        {"info_name": 3, "value": False},
        {"info_name": 8, "value": 1},
    ]


def test_types(ask):
    rows = ask("CommandGetXdbcTypeInfo")
    keys = list(zip(rows["data_type"].to_pylist(), rows["type_name"].to_pylist(), strict=True))
    assert keys == sorted(keys)
    names = ask("CommandGetXdbcTypeInfo", {1: 12})["type_name"].to_pylist()
    assert names == ["UUID", "VARCHAR"]


def test_each_type_is_one_of_sql(base):
    for name in FACTS["CommandGetXdbcTypeInfo"].rows(base, Message(b""))["type_name"].to_pylist():
        base.execute(f"SELECT NULL::{name}")


def test_adbc_knows_the_database(base, connect):
    base.execute(SCHEMA)
    connection = connect()
    assert connection.adbc_get_info()["vendor_name"] == "RayDB"
    assert connection.adbc_current_catalog == "raydb"
    assert connection.adbc_current_db_schema == "main"
    connection.adbc_current_db_schema = "s"
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO other (x) VALUES (0.5)")
        assert cursor.execute("FROM s.other").fetchall() == [(1, 0.5)]
    schema = connection.adbc_get_table_schema("sale", db_schema_filter="main")
    assert schema.field("amount").type == pa.decimal128(10, 2)
    (catalog,) = connection.adbc_get_objects(catalog_filter="raydb").read_all().to_pylist()
    tables = {
        table["table_name"]
        for schema in catalog["catalog_db_schemas"]
        for table in schema["db_schema_tables"]
    }
    assert tables == {"shop", "sale", "other", "large"}


def test_messages_are_read_as_they_were_written():
    fields = {1: "é" * 200, 2: -1, 3: 2**63 - 1, 4: b"\0\xff", 5: True, 6: [b"a", b"b"], 7: 0.5}
    message = Message(write(fields))
    assert message.text(1) == fields[1]
    assert (message.number(2), message.number(3), message.number(5)) == (-1, 2**63 - 1, 1)
    assert (message.data(4), message.texts(6), message.double(7)) == (b"\0\xff", ["a", "b"], 0.5)
    assert message.optional_text(8) is None
    assert (message.text(8), message.number(8), message.numbers(8)) == ("", 0, [])
    assert unpack(pack("CommandGetTables", {3: "x"}))[1].text(3) == "x"
