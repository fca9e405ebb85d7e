"""EXPLAIN (FORMAT HTML): the page, its picture, and both in a browser."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import raydb
from raydb.engine.fused.picture import COUNTED, MAX_SLABS, READ, UNREAD

QUERY = """
    SELECT city, sum(amount) AS total FROM sale JOIN shop ON shop = id
    WHERE day < 3 GROUP BY city ORDER BY city
"""


@pytest.fixture(scope="module")
def con():
    con = raydb.connect()
    con.execute("""
        CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR, name VARCHAR);
        INSERT INTO shop VALUES (0, 'Oslo', 'a'), (1, 'Bonn', 'b'), (2, 'Rome', '</script><b>');
        CREATE TABLE sale (day INTEGER, shop INTEGER NOT NULL REFERENCES shop (id), amount INTEGER);
        INSERT INTO sale SELECT i % 10, i % 3, i FROM generate_series(0, 9999) AS s(i);
        CREATE BVH sales ON sale (SCAN (day), GROUP BY (city, name), AGGREGATE (amount))
    """)
    return con


def page(con, query=QUERY, options="FORMAT HTML"):
    ((text,),) = con.execute(f"EXPLAIN ({options}) {query}").fetchall()
    return text


def pictures(text):
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL
    )
    return json.loads(data)


class Reader(HTMLParser):
    """Checks that tags close in order, and collects what is outside of scripts and styles."""

    EMPTY = ("meta", "br", "rect")

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tags, self.policies = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)
        self.tags.append(tag)
        for name, value in attrs:
            assert name not in ("src", "href", "style"), "the page needs nothing else"
            assert not name.startswith("on"), "no attribute runs a script"
            if (name, value) == ("http-equiv", "Content-Security-Policy"):
                self.policies.append(dict(attrs)["content"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style") and data.strip():
            self.texts.append(data.strip())


def test_the_page_has_the_plan_and_its_reasons(con):
    texts = Reader(page(con)).texts
    assert "FusedScanAggregate" in texts
    assert "sum(amount) by city" in texts
    assert "SortRows" in texts
    assert "the only BVH" in " ".join(texts)
    assert "3,000 of 10,000 (30 %)" in texts


def test_analyze_adds_times(con):
    texts = Reader(page(con, options="ANALYZE, FORMAT HTML")).texts
    assert any(re.fullmatch(r"\d+\.\d{3} ms", text) for text in texts)


def test_every_point_says_what_becomes_of_its_row(con):
    (picture,) = pictures(page(con))
    assert picture["cell_count"] == 10
    assert picture["slabs"] == [[0, 3]]
    assert picture["slab_count"] == 1
    assert [axis["title"] for axis in picture["axes"]] == ["amount", "group (city)", "cell"]
    states = {}
    for x, y, cell, state in picture["points"]:
        assert 0 <= x <= 1
        assert 0 <= y <= 1
        states.setdefault(state, set()).add(cell)
    assert states == {UNREAD: set(range(3, 10)), COUNTED: {0, 1, 2}}


def test_rows_that_a_code_leaves_out_are_told_apart(con):
    query = "SELECT sum(amount) FROM sale JOIN shop ON shop = id WHERE day = 1 AND city = 'Oslo'"
    (picture,) = pictures(page(con, query))
    assert {state for *_, cell, state in picture["points"] if cell == 1} == {READ, COUNTED}
    assert {state for *_, cell, state in picture["points"] if cell != 1} == {UNREAD}


def test_the_picture_is_the_same_each_time(con):
    assert page(con) == page(con)


def test_markup_in_the_data_stays_text(con):
    query = "SELECT count(*) FROM sale JOIN shop ON shop = id WHERE name = '</script><b>'"
    text = page(con, query)
    assert text.count("</script>") == 2
    Reader(text)


# What would run, or load something, if it were more than text.
HOSTILE = [
    "</script><script>document.title = 'run'</script>",
    "{{pictures}}",
    "{{plan}}{{summary}}{{policy}}",
    "<img src=x onerror=\"document.title = 'run'\">",
    "\"><svg onload='document.title = 1'>",
    "<!--<script>",
    "]]>&lt;b&gt; \u2028 \\u003cb>",
    "javascript:alert(1)",
]


def hostile_page(text):
    """Return a page with a text in the names of tables, columns and BVHs, and in constants."""
    con = raydb.connect()
    name, value = text.replace('"', '""'), text.replace("'", "''")
    con.execute(f"""
        CREATE TABLE "{name}" ("{name} k" INTEGER PRIMARY KEY, "{name} c" VARCHAR);
        INSERT INTO "{name}" VALUES (0, '{value}'), (1, '{value} and more'), (2, 'z');
        CREATE TABLE fact (day INTEGER, "{name}" INTEGER REFERENCES "{name}", x INTEGER);
        INSERT INTO fact SELECT i % 7, i % 3, i FROM range(0, 200) AS r (i);
        CREATE BVH "{name}" ON fact (SCAN ("{name} c", day), GROUP BY ("{name} c"), AGGREGATE (x));
        CREATE VIEW "{name} v" AS SELECT "{name} c" AS "{name} d", day, x
            FROM fact JOIN "{name}" ON fact."{name}" = "{name} k" WHERE "{name} c" <> '{value} no'
    """)
    query = f"""
        SELECT "{name} d" AS "{name}", sum(x) AS "{name} s", '{value}' AS y /* {value} */
        FROM "{name} v" WHERE "{name} d" >= '{value}' GROUP BY 1 -- {value}
    """
    return page(con, query, "ANALYZE, FORMAT HTML")


@functools.cache
def own_tags():
    return Reader(hostile_page("plain")).tags


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_constants_stay_text(text):
    found = hostile_page(text)
    reader = Reader(found)
    assert reader.tags == own_tags(), "no name and no constant adds an element"
    assert text in " ".join(reader.texts)
    assert any(text in axis["title"] for picture in pictures(found) for axis in picture["axes"])


def test_the_policy_allows_the_own_script_and_style_alone():
    text = hostile_page("</script><script>")
    (policy,) = Reader(text).policies
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (source,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_many_intervals_are_merged():
    con = raydb.connect()
    con.execute("""
        CREATE TABLE t (a INTEGER, x INTEGER);
        INSERT INTO t SELECT i, i FROM generate_series(0, 4999) AS s(i);
        CREATE BVH b ON t (SCAN (a), AGGREGATE (x))
    """)
    (picture,) = pictures(page(con, "SELECT sum(x) FROM t WHERE a % 10 = 3"))
    assert picture["slab_count"] == 500
    assert len(picture["slabs"]) == MAX_SLABS
    assert all(
        any(low <= cell < high for low, high in picture["slabs"])
        for *_, cell, state in picture["points"]
        if state != UNREAD
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT city FROM shop",
        "SELECT count(*) FROM sale WHERE day > 100",
        "SELECT a.day FROM sale a JOIN sale b ON a.day = b.amount LIMIT 3",
    ],
)
def test_any_query_has_a_page(con, query):
    Reader(page(con, query))


def test_an_unknown_format(con):
    with pytest.raises(raydb.ProgrammingError, match="the formats TEXT, JSON and HTML, not PDF"):
        con.execute(f"EXPLAIN (FORMAT PDF) {QUERY}")


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")


def shown(text, tmp_path):
    """Return the page as a browser has it after its scripts; it must not complain."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    path = tmp_path / "plan.html"
    path.write_text(text, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += ["--dump-dom", path.as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in found.stderr, found.stderr
    assert 'data-ready="yes"' in found.stdout
    return found.stdout


def test_a_browser_shows_it_without_an_error(con, tmp_path):
    text = shown(page(con, options="ANALYZE, FORMAT HTML"), tmp_path)
    assert re.search(r'<canvas[^>]* data-points="[1-9]', text)


def test_a_browser_runs_nothing_of_what_names_say(tmp_path):
    text = shown(hostile_page(" ".join(HOSTILE)), tmp_path)
    assert "<title>Plan</title>" in text
    assert re.search(r'<canvas[^>]* data-points="[1-9]', text)


def test_a_browser_obeys_the_policy(tmp_path):
    text = page(raydb.connect(), "SELECT 1").replace(
        "<h1>", "<script>document.title = 1</script><h1>"
    )
    with pytest.raises(AssertionError, match="Content Security Policy"):
        shown(text, tmp_path)
