"""Records of decisions have one form, a number and a line in the index; links lead somewhere."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def faults_of(record: Path) -> list[str]:
    """Return what a record lacks of the form."""
    text = record.read_text(encoding="utf-8")
    lines = text.splitlines()
    title, nothing, status, *_ = [*lines, "", "", ""]
    found = STATUS.fullmatch(status)
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    heads = parts[::2]
    own = record.name[:4]
    held = {
        "name": NUMBERED.fullmatch(record.name),
        "lines": len(lines) <= MAX_LINES,
        "columns": all(len(line) <= MAX_COLUMNS for line in lines),
        "title": re.fullmatch(rf"# {own}\. .*[^.]", title) and not nothing,
        "status": found and found[1] == found[2] != own,
        "sections": heads[:1] == ["Decision"] and heads == [s for s in SECTIONS if s in heads],
        "text of each section": all(part.strip() for part in parts[1::2]),
    }
    return [rule for rule, holds in held.items() if not holds]


def test_records_have_the_form() -> None:
    found = {record.name: faults_of(record) for record in RECORDS}
    assert not {name: faults for name, faults in found.items() if faults}


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


@functools.cache
def anchors(page: Path) -> set[str]:
    """Return the names that the headings of a page can be linked by, as GitHub makes them."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def lost_links(page: Path) -> Iterator[str]:
    """Yield what a page links or names that is not there."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        name, _, anchor = target.partition("#")
        if "://" in name:
            continue
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target
    yield from (path for path in MODULE.findall(text) if not list(ROOT.glob(path.rstrip("/"))))


def test_links_lead_somewhere() -> None:
    lost = {page.relative_to(ROOT).as_posix(): list(lost_links(page)) for page in PAGES}
    assert not {page: targets for page, targets in lost.items() if targets}
