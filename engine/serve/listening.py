"""What servers have in common: who reaches an address, and the files that they are given."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from raydb.errors import OperationalError


def is_loopback(host: str) -> bool:
    """Tell whether only programs of this machine reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def contents_of(path: str) -> bytes:
    """Return what a file holds. Raises OperationalError where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OperationalError(f"file '{path}' cannot be read: {reason}") from error
