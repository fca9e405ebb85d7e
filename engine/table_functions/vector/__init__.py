"""vector_search() and index_calibrations()."""

from raydb.late import import_on_use

import_on_use(__name__)
