"""Files behind URLs: the same answers as local ones, in few requests, and what bad ones say."""

from __future__ import annotations

import http.server
import itertools
import re
import sys
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb
import raydb.flatstor
from raydb.storage.objects import store as stores
from raydb.storage.objects.store import open_store

ROWS = (
    "(SELECT i::INTEGER AS id, 'name ' || i AS name, i * 1.5 AS price, i % 3 AS kind "
    "FROM range(1000) AS t (i))"
)
FORMATS = ["csv", "tsv", "tbl", "jsonl", "parquet", "flat", "arrow", "arrows", "csv.gz", "json.zst"]


@pytest.fixture
def con():
    with raydb.connect() as connection:
        yield connection


@pytest.fixture
def put(bucket):
    """Return a function that makes an object, and returns its URL."""

    def make(name, data):
        store, key = open_store(f"s3://{bucket}/{name}")
        store.put(key, data)
        return f"s3://{bucket}/{name}"

    return make


def answer(con, text):
    return con.execute(text).fetchall()


def asked(server):
    """Return the requests since the last call: method and key."""
    found = [(each.method, each.path.split("/", 2)[-1]) for each in server.log]
    server.log.clear()
    return found


@pytest.mark.parametrize("ending", [*FORMATS, "xlsx"])
def test_formats_are_written_and_read_as_local_ones(con, bucket, tmp_path, store_server, ending):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    local, url = tmp_path / f"x.{ending}", f"s3://{bucket}/a b/x.{ending}"
    if ending != "tbl":
        con.execute(f"COPY {ROWS} TO '{local}'")
        con.execute(f"COPY {ROWS} TO '{url}'")
        assert [each for each in asked(store_server) if each[0] != "PUT"] == []
    else:
        lines = "".join(f"{i}|name {i}|{i * 1.5}|{i % 3}|\n" for i in range(1000))
        local.write_text(lines)
        store, key = open_store(url)
        store.put(key, lines.encode())
    store_server.log.clear()
    if ending != "tbl":
        query = "SELECT count(*), sum(id), min(name), sum(price), sum(kind) FROM "
        assert answer(con, f"{query} '{url}'") == answer(con, f"{query} '{local}'")
        assert [method for method, _ in asked(store_server)] == ["GET"]
    con.execute("CREATE TABLE t (id INTEGER, name VARCHAR, price DOUBLE, kind INTEGER)")
    con.execute(f"COPY t FROM '{url}'")
    assert answer(con, "SELECT count(*), sum(id) FROM t") == [(1000, 499500)]
    assert [method for method, _ in asked(store_server)] == ["GET"]


def test_parquet_brings_what_is_asked_for(con, put, store_server, tmp_path):
    numbers = pa.array(range(400_000))
    texts = pa.array([f"{i * 7919 % 1_000_003:>20}" for i in range(400_000)])
    pq.write_table(
        pa.table({"n": numbers, "s": texts}), tmp_path / "x.parquet", row_group_size=50_000
    )
    url = put("x.parquet", (tmp_path / "x.parquet").read_bytes())
    before = stores.TOTAL.trips, stores.TOTAL.received
    store_server.log.clear()
    assert answer(con, f"SELECT n FROM '{url}' WHERE n = 123456") == [(123456,)]
    trips, received = stores.TOTAL.trips - before[0], stores.TOTAL.received - before[1]
    assert (trips, len(store_server.log)) == (2, 2)
    assert received < (tmp_path / "x.parquet").stat().st_size / 8
    for query in ("sum(n), max(s)", "count(*)", "count(DISTINCT s)"):
        local = f"SELECT {query} FROM '{tmp_path}/x.parquet'"
        assert answer(con, local.replace(str(tmp_path), url[: -len("/x.parquet")])) == answer(
            con, local
        )


def test_a_row_of_a_file_takes_one_trip_more(con, put, bucket, store_server, tmp_path):
    """However many columns it has."""
    count = 400_000
    rows = pa.table(
        {
            "n": pa.array(range(count)),
            "m": pa.array([i * 7919 % 1_000_003 for i in range(count)]),
            "s": pa.array([f"{i * 7919 % 1_000_003:>20}" for i in range(count)]),
        }
    )
    pq.write_table(rows, tmp_path / "x.parquet", row_group_size=50_000)
    parquet = put("x.parquet", (tmp_path / "x.parquet").read_bytes())
    flat = f"s3://{bucket}/x.flat"
    raydb.flatstor.write_table(rows, flat)
    expected = [tuple(row.values()) for row in rows.slice(123_456, 1).to_pylist()]
    for url in (parquet, flat):
        before = stores.TOTAL.trips
        assert answer(con, f"SELECT n, m, s FROM '{url}' WHERE n = 123456") == expected
        assert stores.TOTAL.trips - before == 2
    before = stores.TOTAL.trips
    with raydb.flatstor.open_table(flat) as table:
        assert stores.TOTAL.trips - before == 1
        assert [tuple(row.values()) for row in table.take([123_456]).to_pylist()] == expected
    assert stores.TOTAL.trips - before == 2


