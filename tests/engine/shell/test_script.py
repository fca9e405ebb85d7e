"""Where statements and dot commands end, however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydb.engine.shell.script import ScriptReader, is_complete, read_script
from raydb.keywords import Scanner


@pytest.mark.parametrize(
    ("text", "pieces", "complete"),
    [
        ("", [], True),
        ("  -- nothing; here", [], True),
        ("SELECT 1", ["SELECT 1"], False),
        ("SELECT 1; -- more", ["SELECT 1;"], True),
        ("a;;b; /* ; */ c -- ;", ["a;", "b;", "/* ; */ c -- ;"], False),
        ("SELECT ';'';'; SELECT \"a;\"\";\"", ["SELECT ';'';';", 'SELECT "a;"";"'], False),
        ("SELECT ';", ["SELECT ';"], False),
        ("SELECT 1 - 2 / 3;", ["SELECT 1 - 2 / 3;"], True),
        ("SELECT 1 /* ;", ["SELECT 1 /* ;"], False),
        ("/* ; /* ; */ ; */ a; b;", ["/* ; /* ; */ ; */ a;", "b;"], True),
        (r"SELECT e'\';', 1; b;", [r"SELECT e'\';', 1;", "b;"], True),
        (r"SELECT date'\'; b;", [r"SELECT date'\';", "b;"], True),
        ("SELECT $$;'$$; b;", ["SELECT $$;'$$;", "b;"], True),
        ("SELECT $q$;$$;$Q$;$q$; b;", ["SELECT $q$;$$;$Q$;$q$;", "b;"], True),
        ("SELECT $1; SELECT a$$; b;", ["SELECT $1;", "SELECT a$$;", "b;"], True),
        ("-- a\r;b;", ["b;"], True),
        (".tables", [".tables"], True),
        ("  .mode csv\r\nSELECT\n.5;\r\n", [".mode csv", "SELECT\n.5;"], True),
        ("SELECT '\n.quit\n';", ["SELECT '\n.quit\n';"], True),
        ("-- one\n.tables\n", [".tables"], True),
    ],
)
def test_pieces_are_told_apart(text: str, pieces: list[str], complete: bool) -> None:
    assert [piece.text for piece in read_script(text)] == pieces
    assert is_complete(text) is complete


def test_pieces_know_their_lines() -> None:
    pieces = read_script("-- a\n\nSELECT\n1; SELECT 2;\n\n.mode csv\n/* b\n*/ SELECT 3")
    assert [(piece.line, piece.is_command) for piece in pieces] == [
        *((3, False), (4, False), (6, True), (7, False))
    ]


def test_a_line_is_enough_to_end_a_statement() -> None:
    reader = ScriptReader()
    assert [piece.text for piece in reader.feed("SELECT 1; SELECT\n")] == ["SELECT 1;"]
    assert reader.is_open
    assert [piece.text for piece in reader.feed("2;\n")] == ["SELECT\n2;"]
    assert not reader.is_open
    assert not list(reader.finish())


@given(st.text(alphabet="ab;'\"-/*$.eE\\\n\r 1", max_size=40))
def test_nothing_is_lost(text: str) -> None:
    assert "".join(piece for _, piece in Scanner().scan(text)) == text
    for piece in read_script(text):
        assert piece.text in text
        # A statement may begin with a point here, but not in a script.
        if not piece.text.startswith("."):
            assert [again.text for again in read_script(piece.text)] == [piece.text]
