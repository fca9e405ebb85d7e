"""The session on a terminal: lines are edited, remembered, completed and coloured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import DynamicCompleter
from prompt_toolkit.filters import Condition, completion_is_selected, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import SimpleLexer
from prompt_toolkit.output import ColorDepth

import raydb
from raydb.engine.shell.completion import SqlCompleter
from raydb.engine.shell.endings import BailError
from raydb.engine.shell.highlighting import SqlLexer
from raydb.engine.shell.history import open_history
from raydb.engine.shell.input import is_ready, prompt_of, with_commands
from raydb.engine.shell.render.colors import shows_colors
from raydb.engine.shell.schema import has_external_access

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyPressEvent

    from raydb.engine.shell.session import Shell


def greet(shell: Shell, database: str | None, *, is_read_only: bool) -> None:
    """Say what was opened and how to get help."""
    opened = "a database in memory" if database in {None, ":memory:"} else f"'{database}'"
    how = " to read only" if is_read_only else ""
    shell.tell(f"RayDB {raydb.__version__}, {opened}{how}. Statements end with ';'. Try .help")


def read_statements(shell: Shell) -> None:
    """Run what is typed until Ctrl-D. Raises QuitError when `.quit` is typed."""
    history, problem = open_history()
    if problem:
        shell.tell(problem)
    completer = SqlCompleter(shell.connection)
    is_colored = shows_colors(sys.stdout)
    session: PromptSession[str] = PromptSession(
        history=history,
        completer=DynamicCompleter(lambda: completer),
        complete_while_typing=False,
        lexer=SqlLexer() if is_colored else SimpleLexer(),
        color_depth=None if is_colored else ColorDepth.DEPTH_1_BIT,
        multiline=True,
        prompt_continuation=_continuation,
        key_bindings=_key_bindings(),
        enable_open_in_editor=Condition(lambda: has_external_access(shell.connection)),
        enable_suspend=True,
    )
    while True:
        try:
            text = session.prompt(prompt_of(shell))
            shell.run_text(with_commands(text))
        except EOFError:
            return
        except (KeyboardInterrupt, BailError):
            pass
        completer.forget(shell.connection)


def _continuation(width: int, line_number: int, wrap_count: int) -> str:  # noqa: ARG001
    return ("" if wrap_count else "> ").rjust(width)


def _key_bindings() -> KeyBindings:
    """Return the keys that are special here: Enter runs what is complete."""
    bindings = KeyBindings()

    @bindings.add("enter", filter=~completion_is_selected & ~is_searching)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_ready(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @bindings.add("enter", filter=completion_is_selected & ~is_searching)
    def _accept_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("tab", filter=Condition(_is_at_margin))
    def _indent(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("    ")

    return bindings


def _is_at_margin() -> bool:
    """Say whether nothing but spaces stands before the cursor in a later line of a statement."""
    document: Any = get_app().current_buffer.document
    return document.cursor_position_row > 0 and not document.current_line_before_cursor.strip()
