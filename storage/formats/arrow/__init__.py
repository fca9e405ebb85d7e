"""Arrow's types as SQL's: which SQL type values of other libraries have, and how they get it."""

from raydb.late import import_on_use

import_on_use(__name__)
