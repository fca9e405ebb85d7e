"""The encodings of column chunks, one object a file: `register` makes another one known.

A code stands for one encoding in all files for ever; docs/flatstor.md lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.late import import_on_use

if TYPE_CHECKING:
    from raydb.storage.flat.encodings.known import ENCODINGS as ENCODINGS
    from raydb.storage.flat.encodings.known import register as register

import_on_use(__name__, {"known": "ENCODINGS register"})
