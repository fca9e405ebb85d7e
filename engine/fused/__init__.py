"""The fused path: BVHs, whole tables and newer rows, and one job over them for a query."""

from raydb.late import import_on_use

import_on_use(__name__)