def test_the_beginning_of_a_large_text_is_enough(con, put, store_server, tmp_path):
    lines = [f"{i},{'x' * 30},{i * 1.5}\n" for i in range(300_000)]
    data = b"id,name,price\n" + "".join(lines).encode()
    local = tmp_path / "x.csv"
    local.write_bytes(data)
    url = put("x.csv", data)
    before = stores.TOTAL.received
    for query in ("FROM '{}' LIMIT 3", "SELECT Columns FROM sniff_csv('{}')"):
        assert answer(con, query.format(url)) == answer(con, query.format(local))
    assert stores.TOTAL.received - before < 6 << 20 < len(data)
    query = "SELECT count(*), sum(id), sum(price), max(name) FROM '{}'"
    assert answer(con, query.format(url)) == answer(con, query.format(local))
    skipped = "SELECT count(*) FROM read_csv('{}', skip => 100000)"
    assert answer(con, skipped.format(url)) == answer(con, skipped.format(local))


def test_patterns_and_folders(con, put, bucket, store_server):
    for year, city in itertools.product((2025, 2026), ("Oslo", "Lyon")):
        put(f"s/year={year}/city={city}/a.csv", f"x\n{year}\n".encode())
    put("s/[odd].csv", b"x\n5\n")
    store_server.log.clear()
    root = f"s3://{bucket}/s"
    assert answer(con, f"SELECT year, city, x FROM '{root}/*/*/*.csv' ORDER BY ALL") == [
        (2025, "Lyon", 2025),
        (2025, "Oslo", 2025),
        (2026, "Lyon", 2026),
        (2026, "Oslo", 2026),
    ]
    assert [method for method, _ in asked(store_server)] == ["GET"] * 5
    assert answer(con, f"SELECT count(*) FROM '{root}/**/*.csv'") == [(5,)]
    assert answer(con, f"FROM glob('{root}/year=202[5]/*=O*/?.csv')") == [
        (f"{root}/year=2025/city=Oslo/a.csv",)
    ]
    assert answer(con, f"FROM glob('{root}/year=202[!5]/**')")[0] == (
        f"{root}/year=2026/city=Lyon/a.csv",
    )
    assert answer(con, f"FROM glob('{root}/*.csv')") == [(f"{root}/[odd].csv",)]
    assert answer(con, f"FROM '{root}/[odd].csv'") == [(5,)]
    assert answer(con, f"FROM glob('{root}/none*')") == []
    with pytest.raises(raydb.OperationalError, match=r"no file matches 's3://.*/none\*\.csv'"):
        con.execute(f"FROM '{root}/none*.csv'")
    listed = f"['{root}/year=2025/city=Oslo/a.csv', '{root}/year=2026/city=Oslo/a.csv']"
    assert answer(con, f"SELECT sum(x) FROM read_csv({listed})") == [(4051,)]


def test_partitions_are_written(con, bucket, store_server):
    url = f"s3://{bucket}/out"
    copy = f"COPY {ROWS} TO '{url}' (FORMAT parquet, PARTITION_BY kind"
    con.execute(f"{copy})")
    assert answer(con, f"FROM glob('{url}/**')") == [
        (f"{url}/kind={kind}/data_0.parquet",) for kind in range(3)
    ]
    assert answer(con, f"SELECT sum(id) FROM '{url}/**' WHERE kind = 1") == [(166167,)]
    with pytest.raises(raydb.OperationalError, match=r"directory 's3://.*/out' is not empty"):
        con.execute(f"{copy})")
    con.execute(f"{copy}, OVERWRITE, FILENAME_PATTERN 'other')")
    assert len(answer(con, f"FROM glob('{url}/**')")) == 3
    assert len(answer(con, f"FROM glob('{url}/**/other.parquet')")) == 3


def test_an_error_leaves_nothing(con, bucket, store_server):
    for options in ("", " (FORMAT json, PARTITION_BY k)"):
        with pytest.raises(raydb.DataError, match="NaN"):
            con.execute(
                "COPY (SELECT 1.5::DOUBLE AS x, 1 AS k UNION ALL SELECT 'nan'::DOUBLE, 2) TO"
                f" 's3://{bucket}/bad.json'{options}"
            )
    assert answer(con, f"FROM glob('s3://{bucket}/**')") == []
    with pytest.raises(raydb.OperationalError, match=r"'s3://.*/x/' is a directory"):
        con.execute(f"COPY {ROWS} TO 's3://{bucket}/x/' (FORMAT csv)")
    url = "s3://no-bucket-of-this-name/x.csv"
    with pytest.raises(raydb.OperationalError, match=f"'{url}' cannot be written: no such bucket"):
        con.execute(f"COPY {ROWS} TO '{url}'")


