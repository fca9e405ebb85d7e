"""Prompts, and text that is typed at them on any terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.engine.shell.endings import BailError
from raydb.engine.shell.script import is_complete

if TYPE_CHECKING:
    from raydb.engine.shell.session import Shell

PROMPT = "raydb> "
PROMPT_IN_TRANSACTION = "raydb*> "

# What people type to leave or for help, without thinking of the dot.
_BARE_WORDS = {"quit": ".quit", "exit": ".quit", "help": ".help", "\\q": ".quit", "\\?": ".help"}


def prompt_of(shell: Shell) -> str:
    """Return the prompt, which tells whether a transaction is open."""
    return PROMPT_IN_TRANSACTION if shell.connection.in_transaction else PROMPT


def is_ready(text: str) -> bool:
    """Say whether Enter runs a text: it is complete, or blank, or a word such as `exit`."""
    if not text.strip() or text.lstrip().startswith("\\"):
        return True
    return is_complete(text) or _bare_word(text) in _BARE_WORDS


def with_commands(text: str) -> str:
    """Return a text, or the dot command that a word such as `exit` stands for.

    No SQL begins with a backslash, as the commands of psql do: the dot command tells what is wrong.
    """
    if _bare_word(text) in _BARE_WORDS:
        return _BARE_WORDS[_bare_word(text)]
    return "." + text.strip()[1:] if text.lstrip().startswith("\\") else text


def _bare_word(text: str) -> str:
    return text.strip().rstrip(";").lower()


def read_lines(shell: Shell) -> None:
    """Run what is typed on a terminal that can only write line after line, until Ctrl-D."""
    text = ""
    while True:
        try:
            prompt = prompt_of(shell)
            text += input("> ".rjust(len(prompt)) if text else prompt) + "\n"
            if not is_ready(text):
                continue
            ready, text = text, ""
            shell.run_text(with_commands(ready))
        except EOFError:
            shell.tell("")
            return
        except KeyboardInterrupt:
            shell.tell("")
            text = ""
        except BailError:
            pass
