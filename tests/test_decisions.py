"""Records of decisions have one form, a number and a line in the index; links lead somewhere."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"
INDEX = DECISIONS / "README.md"
RECORDS = sorted(DECISIONS.glob("*/*.md"), key=lambda path: path.name)
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]

SECTIONS = ["Decision", "Because", "Turned down", "Measured"]
MAX_LINES = 40
MAX_COLUMNS = 120

NUMBERED = re.compile(r"\d{4}-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
STATUS = re.compile(
    r"Status: (?:accepted|"
    r"(?:superseded|amended) by \[(\d{4})\]\(\.\./[a-z]+/(\d{4})-[a-z0-9-]+\.md\))"
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MODULE = re.compile(r"`((?:engine|kernels|planner|sql|storage|ssb|tests|docs)/[^`\s]*)`")


def record_id(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("record", RECORDS, ids=record_id)
def test_record_has_the_form(record: Path) -> None:
    assert NUMBERED.fullmatch(record.name)
    text = record.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= MAX_COLUMNS
    title, nothing, status, *_ = lines
    assert re.fullmatch(rf"# {record.name[:4]}\. .*[^.]", title)
    assert not nothing
    found = STATUS.fullmatch(status)
    assert found
    assert found[1] == found[2]
    assert found[1] != record.name[:4]
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    heads = parts[::2]
    assert heads == [section for section in SECTIONS if section in heads]
    assert heads[0] == "Decision"
    assert all(part.strip() for part in parts[1::2])


def test_numbers_are_consecutive() -> None:
    numbers = [int(record.name[:4]) for record in RECORDS]
    assert numbers == list(range(1, len(RECORDS) + 1))


def test_index_lists_each_record_once() -> None:
    text = INDEX.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= MAX_COLUMNS
    listed = Counter(target for target in LINK.findall(text))
    assert listed == Counter(record.relative_to(DECISIONS).as_posix() for record in RECORDS)
    for line in re.split(r"\n(?=[-#])", text):
        if line.startswith("- "):
            (target,) = LINK.findall(line)
            title = (DECISIONS / target).read_text(encoding="utf-8").partition("\n")[0]
            shown = re.sub(r"^- \[(\d{4})\]\([^)]*\) ", r"# \1. ", " ".join(line.split()))
            assert shown == title


def anchors(page: Path) -> set[str]:
    """Return the names that the headings of a page can be linked by, as GitHub makes them."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    lost = []
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        name, _, anchor = target.partition("#")
        if "://" in name:
            continue
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            lost.append(target)
    lost += [path for path in MODULE.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
    assert not lost