def test_large_objects_come_in_parts(con, bucket, store_server, monkeypatch):
    monkeypatch.setattr(stores, "_PART_BYTES", 5 << 20)
    url = f"s3://{bucket}/large.csv"
    rows = "SELECT i AS id, repeat('x', 200) AS s FROM range(80000) AS t (i)"
    con.execute(f"COPY ({rows}) TO '{url}'")
    assert [method for method, _ in asked(store_server)].count("PUT") == 4
    assert answer(con, f"SELECT count(*), sum(id), max(s) = repeat('x', 200) FROM '{url}'") == [
        (80000, 3199960000, True)
    ]


def test_contents_of_objects(con, put, tmp_path):
    text = put("a.txt", b"hello")
    assert answer(con, f"SELECT filename, content, size FROM read_text('{text}')") == [
        (text, "hello", 5)
    ]
    assert answer(con, f"SELECT content, last_modified IS NULL FROM read_blob('{text}')") == [
        (b"hello", False)
    ]
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "x.parquet")
    url = put("x.parquet", (tmp_path / "x.parquet").read_bytes())
    for function in ("parquet_metadata", "parquet_schema", "parquet_file_metadata"):
        local = con.execute(f"FROM {function}('{tmp_path}/x.parquet')").fetchall()
        assert [row[1:] for row in answer(con, f"FROM {function}('{url}')")] == [
            row[1:] for row in local
        ]
    assert answer(con, f"SELECT HasHeader FROM sniff_csv('{put('a.csv', b'n;m')}')")


def test_what_is_missing_or_bad_is_named(con, put, bucket):
    url = f"s3://{bucket}"
    for query, failure, text in (
        (f"FROM '{url}/none.csv'", raydb.OperationalError, f"file '{url}/none.csv' does not exist"),
        ("FROM 's3://no-bucket-of-this-name/x.csv'", raydb.OperationalError, "no such bucket"),
        (f"FROM '{put('e.csv', b'')}'", raydb.DataError, "e.csv' is empty"),
        (f"FROM '{put('e.parquet', b'')}'", raydb.DataError, "it is empty"),
        (f"FROM '{put('b.parquet', b'bad')}'", raydb.DataError, "b.parquet' is not a Parquet"),
        (f"FROM '{put('c.parquet', b'PAR1' * 40)}'", raydb.DataError, "c.parquet' is not a Par"),
        (f"FROM '{put('b.flat', b'bad')}'", raydb.OperationalError, "b.flat'"),
        (f"FROM '{put('b.arrow', b'bad')}'", raydb.DataError, "b.arrow'"),
        (f"FROM '{put('b.csv.gz', b'bad')}'", raydb.DataError, "b.csv.gz' is not a gzip file"),
        (f"FROM '{put('b.what', b'bad')}'", raydb.ProgrammingError, "unknown extension '.what'"),
        (f"ATTACH '{url}/x.sqlite' AS x (TYPE sqlite)", raydb.Error, "x.sqlite"),
        (f"EXPORT DATABASE '{url}/x'", raydb.NotSupportedError, "is not a local file"),
        ("FROM 'ftp://host/x.csv'", raydb.NotSupportedError, "ftp://host/x.csv"),
    ):
        with pytest.raises(failure, match=re.escape(text)):
            con.execute(query).fetchall()


def test_without_access_or_library(con, bucket, store_server, monkeypatch):
    store_server.log.clear()
    with raydb.connect(external_access=False) as closed:
        for query in (f"FROM 's3://{bucket}/x.csv'", f"COPY (SELECT 1) TO 's3://{bucket}/x.csv'"):
            with pytest.raises(raydb.OperationalError, match="external_access is off"):
                closed.execute(query)
    monkeypatch.setitem(sys.modules, "obstore", None)
    for query in ("FROM 's3://other/x.csv'", f"COPY {ROWS} TO 's3://other/x.csv'"):
        with pytest.raises(raydb.NotSupportedError, match=r"pip install 'raydb\[s3\]'"):
            con.execute(query)
    assert store_server.log == []


def test_an_object_that_is_replaced_meanwhile(con, put, tmp_path):
    rows = pa.table({"n": range(300_000)})
    pq.write_table(rows, tmp_path / "x.parquet", compression="none", use_dictionary=False)
    url = put("x.parquet", (tmp_path / "x.parquet").read_bytes())
    source = raydb.storage.formats.files.input_file.open_file(url)
    part = raydb.storage.formats.parquet.open_parquet(source)
    put("x.parquet", b"another")
    with pytest.raises(raydb.OperationalError, match=r"x\.parquet' cannot be read: it has changed"):
        part.columns(["n"])


