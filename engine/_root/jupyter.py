"""SQL in notebooks: `%load_ext raydb`, then `%sql` and `%%sql`.

    %%sql [-d PATH | -c VARIABLE] [-o NAME]
    SELECT ...

-d opens a database and keeps it for what follows (at first it is one in memory); -c uses a
connection of the notebook. -o puts the cursor into a variable instead of showing its rows.
Variables of the notebook can stand in FROM, and as :name, $name or {name} for a value: they are
parameters, and never a part of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import raydb
from raydb.errors import Error, ProgrammingError

if TYPE_CHECKING:
    from raydb.engine.api.connection import Connection
    from raydb.engine.api.cursor import Cursor

_OPTION = re.compile(r"\s*(-\w)(?:\s+(?:'([^']*)'|\"([^\"]*)\"|(\S+)))?")
# What is quoted or a comment, a type behind '::' and a field of {'a':b} are passed over.
_VALUE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|::"
    r"|(?<![\w'\"])[:$](?P<name>[^\W\d]\w*)|\{(?P<braced>[^\W\d]\w*)\}",
    re.DOTALL,
)
_MEANINGS = {"-d": "a database", "-c": "a connection", "-o": "a variable"}


class SqlMagic:
    """The magic commands of one notebook."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: Connection | None = None
        shell.register_magic_function(self.sql, "line_cell", "sql")

    def sql(self, line: str, cell: str | None = None) -> Cursor | None:
        """Run the SQL of a line or a cell; a query's rows are shown. See `raydb.jupyter`."""
        try:
            return self._run(line, cell)
        except Error as error:
            # A traceback through the engine says nothing to whoever wrote the query.
            sentence = f"{type(error).__name__}: {error}"
            vars(error)["_render_traceback_"] = lambda: [sentence]
            raise

    # IPython would write the values of {name} and $name into the text of a line.
    vars(sql)["_ipython_magic_no_var_expand"] = True

    def _run(self, line: str, cell: str | None) -> Cursor | None:
        options, rest = _split(line)
        connection = self._choose(options)
        text = rest if cell is None else f"{rest}\n{cell}"
        if not text.strip():
            return None
        variables = self._shell.user_ns
        text, names = _parameters(text)
        for name in sorted(names - variables.keys()):
            raise ProgrammingError(f"the value '{name}' is no variable of the notebook")
        values = {name: variables[name] for name in names}
        cursor = connection._execute_among(text, variables, values)  # noqa: SLF001
        if "-o" in options:
            self._shell.user_ns[options["-o"]] = cursor
            return None
        return None if cursor.description is None else cursor

    def _choose(self, options: dict[str, str]) -> Connection:
        """Return the connection that the options name, or the one that is kept."""
        name = options.get("-c")
        if name is not None:
            found = self._shell.user_ns.get(name)
            if not hasattr(found, "_execute_among"):
                raise ProgrammingError(f"the variable '{name}' is no connection of RayDB")
            connection: Connection = found
            return connection
        if "-d" in options or self._connection is None:
            opened = raydb.connect(options.get("-d"))
            if self._connection is not None:
                self._connection.close()
            self._connection = opened
        return self._connection


def _parameters(text: str) -> tuple[str, set[str]]:
    """Return a text with {name} as $name, and the names of its parameters.

    >>> _parameters("SELECT {low}, ':a', x::INTEGER WHERE y < :high")
    ("SELECT $low, ':a', x::INTEGER WHERE y < $high", {'low', 'high'})
    """
    names = set()

    def rewritten(found: re.Match[str]) -> str:
        name = found["name"] or found["braced"]
        if name is None:
            return found[0]
        names.add(name)
        return f"${name}"

    return _VALUE.sub(rewritten, text), names


def _split(line: str) -> tuple[dict[str, str], str]:
    """Return the options at the start of a line, and what comes behind them."""
    options = {}
    while (option := _OPTION.match(line)) is not None:
        name = option[1]
        value = next((each for each in option.groups()[1:] if each is not None), None)
        if name not in _MEANINGS or value is None:
            known = ", ".join(f"{each} for {meaning}" for each, meaning in _MEANINGS.items())
            raise ProgrammingError(f"'{option[0].strip()}' is no option of %sql: it takes {known}")
        options[name] = value
        line = line[option.end() :]
    return options, line
