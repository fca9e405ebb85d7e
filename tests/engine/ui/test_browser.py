"""The page in Chromium: each view, the keyboard alone, both themes, accessibility.

They need the package playwright and a Chromium of the system's; without one of them they are
skipped, and say so. RAYDB_SCREENSHOTS names a folder for pictures of the page.
"""

import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest

import raydb

pytestmark = pytest.mark.long

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]
AXE = Path(__file__).parents[3] / "engine/ui/page/node_modules/axe-core/axe.min.js"
SCHEMA = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR NOT NULL, country VARCHAR NOT NULL);
CREATE TABLE article (id INTEGER PRIMARY KEY, kind VARCHAR NOT NULL);
CREATE TABLE sale (
    day DATE NOT NULL,
    shop INTEGER NOT NULL REFERENCES shop (id),
    article INTEGER NOT NULL REFERENCES article (id),
    amount DECIMAL(10, 2) NOT NULL,
    discount DOUBLE);
INSERT INTO shop VALUES (1, 'Oslo', 'Norway'), (2, 'Bergen', 'Norway'), (3, 'Lyon', 'France'),
    (4, 'Kyoto', 'Japan');
INSERT INTO article VALUES (1, 'tea'), (2, 'bread'), (3, 'cheese');
INSERT INTO sale SELECT DATE '2026-01-01' + (i % 180)::INTEGER, 1 + i % 4, 1 + (i // 7) % 3,
    (i * 7919 % 10007) / 100 + 20 * sin(i % 180 / 20.0), CASE WHEN i % 5 > 0 THEN i % 13 / 13.0 END
    FROM range(60000) t(i);
"""


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def con():
    with raydb.connect() as connection:
        connection.execute(SCHEMA)
        yield connection


@pytest.fixture
def open_page(browser, ui):
    """Return a function that opens the page; what a browser complains of fails the test."""
    contexts, complaints = [], []

    def opened(**options):
        options = {"viewport": {"width": 1280, "height": 800}, **options}
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        page.goto(ui.url)
        expect(page.locator("html[data-ready]")).to_have_count(1)
        return page

    yield opened
    for context in contexts:
        context.close()
    # When a text replaces a coloured one, Chromium styles it, and then refuses its own style.
    expected = r"Applying inline style|status of (400|410|403)|ERR_(CONNECTION|INCOMPLETE|EMPTY)"
    assert not [text for text in complaints if not re.search(expected, text)]


@pytest.fixture
def page(open_page):
    return open_page()


def write(page, text):
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def run(page, text):
    """Run a text and wait for its end."""
    write(page, text)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status")).to_have_text(
        re.compile(r"rows?( written)?, [\d.]+ m?s|^Done|^Failed|^Cancelled"), timeout=30_000
    )


def status(page):
    return page.locator(".status").inner_text()


def picture(page, name):
    folder = os.environ.get("RAYDB_SCREENSHOTS")
    if folder:
        time.sleep(0.3)
        page.mouse.move(0, 0)
        page.screenshot(path=str(Path(folder, f"{name}.png")))


def cell(page, row, column):
    line = page.locator(f'.line[data-row="{row}"]')
    return line.locator(f'.cell[data-column="{column}"]')


def faults_of(page):
    """Return the serious findings of axe."""
    if not AXE.exists():
        pytest.skip("axe-core is missing: npm ci in engine/ui/page")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        (each["id"], each["help"], [node["target"] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


# -- Ask


def test_a_query(page):
    run(page, "SELECT city, country, NULL AS nothing FROM shop ORDER BY id")
    assert status(page).startswith("4 rows, ")
    expect(cell(page, 0, 0)).to_have_text("Oslo")
    expect(cell(page, 3, 1)).to_have_text("Japan")
    expect(cell(page, 0, 2)).to_have_class(re.compile("null"))
    expect(page.locator("aside summary").first).to_contain_text("article")


def test_wrong_sql_is_marked_at_its_place(page):
    run(page, "SELECT city FROM shop;\nSELECT amuont FROM sale")
    expect(page.locator(".error")).to_have_text(
        "column 'amuont' does not exist in 'sale'; did you mean 'amount'?"
    )
    expect(page.locator(".cm-lintRange-error")).to_have_text("amuont")
    write(page, "SELECT 1")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)


def test_what_is_selected_runs(page):
    write(page, "SELECT 1 AS one;\nSELECT nothing AS two")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+End")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status")).to_contain_text("1 row, ")
    expect(cell(page, 0, 0)).to_have_text("1")


def test_completion(page):
    write(page, "")
    page.keyboard.type("SELECT city FROM sh")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("shop")
    time.sleep(0.2)  # The editor takes no key for a choice that nobody can have seen.
    page.keyboard.press("Enter")
    expect(page.locator(".cm-content")).to_have_text("SELECT city FROM shop")


def test_cancel(page):
    write(
        page,
        "SELECT count(*) FROM range(100_000) a, range(1_000_000) b WHERE a.range * b.range = 7",
    )
    page.keyboard.press("Control+Enter")
    page.click("button:text-is('Cancel')")
    expect(page.locator(".status")).to_have_text("Cancelled")
    run(page, "SELECT 1")
    assert status(page).startswith("1 row, ")


def test_progress(page):
    write(
        page,
        "CREATE TABLE large AS SELECT i, i % 97 AS j FROM range(20_000_000) t(i);"
        "CREATE BVH b ON large (SCAN (j), AGGREGATE (i))",
    )
    page.keyboard.press("Control+Enter")
    expect(page.locator("progress")).to_be_visible()
    expect(page.locator(".status")).to_contain_text("Done", timeout=60_000)
    expect(page.locator("progress")).to_be_hidden()


def test_tabs_are_kept_across_reloads(page):
    write(page, "SELECT 'first'")
    page.click("[aria-label='New query']")
    write(page, "SELECT 'second'")
    page.reload()
    expect(page.locator("html[data-ready]")).to_have_count(1)
    expect(page.locator(".cm-content")).to_have_text("SELECT 'second'")
    page.click(".tab button:text-is('Query 1')")
    expect(page.locator(".cm-content")).to_have_text("SELECT 'first'")
    page.click("[aria-label='Close Query 1']")
    expect(page.locator(".cm-content")).to_have_text("SELECT 'second'")
    run(page, "SELECT 3")
    page.click("text=History")
    expect(page.locator("dialog li").first).to_have_text("SELECT 3")


def test_ten_million_rows_are_scrolled(page):
    run(page, "SELECT i, i * 2 AS twice, 'row ' || i AS name FROM range(10_000_000) t(i)")
    assert status(page).startswith("10,000,000 rows, ")
    page.focus(".grid")
    for _ in range(3):
        page.keyboard.press("PageDown")
    page.keyboard.press("Control+End")
    expect(page.locator('.line[data-row="9999999"]')).to_contain_text("row 9999999")
    page.locator(".grid").evaluate("each => { each.scrollTop = each.scrollHeight / 2; }")
    middle = page.locator(".line").first
    expect(middle).to_contain_text("row 5")
    before = int(middle.get_attribute("data-row"))
    page.mouse.move(600, 600)
    page.mouse.wheel(0, 26 * 7)
    expect(page.locator(f'.line[data-row="{before + 8}"]')).to_contain_text(f"row {before + 8}")
    assert abs(int(page.locator(".line").first.get_attribute("data-row")) - before - 7) <= 1
    assert page.locator(".line").count() < 60
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapUsedSize"] < 200e6


def test_pictures_vectors_and_long_texts(page):
    png = (
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
        "789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
    )
    run(page, f"SELECT unhex('{png}') AS p, [1.5, -2, 3]::FLOAT[3] AS v, repeat('long ', 300) AS t")
    expect(cell(page, 0, 0).locator("img")).to_have_count(1)
    expect(cell(page, 0, 1)).to_have_text("[1.5, -2.0, 3.0]")
    cell(page, 0, 1).dblclick()
    expect(page.locator("dialog svg rect")).to_have_count(3)
    page.keyboard.press("Escape")
    cell(page, 0, 2).click()
    page.keyboard.press("Enter")
    assert len(page.locator("dialog pre").inner_text()) >= 1499


def test_copy_and_download(open_page, tmp_path):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    run(page, "SELECT id, city FROM shop ORDER BY id")
    cell(page, 0, 0).click()
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Control+c")
    expect(page.locator(".status")).to_have_text("2 rows copied")
    write(page, "")
    page.keyboard.press("Control+v")
    expect(page.locator(".cm-content")).to_contain_text("1\tOslo")
    with page.expect_download() as started:
        page.click("text=CSV")
    started.value.save_as(tmp_path / "got.csv")
    assert (tmp_path / "got.csv").read_text("utf-8").splitlines()[:2] == ["id,city", "1,Oslo"]


def test_the_keyboard_alone(page):
    page.keyboard.insert_text("SELECT city FROM shop ORDER BY id")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status")).to_contain_text("4 rows")
    page.keyboard.press("Escape")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.locator(".grid:focus").count():
            break
    expect(page.locator(".grid")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("dialog pre")).to_have_text("Bergen")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


def test_hostile_names_and_values_are_text(page):
    hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    name = '"' + hostile.replace('"', '""') + '"'
    run(page, f"CREATE TABLE {name} ({name} VARCHAR); INSERT INTO {name} VALUES ('{hostile}')")
    run(page, f"SELECT * FROM {name}")
    expect(cell(page, 0, 0)).to_have_text(hostile)
    expect(page.locator("aside")).to_contain_text(hostile)
    run(page, f'SELECT {name[:-1]}x" FROM {name}')
    expect(page.locator(".error")).to_contain_text(hostile)
    assert page.locator("img, main script").count() == 0
    assert "RayDB" in page.title()


def test_the_server_ends(page, ui):
    run(page, "SELECT 1")
    ui.close()
    expect(page.locator("#notice")).to_contain_text("The server has ended.")


def test_a_tab_that_is_killed_ends_its_query(open_page):
    page = open_page()
    write(
        page,
        "SELECT count(*) FROM range(100_000) a, range(9_000_000) b WHERE a.range * b.range = 7",
    )
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status")).to_have_text("Running …")
    page.close()
    end = time.monotonic() + 15
    while any(thread.name == "raydb-ui-run" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_two_windows_at_once(open_page):
    first, second = open_page(), open_page()
    run(first, "BEGIN; INSERT INTO shop VALUES (5, 'Rome', 'Italy'); SELECT count(*) FROM shop")
    expect(cell(first, 0, 0)).to_have_text("5")
    run(second, "SELECT count(*) FROM shop")
    expect(cell(second, 0, 0)).to_have_text("4")


def test_without_the_token(browser, ui):
    page = browser.new_page()
    page.goto(ui.url.partition("#")[0])
    expect(page.locator("#notice")).to_contain_text("The token is missing or wrong")
    page.close()


# -- Look


def show(page, name):
    page.click(f"[role=tab]:text-is('{name}')")


def test_charts_are_chosen_from_types(page):
    run(
        page,
        "SELECT day, city, sum(amount) AS amount, count(*) AS sales FROM sale JOIN shop ON shop ="
        " shop.id GROUP BY day, city ORDER BY day",
    )
    show(page, "Chart")
    expect(page.locator(".chart canvas")).to_have_count(1)
    kind = page.locator(".look select").first
    assert kind.input_value() == "line"
    expect(page.locator(".u-legend")).to_contain_text("Kyoto")
    picture(page, "chart-line")
    for name in ("bar", "scatter", "histogram"):
        kind.select_option(name)
        expect(page.locator(".look [role=status]")).not_to_have_text("Reading …")
        expect(page.locator(".chart canvas")).to_have_count(1)
        picture(page, f"chart-{name}")
    kind.select_option("heat")
    page.locator(".look select").nth(2).select_option("city")
    expect(page.locator(".heat rect").nth(50)).to_be_attached()
    picture(page, "chart-heat")
    assert not faults_of(page)
    kind.select_option("line")
    page.locator(".look select").nth(1).select_option("city")
    expect(page.locator(".look [role=status]")).to_contain_text("bars suit it")


def test_a_summary_of_columns(page):
    run(page, "SELECT day, city, amount, discount FROM sale JOIN shop ON shop = shop.id")
    show(page, "Summary")
    expect(page.locator(".card")).to_have_count(4)
    expect(page.locator("[aria-label=discount] dl")).to_contain_text("20.00 %")
    expect(page.locator("[aria-label=city] .top li")).to_have_count(4)
    expect(page.locator("[aria-label=amount] rect").first).to_be_visible()
    expect(page.locator("[aria-label=discount] rect").first).to_be_attached()
    picture(page, "summary")
    assert not faults_of(page)
    show(page, "Rows")
    page.locator("[role=columnheader]").nth(3).click()
    expect(page.locator("[aria-label=discount] h3")).to_be_in_viewport()


def test_a_summary_of_nested_values_and_of_columns_of_one_name(page):
    run(page, "SELECT [1, 2] AS a, {'b': 1} AS A, INTERVAL 1 DAY AS a FROM range(3)")
    show(page, "Summary")
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".card .top li")).to_have_count(3)
    expect(page.locator(".bad")).to_have_count(0)
    show(page, "Chart")
    expect(page.locator(".bad")).to_have_count(0)


# -- Understand


def test_a_plan_with_its_picture(page, con):
    con.execute(
        "CREATE BVH sales ON sale (SCAN (shop.country, day), GROUP BY (shop.city),"
        " AGGREGATE (amount))"
    )
    query = (
        "SELECT city, sum(amount) AS amount FROM sale JOIN shop ON shop = shop.id"
        " WHERE country = 'Norway' AND day < DATE '2026-03-01' GROUP BY city"
    )
    run(page, query)
    assert status(page).endswith("· new")
    run(page, query)
    assert status(page).endswith("· repeated")
    run(page, query.replace("Norway", "France"))
    run(page, query.replace("Norway", "Japan"))
    assert status(page).endswith("· new constants")
    show(page, "Plan")
    expect(page.locator(".tree")).to_contain_text("FusedScanAggregate")
    expect(page.locator(".tree")).to_contain_text("the only BVH on 'sale'")
    expect(page.locator(".facts")).to_contain_text("with other constants")
    expect(page.locator(".drawn canvas[data-points]")).to_have_count(1)
    page.click("text=Run and measure")
    expect(page.locator(".tree")).to_contain_text("row in ")
    page.click("text=Compare with and without BVHs")
    expect(page.locator("caption")).to_have_text("Times of the whole query")
    expect(page.locator(".plan td").nth(1)).to_have_text("fused")
    assert not faults_of(page)
    page.locator(".editor").evaluate("each => { each.style.height = '90px'; }")
    page.set_viewport_size({"width": 1150, "height": 960})
    picture(page, "plan")
    page.click("#theme")
    picture(page, "plan-dark")


def test_a_plan_of_a_general_query(page):
    run(page, "SELECT city FROM shop LIMIT 2")
    show(page, "Plan")
    expect(page.locator(".tree")).to_contain_text("ScanTable")
    expect(page.locator(".facts")).to_contain_text("as they come")
    expect(page.locator(".drawn canvas")).to_have_count(0)


# -- Data


def test_a_file_is_imported(page, tmp_path, con):
    lines = "".join(f"{i},2026-01-{1 + i % 28:02},{i / 4}\n" for i in range(5000))
    (tmp_path / "My Sales.csv").write_text("number,day,price\n" + lines, "utf-8")
    page.click("nav >> text=Data")
    page.set_input_files("#file", tmp_path / "My Sales.csv")
    expect(page.locator("caption").first).to_have_text("What is found in the file")
    assert page.locator("[aria-label='Type of day']").input_value() == "DATE"
    page.locator("[aria-label='Type of price']").select_option("DECIMAL(18, 2)")
    page.locator("[aria-label='Name of column 1']").fill("id")
    picture(page, "import")
    assert not faults_of(page)
    page.click("button:text-is('Import')")
    expect(page.locator(".data [role=status]")).to_contain_text("are in 'my_sales'")
    found = con.execute("SELECT count(*), sum(id), max(price) FROM my_sales").fetchone()
    assert (found[0], found[1], str(found[2])) == (5000, 12497500, "1249.75")
    page.set_input_files("#file", tmp_path / "My Sales.csv")
    page.locator("[aria-label='Name of column 1']").fill("id")
    page.click("button:text-is('Import')")
    expect(page.locator(".data [role=status]")).to_contain_text("5,000 rows of My Sales.csv")
    assert con.execute("SELECT count(*) FROM my_sales").fetchone() == (10000,)


def test_a_bad_file_is_one_sentence(page, tmp_path):
    page.click("nav >> text=Data")
    (tmp_path / "x.parquet").write_text("no parquet", "utf-8")
    page.set_input_files("#file", tmp_path / "x.parquet")
    expect(page.locator(".data .bad")).to_contain_text("file 'x.parquet'")
    name = "<img src=x onerror=alert(1)>.exe"
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": b"x"})
    expect(page.locator(".data .bad")).to_contain_text(name)
    assert page.locator("main img").count() == 0


def test_tables_keys_and_the_star(page):
    page.click("nav >> text=Data")
    expect(page.locator(".star g[transform]")).to_have_count(3)
    expect(page.locator(".star .arrow")).to_have_count(2)
    page.click(".entry summary:has-text('sale')")
    expect(page.locator(".entry[open]")).to_contain_text("refers to shop (id)")
    picture(page, "data")
    assert not faults_of(page)
    page.click(".entry[open] >> text=Show rows")
    expect(page.locator(".status")).to_contain_text("1,000 rows")


# -- Tune


def test_the_advisor_and_what_there_is(page, con):
    con.execute(
        "CREATE TABLE docs (id INTEGER PRIMARY KEY, v FLOAT[4]);"
        "INSERT INTO docs SELECT i, [sin(i), cos(i), sin(2 * i), i % 7]::FLOAT[4]"
        " FROM range(3000) t(i);"
        "CREATE INDEX docs_v ON docs USING ivf (v) WITH (lists = 20);"
        "CREATE TABLE asked AS SELECT [sin(i + 0.5), cos(i), 0, i % 7]::FLOAT[4] AS v"
        " FROM range(300) t(i);"
        "CREATE INDEX by_city ON shop (city)"
    )
    con.execute(
        "CALIBRATE INDEX docs_v USING (SELECT v FROM asked) WITH (fnr = '0.1', k = '10', seed = 1)"
    )
    run(
        page,
        "SELECT city, sum(amount) FROM sale JOIN shop ON shop = shop.id"
        " WHERE country = 'Norway' AND day < DATE '2026-02-01' GROUP BY city",
    )
    page.click("nav >> text=Tune")
    expect(page.locator(".data")).to_contain_text("There is none yet.")
    expect(page.locator(".data")).to_contain_text("docs_v")
    expect(page.locator(".data")).to_contain_text("by_city")
    expect(page.locator(".data")).to_contain_text("evidence of drift")
    page.click("text=Ask the advisor")
    expect(page.locator(".card")).to_contain_text("CREATE BVH sale_1")
    picture(page, "tune")
    assert not faults_of(page)
    page.click("text=Create it")
    expect(page.locator("caption").first).to_have_text("BVHs of this database")
    expect(page.locator(".card")).to_have_count(0)
    con.execute("INSERT INTO sale VALUES ('2026-01-01', 1, 1, 5, NULL)")
    page.click("nav >> text=Data")
    page.click("nav >> text=Tune")
    expect(page.locator(".data")).to_contain_text("1 newer row")
    picture(page, "tune-bvh")
    page.click("text=Merge what is newer")
    expect(page.locator(".data")).to_contain_text("up to date")
    page.click("[aria-label='Drop sale_1']")
    expect(page.locator(".data")).to_contain_text("There is none yet.")


# -- the pictures of table functions


def test_instances_of_a_motif(page, con):
    con.execute(
        "CREATE TABLE pays (a VARCHAR, b VARCHAR, t TIMESTAMP);"
        "INSERT INTO pays VALUES ('ann', 'bob', '2026-03-02 09:00'),"
        " ('bob', 'cem', '2026-03-02 11:30'), ('cem', 'ann', '2026-03-03 08:00')"
    )
    run(
        page,
        "SELECT * FROM motif_list(pays, src => 'a', dst => 'b', time => 't',"
        " motif => 'a->b, b->c, c->a', delta => INTERVAL 1 DAY)",
    )
    show(page, "Picture")
    expect(page.locator("figure")).to_have_count(1)
    expect(page.locator("figure .edge-of")).to_have_count(3)
    expect(page.locator("figure")).to_contain_text("b: bob")
    picture(page, "motif")
    assert not faults_of(page)


def test_states_of_a_series(page, con):
    con.execute(
        "CREATE TABLE sensor AS SELECT TIMESTAMP '2026-01-01' + range * INTERVAL 1 MINUTE AS ts,"
        " CASE WHEN range < 300 OR range BETWEEN 600 AND 1100 THEN sin(range * 0.9)"
        " WHEN range < 600 THEN sign(sin(range * 0.314159)) ELSE range % 20 / 10.0 - 1 END"
        " + 0.1 * sin(range * range) AS x FROM range(1400)"
    )
    run(page, "SELECT * FROM detect_states(sensor, time => 'ts', window => 40)")
    show(page, "Picture")
    expect(page.locator(".states-of")).to_contain_text("segments in 3 states")
    expect(page.locator(".bands rect").nth(3)).to_be_visible()
    picture(page, "states")
    assert not faults_of(page)


def test_neighbours_of_a_vector(page, con):
    con.execute(
        "CREATE TABLE docs (text VARCHAR, v FLOAT[2]);"
        "INSERT INTO docs VALUES ('a cat', [1, 2]), ('a dog', [2, 2]), ('a car', [8, 1])"
    )
    run(page, "SELECT * FROM vector_search(docs, v, [2, 2], k => 3)")
    show(page, "Picture")
    expect(page.locator(".neighbours li")).to_have_count(3)
    expect(page.locator(".neighbours li").first).to_contain_text("a dog")
    picture(page, "neighbours")
    assert not faults_of(page)


# -- themes and accessibility


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_themes(open_page, theme):
    page = open_page(color_scheme=theme)
    assert page.locator("html").get_attribute("data-theme") == theme
    run(
        page,
        "-- sales by city\nSELECT day, city, sum(amount) AS amount\n"
        "FROM sale JOIN shop ON shop = shop.id\n"
        "WHERE country = 'Norway' GROUP BY day, city ORDER BY day",
    )
    page.locator("aside summary").nth(1).click()
    picture(page, f"ask-{theme}")
    assert not faults_of(page)
    page.click("#theme")
    assert page.locator("html").get_attribute("data-theme") != theme
    page.reload()
    assert page.locator("html").get_attribute("data-theme") != theme