def test_an_interrupt_ends_a_slow_read(con, put, store_server):
    url = put("x.csv", b"x\n1\n")
    store_server.delay_s = 5.0
    try:
        threading.Timer(0.3, con.interrupt).start()
        start = time.monotonic()
        with pytest.raises(raydb.OperationalError, match="interrupted"):
            con.execute(f"FROM '{url}'")
        assert time.monotonic() - start < 3
    finally:
        store_server.delay_s = 0.0


class Pages(http.server.BaseHTTPRequestHandler):
    """A web server, of which one knows ranges only where it is told to."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answer with an object, or some of it."""
        path, _, query = self.path.partition("?")
        content = self.server.contents.get(path)
        self.server.log.append((self.path, self.headers.get("Range")))
        if content is None or query != self.server.token:
            self.send_response(404 if content is None else 403)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        wanted = self.headers.get("Range") if self.server.has_ranges else None
        first, last = 0, len(content)
        if wanted:
            low, _, high = wanted.removeprefix("bytes=").partition("-")
            first = int(low) if low else max(len(content) - int(high), 0)
            last = min(int(high) + 1, len(content)) if low and high else len(content)
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last - 1}/{len(content)}")
        self.send_header("Content-Length", str(last - first))
        self.send_header("ETag", 'W/"1"')
        self.send_header("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")
        self.end_headers()
        self.wfile.write(content[first:last])

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture(params=[True, False])
def pages(request):
    """Return a web server, with ranges and without."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.contents, server.log, server.token, server.has_ranges = {}, [], "", request.param
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_web_servers_with_ranges_and_without(con, pages, tmp_path):
    pytest.importorskip("obstore")
    rows = pa.table({"n": range(300_000), "m": [str(i) for i in range(300_000)]})
    pq.write_table(rows, tmp_path / "x.parquet")
    pages.contents = {
        "/a%20b/x.parquet": (tmp_path / "x.parquet").read_bytes(),
        "/x.csv": b"n\n1\n",
    }
    pages.token = "token=hidden"
    url = f"{pages.url}/a%20b/x.parquet?token=hidden"
    assert answer(con, f"SELECT sum(n), max(m) FROM '{url}'") == [(44999850000, "99999")]
    assert len(pages.log) == (3 if pages.has_ranges else 2)
    assert answer(con, f"SELECT n FROM '{pages.url}/x.csv?token=hidden'") == [(1,)]
    for query, text in (
        (f"FROM '{pages.url}/none.csv?token=hidden'", "does not exist"),
        (f"FROM '{pages.url}/x.csv?token=wrong_hidden'", "access denied"),
        (f"FROM '{pages.url}/*.csv?token=hidden'", "does not list its files"),
        (f"FROM '{pages.url}/x.what?token=hidden'", "unknown extension"),
        ("FROM 'http://127.0.0.1:9/x.csv?token=hidden'", "refuses the connection"),
        (f"SELECT nothing FROM '{url}'", "nothing"),
    ):
        with pytest.raises(raydb.Error, match=text) as failure:
            con.execute(query)
        assert "hidden" not in str(failure.value)


def test_files_beside_an_object_are_brought_in_one_trip(con, put, tmp_path, store_server):
    (tmp_path / "img").mkdir()
    images = [bytes([number]) * 9000 for number in range(6)]
    names = [f"img/{number}.bin" for number in range(6)]
    for name, image in zip(names, images, strict=True):
        (tmp_path / name).write_bytes(image)
        put(name, image)
    rows = pa.table({"id": range(6), "image": [str(tmp_path / name) for name in names]})
    raydb.flatstor.write_table(rows, tmp_path / "x.flat", by_reference=["image"])
    url = put("x.flat", (tmp_path / "x.flat").read_bytes())
    assert answer(con, f"SELECT image FROM '{url}'") == [(image,) for image in images]
    with raydb.flatstor.open_table(url) as flat:
        flat.item(0, "id")
        asked(store_server)
        assert flat.item(4, "image") == images[4]
        assert asked(store_server) == [("GET", "img/4.bin")]
        put("img/3.bin", images[2])
        with pytest.raises(raydb.OperationalError, match="which has been changed since"):
            flat.item(3, "image")
        put("img/3.bin", images[2][:5000])
        with pytest.raises(raydb.OperationalError, match=r"img/3\.bin"):
            flat.item(3, "image")
    store, key = open_store(url.replace("x.flat", "img/3.bin"))
    store.delete([key])
    with pytest.raises(raydb.OperationalError, match=r"img/3\.bin' is missing"):
        con.execute(f"SELECT image FROM '{url}'")
    assert answer(con, f"SELECT sum(id) FROM '{url}'") == [(15,)]
