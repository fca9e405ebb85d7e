"""Statements that define: CREATE, DROP, ALTER and TRUNCATE."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import is_same
from raydb.planner.catalog import MAIN, TEMP
from raydb.sql import alter, ast
from raydb.sql.parse import stored_expressions
from raydb.sql.parse.options import SWITCH, one_of, read_options, whole_number
from raydb.sql.parse.query import query_of, refuse_parameters, refuse_queries
from raydb.sql.parse.reader import TokenReader
from raydb.sql.parse.statements import macro, sequence, table_definition
from raydb.sql.parse.statements.secret import accept_secret, read_secret
from raydb.sql.parse.written import text_of
from raydb.sql.types import data_type_of
from raydb.storage.enums import enum_of
from raydb.storage.fields import with_collation
from raydb.storage.tables.table import Index, IvfOptions, TextOptions

_DROPPED: dict[str, tuple[ast.DropKind, str]] = {
    "SCHEMA": ("schema", "a schema"),
    "TABLE": ("table", "a table"),
    "VIEW": ("view", "a view"),
    "INDEX": ("index", "an index"),
    "BVH": ("bvh", "a BVH"),
    "SEQUENCE": ("sequence", "a sequence"),
    "TYPE": ("type", "a type"),
    "MACRO": ("macro", "a macro"),
    "FUNCTION": ("macro", "a macro"),
}
# Methods of vector indexes, by their names and pgvector's; its operator classes say a metric.
_VECTORS = {"ivf": "ivf", "ivfflat": "ivf", "hnsw": "hnsw"}
_CLASSES = {
    "VECTOR_L2_OPS": "l2",
    "VECTOR_COSINE_OPS": "cosine",
    "VECTOR_IP_OPS": "ip",
    "VECTOR_L1_OPS": "l1",
    "BIT_HAMMING_OPS": "hamming",
}

# Of an hnsw index, where its options do not say it, and at most.
_USUAL_M, _MOST_M = "16", 128

_PARTS = ("SCAN", "GROUP BY", "AGGREGATE")


def read_create(reader: TokenReader) -> ast.Definition | ast.CreateSecret:
    """Read what CREATE makes, that word being read."""
    replace = reader.accept("OR", "REPLACE")
    if accept_secret(reader):
        return read_secret(reader, replace)
    is_local = reader.accept("LOCAL")
    if reader.accept_any("TEMP", "TEMPORARY") is None:
        if is_local:
            raise reader.error("'TEMPORARY'")
        return _create(reader, replace)
    if not reader.at_any("TABLE", "VIEW", "SEQUENCE", "TYPE", "MACRO", "FUNCTION"):
        kind = reader.take().text.upper()
        raise NotSupportedError(f"CREATE TEMP {kind} is not supported")
    made = _create(reader, replace)
    if reader.place and not any(is_same(reader.place[0], each) for each in (TEMP, MAIN)):
        raise ProgrammingError(
            f"what is temporary is in the database '{TEMP}', not in '{reader.place[0]}'"
        )
    reader.place = (TEMP,)
    return made


def _create(reader: TokenReader, replace: bool) -> ast.Definition:
    kind = reader.take().text.upper()
    match kind:
        case "TABLE":
            return _create_table(reader, replace)
        case "VIEW":
            return _create_view(reader, replace)
        case "SCHEMA" if not replace:
            if_not_exists = reader.accept("IF", "NOT", "EXISTS")
            return ast.CreateSchema(str(reader.relation("the name of a schema")), if_not_exists)
        case "SEQUENCE":
            return sequence.read_sequence(reader, replace)
        case "TYPE":
            return _create_type(reader, replace)
        case "MACRO" | "FUNCTION":
            return macro.read_macro(reader, replace)
        case "BVH" if not replace:
            return _create_bvh(reader)
        case "INDEX" if not replace:
            return _create_index(reader, unique=False)
        case "UNIQUE" if not replace:
            reader.expect("INDEX")
            return _create_index(reader, unique=True)
        case _:
            raise NotSupportedError(
                f"CREATE {'OR REPLACE ' if replace else ''}{kind} is not supported"
            )


def _create_table(reader: TokenReader, replace: bool) -> ast.CreateTable | ast.CreateTableAs:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise ProgrammingError("CREATE OR REPLACE TABLE takes no IF NOT EXISTS")
    name = str(reader.relation("the name of a table"))
    columns: tuple[str, ...] = ()
    if reader.at_any("("):
        if not reader.is_behind_parentheses("AS"):
            return ast.CreateTable(
                table_definition.read_table(name, reader), if_not_exists, replace
            )
        columns = tuple(map(str, reader.names("the name of a column")))
    elif not reader.at_any("AS"):
        raise reader.error("'(' or 'AS'")
    reader.expect("AS")
    tokens = reader.rest()
    words = [token.text.upper() for token in tokens]
    with_data = words[-3:] != ["WITH", "NO", "DATA"]
    if not with_data:
        tokens = tokens[:-3]
    elif words[-2:] == ["WITH", "DATA"]:
        tokens = tokens[:-2]
    select = query_of(reader.text, tokens)
    return ast.CreateTableAs(name, columns, select, with_data, if_not_exists, replace)


def _create_view(reader: TokenReader, replace: bool) -> ast.CreateView:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise ProgrammingError("CREATE OR REPLACE VIEW takes no IF NOT EXISTS")
    name = str(reader.relation("the name of a view"))
    columns = reader.names("the name of a column") if reader.at_any("(") else ()
    reader.expect("AS")
    tokens = reader.rest()
    select = query_of(reader.text, tokens)
    refuse_parameters(select.tree, f"the view '{name}'")
    text = reader.text[tokens[0].start : tokens[-1].end + 1]
    if columns:
        names = [text_of(exp.to_identifier(each, quoted=True)) for each in (name, *columns)]
        text = " ".join(("SELECT * FROM", f"({text})", "AS", names[0], f"({', '.join(names[1:])})"))
    return ast.CreateView(name, text, replace, if_not_exists)


def _create_type(reader: TokenReader, replace: bool) -> ast.CreateType:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if replace and if_not_exists:
        raise ProgrammingError("CREATE OR REPLACE TYPE takes no IF NOT EXISTS")
    name = str(reader.relation("the name of a type"))
    reader.expect("AS")
    if not reader.accept("ENUM"):
        return ast.CreateType(name, data_type_of(reader.data_type()), if_not_exists, replace)
    inside = TokenReader(reader.text, reader.parenthesised())
    if inside.at_any("SELECT", "WITH", "FROM", "VALUES", "("):
        select = query_of(reader.text, inside.rest())
        refuse_parameters(select.tree, f"the type '{name}'")
        return ast.CreateType(name, select, if_not_exists, replace)
    labels = () if inside.peek() is None else inside.separated(lambda: inside.string("a label"))
    inside.finish()
    return ast.CreateType(name, enum_of(labels, name), if_not_exists, replace)


def _create_bvh(reader: TokenReader) -> ast.CreateBvh:
    name = str(reader.name("the name of a BVH"))
    reader.expect("ON")
    table = reader.relation("the name of a table")
    parts: dict[str, tuple[exp.Expr, ...]] = {}

    def read_part() -> None:
        part = reader.accept_any(*_PARTS)
        if part is None:
            raise reader.error("SCAN, GROUP BY or AGGREGATE")
        if part in parts:
            raise ProgrammingError(f"the BVH '{name}' has {part} twice")
        parts[part] = reader.listed(reader.scalar)

    reader.listed(read_part)
    options = read_options(reader, ("sieve",), "a BVH", f"BVH '{name}'")
    sieve = options.get("sieve", "false").lower()
    if sieve not in SWITCH:
        raise ProgrammingError(f"option 'sieve' of a BVH is true or false, not '{sieve}'")
    scan, group_by, aggregate = (parts.get(part, ()) for part in _PARTS)
    tokens = reader.all_tokens()
    text = reader.text[tokens[0].start : tokens[-1].end + 1]
    return ast.CreateBvh(name, table, scan, group_by, aggregate, text, SWITCH[sieve])


def _create_index(reader: TokenReader, *, unique: bool) -> ast.CreateIndex:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    name = str(reader.name("the name of an index"))
    reader.expect("ON")
    table = reader.relation("the name of a table")
    method = reader.take().text.lower() if reader.accept("USING") else "btree"
    method = _VECTORS.get(method, method)
    if method not in ("btree", "art", "fts", *_VECTORS):
        raise NotSupportedError(
            f"CREATE INDEX ... USING {method} is not supported, only ivf, hnsw and fts"
        )
    inside = TokenReader(reader.text, reader.parenthesised())
    metric = ""

    def read_column() -> tuple[str, bool]:
        nonlocal metric
        column = inside.name("the name of a column")
        if method in _VECTORS and (operators := inside.accept_any(*_CLASSES)):
            metric = _CLASSES[operators]
        if inside.at_any("("):
            raise NotSupportedError("an index of an expression is not supported")
        descending = inside.accept_any("ASC", "DESC") == "DESC"
        # Where NULLs stand in the order matters to nobody who looks a value up.
        if inside.accept("NULLS") and inside.accept_any("FIRST", "LAST") is None:
            raise inside.error("FIRST or LAST")
        return column, descending

    columns, descending = zip(*inside.separated(read_column), strict=True)
    inside.finish()
    if reader.at_any("WHERE"):
        raise NotSupportedError("an index of some rows, CREATE INDEX ... WHERE, is not supported")
    options = text = None
    if method in ("fts", *_VECTORS) and (unique or len(columns) != 1 or descending[0]):
        raise NotSupportedError(f"the {method} index '{name}' is of one column, not UNIQUE or DESC")
    if method in _VECTORS:
        options = _ivf_options(name, method, metric, reader)
    if method == "fts":
        text = _text_options(name, reader)
    index = Index(name, columns, descending, unique, options, text)
    return ast.CreateIndex(table, index, if_not_exists)


def _text_options(name: str, reader: TokenReader) -> TextOptions:
    """Read `[WITH (stemmer = 'english')]`; 'none' and '' are words as they are."""
    given = read_options(reader, ("stemmer",), "an fts index", f"index '{name}'")
    language = given.get("stemmer", "none").lower()
    if language in ("", "none"):
        return TextOptions()
    from raydb.kernels.text.words import stemmer_names  # noqa: PLC0415  (few indexes)

    return TextOptions(one_of("the stemmer of an fts index", language, stemmer_names()))


def _ivf_options(name: str, method: str, known: str, reader: TokenReader) -> IvfOptions:
    """Read `[WITH (lists = 1024, metric = 'l2', quantization = 'int8', seed = 1)]`.

    hnsw takes `m` and `ef_construction`, too. known: the metric, '' where nothing has said it yet.
    """
    kind = f"an {method} index"
    options: tuple[str, ...] = ("lists", "metric", "quantization", "seed")
    if method == "hnsw":
        options = ("ef_construction", *options[:1], "m", *options[1:])
    given = read_options(reader, options, kind, f"index '{name}'")
    metric = given.get("metric", known or "l2")
    # DuckDB's name of what orders rows as l2 does.
    metric = "l2" if metric.lower() == "l2sq" else metric
    metric = one_of(f"the metric of {kind}", metric, tuple(_CLASSES.values()))
    if known not in ("", metric):
        raise ProgrammingError(f"index '{name}' is for {known} by its operators, not for {metric}")
    lists = whole_number(f"option 'lists' of {kind}", given["lists"], 1) if "lists" in given else 0
    seed = whole_number(f"option 'seed' of {kind}", given.get("seed", "0"), 0)
    stored = given.get("quantization", "none")
    quantization = one_of(f"the quantization of {kind}", stored, ("none", "int8"))
    if quantization != "none" and metric in ("l1", "hamming"):
        raise NotSupportedError(f"quantization = '{stored}' is for l2, cosine and ip, not {metric}")
    if method == "ivf":
        return IvfOptions(metric, lists, seed, quantization)
    m = whole_number(f"option 'm' of {kind}", given.get("m", _USUAL_M), 2)
    if m > _MOST_M:
        raise ProgrammingError(f"option 'm' of {kind} is a number from 2 to {_MOST_M}, not {m}")
    joined = given.get("ef_construction", str(3 * m))
    near = whole_number(f"option 'ef_construction' of {kind}", joined, 1)
    return IvfOptions(metric, lists, seed, quantization, m, near)


def read_reindex(reader: TokenReader) -> ast.Reindex:
    """Read REINDEX, that word being read."""
    if reader.peek() is None:
        return ast.Reindex("index", None)
    if reader.accept("TABLE"):
        return ast.Reindex("table", reader.relation("the name of a table"))
    reader.accept("INDEX")
    return ast.Reindex("index", reader.relation("the name of an index"))


def read_drop(reader: TokenReader) -> ast.Drop | ast.DropSecret:
    """Read DROP TABLE, VIEW, INDEX, BVH, SEQUENCE or TYPE, the word DROP being read."""
    if accept_secret(reader):
        if_exists = reader.accept("IF", "EXISTS")
        return ast.DropSecret(str(reader.name("the name of a secret")), if_exists)
    word = reader.take().text.upper()
    if word not in _DROPPED:
        raise NotSupportedError(f"DROP {word} is not supported")
    kind, what = _DROPPED[word]
    if kind == "macro" and reader.accept("TABLE"):
        kind = "table macro"
    if_exists = reader.accept("IF", "EXISTS")
    names = reader.relations(f"the name of {what}")
    return ast.Drop(kind, names, if_exists, _cascade(reader))


def read_comment(reader: TokenReader) -> ast.Comment:
    """Read COMMENT ON kind name IS 'text' or NULL, the word COMMENT being read."""
    reader.expect("ON")
    word = reader.take().text.upper()
    column = ""
    if word == "COLUMN":
        kind: ast.DropKind | Literal["column"] = "column"
        *place, column = reader.dotted("a table and its column", 4)
        if not place:
            raise reader.error("'.' and the name of a column")
        name = place.pop()
        reader.place = tuple(place)
    elif word not in _DROPPED:
        raise NotSupportedError(f"COMMENT ON {word} is not supported")
    else:
        kind, what = _DROPPED[word]
        if kind == "macro" and reader.accept("TABLE"):
            kind = "table macro"
        name = reader.relation(f"the name of {what}")
    reader.expect("IS")
    text = None if reader.accept("NULL") else reader.string("a string or NULL")
    return ast.Comment(kind, name, column, text)


def read_truncate(reader: TokenReader) -> ast.Truncate:
    """Read TRUNCATE, that word being read."""
    reader.accept("TABLE")
    names = reader.relations("the name of a table")
    word = reader.accept_any("CONTINUE", "RESTART")
    if word is not None:
        reader.expect("IDENTITY")
    return ast.Truncate(names, _cascade(reader), word == "RESTART")


def _cascade(reader: TokenReader) -> bool:
    return reader.accept_any("CASCADE", "RESTRICT") == "CASCADE"


def read_alter(reader: TokenReader) -> ast.Definition:
    """Read ALTER TABLE, VIEW or SEQUENCE, the word ALTER being read."""
    kind = reader.take().text.upper()
    if kind not in ("TABLE", "VIEW", "SEQUENCE"):
        raise NotSupportedError(f"ALTER {kind} is not supported")
    if_exists = reader.accept("IF", "EXISTS")
    name = reader.relation(f"the name of a {kind.lower()}")
    if kind == "VIEW":
        reader.expect("RENAME", "TO")
        return ast.RenameView(name, if_exists, str(reader.name("the new name")))
    if kind == "SEQUENCE":
        return sequence.read_alter_sequence(name, if_exists, reader)
    alterations = reader.separated(lambda: _alteration(name, reader))
    if len(alterations) > 1 and any(isinstance(each, alter.RenameTable) for each in alterations):
        raise ProgrammingError("RENAME TO stands alone in an ALTER TABLE")
    return ast.AlterTable(name, if_exists, alterations)


def _alteration(table: str, reader: TokenReader) -> alter.Alteration:
    match reader.accept_any("ADD", "DROP", "RENAME", "ALTER"):
        case "ADD":
            return _add(table, reader)
        case "DROP":
            return _drop_part(reader)
        case "RENAME":
            if reader.accept("TO"):
                return alter.RenameTable(str(reader.name("the new name")))
            if reader.at_any("CONSTRAINT"):
                raise NotSupportedError("RENAME CONSTRAINT is not supported")
            reader.accept("COLUMN")
            column = reader.name("the name of a column")
            reader.expect("TO")
            return alter.RenameColumn(column, str(reader.name("the new name")))
        case "ALTER":
            reader.accept("COLUMN")
            return _alter_column(reader.name("the name of a column"), reader)
        case _ if reader.peek() is not None:
            word = reader.take().text.upper()
            raise NotSupportedError(f"ALTER TABLE ... {word} is not supported")
        case _:
            raise reader.error("ADD, DROP, RENAME or ALTER")


def _add(table: str, reader: TokenReader) -> alter.AddColumn | alter.AddConstraint:
    is_column = reader.accept("COLUMN")
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    entry = reader.table_entry()
    if isinstance(entry, exp.ColumnDef):
        return alter.AddColumn(table_definition.define(table, [entry]), if_not_exists)
    if is_column or if_not_exists or isinstance(entry, exp.Identifier):
        raise ProgrammingError("ADD COLUMN needs the name and the type of a column")
    return alter.AddConstraint(table_definition.define(table, [entry]))


def _drop_part(reader: TokenReader) -> alter.DropColumn | alter.DropConstraint:
    is_constraint = reader.accept("CONSTRAINT")
    if not is_constraint:
        reader.accept("COLUMN")
    if_exists = reader.accept("IF", "EXISTS")
    name = reader.name(f"the name of a {'constraint' if is_constraint else 'column'}")
    cascade = _cascade(reader)
    if is_constraint:
        return alter.DropConstraint(name, if_exists, cascade)
    return alter.DropColumn(name, if_exists, cascade)


def _alter_column(column: str, reader: TokenReader) -> alter.Alteration:
    if reader.accept("DROP", "DEFAULT"):
        return alter.SetDefault(column, None)
    if reader.accept("SET", "DEFAULT"):
        default = reader.scalar()
        return alter.SetDefault(
            column, stored_expressions.stored_text(default, f"the default of column '{column}'")
        )
    if reader.at_any("RESTART"):
        return alter.RestartIdentity(column, sequence.read_restart(reader))
    for action in ("SET", "DROP"):
        if reader.accept(action, "NOT", "NULL"):
            return alter.SetNotNull(column, action == "SET")
    reader.accept("SET", "DATA")
    reader.expect("TYPE")
    field = pa.field(column, data_type_of(reader.data_type("COLLATE", "USING")))
    if reader.accept("COLLATE"):
        field = with_collation(field, ".".join(reader.dotted("the name of a collation", 3)))
    using = reader.scalar() if reader.accept("USING") else None
    if using is not None:
        refuse_queries(using, "USING")
        refuse_parameters(using, "USING")
    return alter.SetType(field, using)
