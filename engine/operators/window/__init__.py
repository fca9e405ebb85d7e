"""Window functions over Arrow."""

from raydb.late import import_on_use

import_on_use(__name__)
