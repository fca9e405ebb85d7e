"""The page's files: the bundle of libraries, its versions and licences, and the modules."""

import gzip
import json
import re
from pathlib import Path

import raydb.engine.ui

PAGE = Path(raydb.engine.ui.__file__).parent / "page"
CHECKOUT = Path(__file__).parents[3] / "engine" / "ui" / "page"
MAX_LINES = 300


def test_the_bundle_is_small():
    files = [
        path for path in PAGE.rglob("*") if path.is_file() and "node_modules" not in path.parts
    ]
    served = [path for path in files if path.suffix in {".js", ".css", ".html", ".svg"}]
    assert sum(len(gzip.compress(path.read_bytes())) for path in served) <= 1_000_000


def test_the_bundle_is_of_the_versions_that_are_asked_for():
    asked = json.loads((CHECKOUT / "package.json").read_text("utf-8"))["dependencies"]
    locked = json.loads((CHECKOUT / "package-lock.json").read_text("utf-8"))["packages"]
    bundled = json.loads((PAGE / "vendor" / "versions.json").read_text("utf-8"))
    assert asked.items() <= bundled.items()
    assert {name: locked[f"node_modules/{name}"]["version"] for name in bundled} == bundled


def test_every_licence_is_there():
    bundled = json.loads((PAGE / "vendor" / "versions.json").read_text("utf-8"))
    licences = (PAGE / "vendor" / "LICENSES.txt").read_text("utf-8")
    for name, version in bundled.items():
        assert re.search(
            rf"^{re.escape(name)} {re.escape(version)}: (MIT|Apache-2.0|0BSD)$",
            licences,
            re.MULTILINE,
        )
    assert licences.count("Permission") >= 10


def test_modules_are_small_and_import_what_is_there():
    for path in PAGE.glob("*.js"):
        text = path.read_text("utf-8")
        assert text.startswith("// "), f"{path.name} says what it is for"
        assert text.count("\n") <= MAX_LINES, path.name
        for name in re.findall(r'from "(.+?)"', text):
            assert name.startswith("./"), (path.name, name)
            assert (PAGE / name).exists() or name == "./picture.js", (path.name, name)


def test_nothing_is_parsed_as_html_or_fetched_from_elsewhere():
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)"
    for path in [*PAGE.glob("*.js"), *PAGE.glob("*.html"), *PAGE.glob("*.css")]:
        assert not re.search(forbidden, path.read_text("utf-8")), path.name
