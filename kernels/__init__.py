"""Arrays in, arrays out: encoding, the BVH, and the fused Scan/GroupBy/Aggregate job on it."""

from raydb.late import import_on_use

import_on_use(__name__)
