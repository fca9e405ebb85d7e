"""SQLAlchemy's own tests of a dialect."""

from sqlalchemy.testing.suite import *  # noqa: F403
