"""A cluster: workers scan segments of tables, and a coordinator puts their groups together."""

from raydb.late import import_on_use

import_on_use(__name__)
