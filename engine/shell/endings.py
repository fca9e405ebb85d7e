"""How the shell ends before its input does. Neither is an error: errors were told before."""

from __future__ import annotations


class QuitError(Exception):
    """The shell is asked to end."""


class BailError(Exception):
    """A script ends at its first error, or because it was interrupted."""
