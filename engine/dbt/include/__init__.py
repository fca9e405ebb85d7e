"""The macros of dbt's adapter."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
