"""partition_graph() and partition_stats()."""

from raydb.late import import_on_use

import_on_use(__name__)
