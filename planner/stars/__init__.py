"""Star queries: matching, the choice of a BVH, fused plans."""

from raydb.late import import_on_use

import_on_use(__name__)
