"""What docs/contributing.md promises: each of these is added in one place, here at run time."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from test_reference import PAGE, generated

import raydb
from raydb.engine.session import settings
from raydb.engine.shell.completion import SqlCompleter, Vocabulary, complete_sql
from raydb.engine.table_functions.choosing_function import ChoosingFunction
from raydb.planner.expressions.registry import FUNCTIONS, SCALARS
from raydb.planner.plan.function_arguments import COLUMN, Argument, whole
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, RowsFunction
from raydb.storage import formats
from raydb.storage.flat import inspect, open_table, write_table
from raydb.storage.flat.encodings import ENCODINGS, register
from raydb.storage.flat.encodings.encoding import Encoded, Encoding
from raydb.storage.flat.layout import Kind
from raydb.storage.formats.format import ANY, Format, Setting
from raydb.storage.formats.options import text_of
from raydb.storage.tables.parts import ArrowPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.storage.formats.files.input_file import InputFile

FAMILY = '''
"""Functions for the amusement of readers."""

from raydb.planner.expressions.columns.adapters import of_rows
from raydb.planner.expressions.registry import scalar


@scalar("shout(text [, n]), yell(text [, n]) -> VARCHAR", "loud: shout('ox', 2) -> 'OX!!'")
@of_rows
def _shout(text, count=1):
    return text.upper() + "!" * count
'''


def test_a_scalar_function_is_one_object_in_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "toys.py").write_text(FAMILY)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("toys")
    for known, name in ((SCALARS, "shout"), (SCALARS, "yell"), (FUNCTIONS, "shout")):
        request.addfinalizer(functools.partial(known.pop, name))
    with raydb.connect(":memory:") as connection:

        def run(statement: str) -> Any:
            return connection.execute(statement).fetchall()

        connection.execute("CREATE TABLE pet AS SELECT unnest(['dog', NULL, 'ox']) AS word")
        answer = "SELECT shout(word), yell(word, 2) FROM pet WHERE shout('a') = 'A!' ORDER BY word"
        assert run(answer) == [("DOG!", "DOG!!"), ("OX!", "OX!!"), (None, None)]
        assert run("SELECT kind FROM functions() WHERE name = 'yell'") == [("scalar",)]
        with pytest.raises(raydb.ProgrammingError, match="takes 1 or 2 arguments, not 0"):
            run("SELECT shout()")
        with pytest.raises(raydb.ProgrammingError, match="needs a string, not 1"):
            run("SELECT yell(1)")
        with pytest.raises(raydb.ProgrammingError, match="did you mean 'shout'"):
            run("SELECT shot('ox')")
    row = "| `shout(text [, n])`, `yell(text [, n])` | loud | `shout('ox', 2)` | `'OX!!'` |"
    assert row in generated(PAGE.read_text(encoding="utf-8"))


class Negated(Encoding):
    """The negative of each integer; texts backwards, each in eight bytes."""

    code, name, kinds = 200, "negated", frozenset({Kind.SIGNED, Kind.BYTES})
    choices = kinds

    def encode(self, values: Any, is_wanted: bool) -> Encoded | None:
        if not is_wanted:
            return None
        if values.numbers is not None:
            return Encoded(self, 64, payload=-values.numbers.astype("<i8"))
        texts = [text.encode()[::-1].rjust(8) for text in values.texts.to_pylist()]
        return Encoded(self, payload=b"".join(texts))

    def open(self, column: Any, entry: Any, sections: Any) -> tuple[Any, Any]:
        return None, None

    def read_values(self, chunk: Any, rows: Any, count: int) -> Any:
        return -np.frombuffer(chunk.payload, "<i8")[rows]

    def read_texts(self, chunk: Any, rows: Any, count: int, validity: Any) -> Any:
        stored = bytes(chunk.payload)
        texts = [stored[at : at + 8].strip()[::-1].decode() for at in range(0, len(stored), 8)]
        mask = None
        if validity is not None:
            bits = np.unpackbits(np.frombuffer(validity, np.uint8), count=count, bitorder="little")
            mask = bits == 0
        return pa.array(np.array(texts, object)[rows], pa.string(), mask=mask)


def test_an_encoding_is_one_object(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    register(Negated())
    request.addfinalizer(lambda: ENCODINGS.pop(Negated.code))
    words = ["dog", "ox", None, "", "cat"] * 20
    table = pa.table({"id": pa.array([7, None, -3, 2**40, 0] * 20), "word": words})
    path = tmp_path / "pets.flat"
    write_table(table, path, chunk_rows=30, encodings={"id": "negated", "word": "negated"})
    with open_table(path) as pets:
        pets.verify()
        assert pets.metadata.columns[0].encodings == {"negated": 4}
        assert pets.scan().equals(table)
        assert [pets.item(row, "id") for row in (0, 1, 2)] == [7, None, -3]
        assert [pets.item(row, "word") for row in (0, 2, 4)] == ["dog", None, "cat"]
        assert pets.take([99, 3, 35]).equals(table.take([99, 3, 35]))
        found = pets.scan(filter=(pc.field("word") == "ox") & (pc.field("id") > 1))
        assert found.num_rows == 0
        assert pets.scan(["id"], pc.field("word") == "cat")["id"].to_pylist() == [0] * 20
    assert "4 negated" in inspect(path)


class Words(Format):
    """A text of words, each of them a row."""

    name, extensions = "words", ("words", "wrd")
    options: ClassVar = {"gap": Setting("what stands between two words", ANY)}

    def open(self, file: InputFile, settings: Any) -> tuple[pa.Schema, ArrowPart]:
        with file.stream() as stream:
            found = stream.read().decode().split(text_of(settings, "gap", " "))
        rows = pa.table({"word": pa.array(found), "length": [len(word) for word in found]})
        return rows.schema, ArrowPart(rows)

    def writer(self, path: str, rows: pa.Table, settings: Any) -> Any:
        gap = text_of(settings, "gap", " ")
        return lambda sink: sink.write(gap.join(rows.column(0).to_pylist()).encode())


def test_a_format_is_one_object(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    formats.register(Words())
    request.addfinalizer(lambda: formats.FORMATS.pop("words"))
    with raydb.connect(":memory:") as connection:

        def run(statement: str) -> Any:
            return connection.execute(statement.replace("TMP", str(tmp_path)))

        run("CREATE TABLE pet (word VARCHAR, length INTEGER)")
        run("COPY (SELECT 'dog' UNION ALL SELECT 'ox') TO 'TMP/pets.wrd' (GAP '-')")
        assert (tmp_path / "pets.wrd").read_text() in ("dog-ox", "ox-dog")
        run("COPY pet FROM 'TMP/pets.wrd' (GAP '-')")
        assert run("SELECT * FROM pet ORDER BY 1").fetchall() == [("dog", 3), ("ox", 2)]
        assert run("SELECT max(length) FROM 'TMP/pets.wrd'").fetchall() == [(6,)]
        with pytest.raises(raydb.ProgrammingError, match="option 'gap' does not apply to csv"):
            run("COPY pet TO 'TMP/pets.csv' (GAP '-')")
        with pytest.raises(
            raydb.ProgrammingError, match="tbl, json, arrow, xlsx or words, by the extension"
        ):
            run("SELECT * FROM 'TMP/pets.bin'")


class Squares(RowsFunction):
    """The numbers up to `count`, and their squares."""

    name, arguments = "squares", (Argument("count", whole(1, 1000), is_required=True),)
    schema = pa.schema({"number": pa.int32(), "square": pa.int64()})

    def rows(self, call: Any) -> Any:
        return ((number, number**2) for number in range(1, call.value("count") + 1))


class Top(ChoosingFunction):
    """The `n` rows with the greatest values in a column, and the rank of each."""

    name, explain_name, schema = "top", "TopRows", pa.schema({"rank": pa.int64()})
    arguments = (
        Argument("by", COLUMN, is_required=True),
        Argument("n", whole(1, 1000), 1, varies=True),
    )

    def choose(self, arguments: Any, columns: Any) -> Any:
        chosen = np.argsort(-columns["by"].to_numpy(), kind="stable")[: arguments["n"]]
        return chosen, {"rank": pa.array(np.arange(1, len(chosen) + 1))}


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[raydb.Connection]:
    for function in (Squares(), Top()):
        monkeypatch.setitem(TABLE_FUNCTIONS, function.name, function)
    connection = raydb.connect()
    connection.execute("CREATE TABLE pet (name VARCHAR, owner INTEGER, weight INTEGER)")
    connection.execute(
        "INSERT INTO pet VALUES ('dog', 1, 30), ('cat', 1, 4), ('ox', 2, 600), ('hen', 2, 2)"
    )
    yield connection
    connection.close()


def test_a_table_function_is_one_object(functions: Any) -> None:
    def run(query: str) -> list[Any]:
        return functions.execute(query).fetchall()

    assert run("SELECT * FROM squares(3) ORDER BY number") == [(1, 1), (2, 4), (3, 9)]
    assert run("SELECT sum(square) FROM squares(count => ?)".replace("?", "4")) == [(30,)]
    assert run("SELECT * FROM top(pet, by => 'weight', n => 2)") == [
        ("ox", 2, 600, 1),
        ("dog", 1, 30, 2),
    ]
    assert run("SELECT name, kind FROM functions() WHERE name IN ('squares', 'top')") == [
        ("squares", "table"),
        ("top", "table"),
    ]
    found = run(
        "SELECT o, name, rank FROM (VALUES (1, 1), (2, 2), (3, 1), (1, NULL)) AS t (o, n),"
        " LATERAL top((SELECT * FROM pet WHERE owner = t.o), by => weight, n => t.n) ORDER BY o, 3"
    )
    assert found == [(1, "dog", 1), (2, "ox", 1), (2, "hen", 2)]
    assert run("SELECT count(*) FROM top(pet, by => weight, n => 9) WHERE name <> 'ox'") == [(3,)]


def test_a_table_function_is_explained_and_completed(functions: Any) -> None:
    plan = functions.execute("EXPLAIN SELECT name FROM top(pet, by => weight, n => 2)").fetchall()
    assert ("  TopRows: top by by => weight, n => 2",) in plan
    text = "SELECT * FROM top(pet, "
    completions = SqlCompleter(functions).get_completions(Document(text), CompleteEvent())
    assert [each.text for each in completions][:2] == ["by => ", "n => "]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("squares()", "squares() takes 1 argument, not 0"),
        ("squares(0)", "count of squares() is a whole number from 1, not 0 (INTEGER)"),
        ("top(pet, by => 'wait')", "column 'wait' (by of top()) does not exist"),
        ("top(pet)", "top() needs by =>"),
        ("top(pet, by => weight, m => 1)", "top() takes no argument 'm'; it takes by, n"),
        ("tob(pet)", "the table function tob() is not supported; did you mean 'top'?"),
    ],
)
def test_errors_of_arguments_come_with_the_function(
    functions: Any, call: str, sentence: str
) -> None:
    with pytest.raises(raydb.Error) as caught:
        functions.execute(f"FROM {call}")
    assert str(caught.value).startswith(sentence)


def _parse_pets(text: str, name: str) -> int:
    if not text.isdigit():
        raise raydb.ProgrammingError(f"{name} is a number of pets, not '{text}'")
    return int(text)


def test_a_setting_is_one_entry(request: pytest.FixtureRequest) -> None:
    pets = settings.register(settings.Setting("pets", 2, _parse_pets, "a number", "at most"))
    request.addfinalizer(lambda: settings.SETTINGS.pop("pets"))
    with raydb.connect() as connection:

        def shown(statement: str) -> Any:
            return connection.execute(f"{statement}; SHOW pets").fetchone()

        assert shown("SELECT 1") == ("2",)
        assert shown("SET pets = 5") == ("5",)
        assert connection._session is not None
        assert connection._session.settings[pets] == 5
        assert shown("RESET pets") == ("2",)
        with pytest.raises(raydb.ProgrammingError, match="pets is a number of pets, not 'many'"):
            connection.execute("SET pets = 'many'")
        with pytest.raises(raydb.ProgrammingError, match="did you mean 'pets'"):
            connection.execute("SET pet = 1")
    assert next(iter(complete_sql("SET pe", "SET pe", Vocabulary()))).text == "pets"


def test_the_page_of_settings_is_their_table() -> None:
    page = (Path(__file__).parent.parent / "docs" / "sql" / "statements.md").read_text()
    section = page.split("\n## Settings\n")[1].split("\n## ")[0]
    lines = [f"| `{e.name}` | {e.values} | {e.meaning} |" for e in settings.SETTINGS.values()]
    assert [line for line in section.splitlines() if line.startswith("| `")] == lines
