"""Vector search: exact and IVF, calibrated stops, and their compiled loops."""

from raydb.late import import_on_use

import_on_use(__name__)
