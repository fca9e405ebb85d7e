"""Colours of a terminal: where they are welcome, and how text gets them."""

from __future__ import annotations

import os
from typing import TextIO

BOLD = "1"
DIM = "2"
RED = "1;31"
YELLOW = "1;33"


def colored(text: str, style: str, is_colored: bool) -> str:
    """Return a text in a style, or as it is where there are no colours."""
    return f"\x1b[{style}m{text}\x1b[0m" if is_colored else text


def shows_colors(stream: TextIO) -> bool:
    """Say whether a stream is a terminal with colours: not with NO_COLOR, not TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and not is_dumb()


def is_dumb() -> bool:
    """Say whether the terminal can only write line after line."""
    return os.environ.get("TERM", "dumb") in {"", "dumb", "unknown"}
