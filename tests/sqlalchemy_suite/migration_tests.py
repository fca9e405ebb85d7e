"""Alembic's own tests of a dialect."""

from alembic.testing.suite import *  # noqa: F403
