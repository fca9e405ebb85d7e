"""The Ibis backend: `ibis.raydb.connect("shop.raydb")`."""

from raydb.ibis.backend import Backend

__all__ = ["Backend"]
