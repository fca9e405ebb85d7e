"""What expressions are over the codes of a BVH: masks, key tuples, cells and groups."""

from raydb.late import import_on_use

import_on_use(__name__)
