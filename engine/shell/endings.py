"""Exceptions that end the shell before its input does; errors were told before they are raised."""

from __future__ import annotations


class QuitError(Exception):
    """The shell is asked to end."""


class BailError(Exception):
    """A script ends at its first error, or because it was interrupted."""
