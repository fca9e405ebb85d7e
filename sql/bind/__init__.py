"""Names and types to a catalog: statements to logical plans."""

from raydb.late import import_on_use

import_on_use(__name__)
