"""The version of the adapter, which is that of the database."""

from raydb import __version__ as version

__all__ = ["version"]
