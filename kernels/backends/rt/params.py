"""The parameters of the device program as bytes; `program.cu` has the same fields in its order."""

from __future__ import annotations

import numpy as np

from raydb.kernels.backends.aggregates import WORDS

# What one launch adds up at most, and what of it fits the registers of a ray.
MAX_TOTALS = 16
MAX_IN_REGISTERS = 4

# Segment, hits, rows, the group held, and two registers for each total.
PAYLOAD_COUNT = 4 + 2 * MAX_IN_REGISTERS

# A ray holds the number of a group in one register.
MAX_GROUPS = 2**32

# Hits are counted in so many places: one place would take one ray after the other.
HIT_COUNTS = 1024

# The words of `aggregates`, by their numbers in the program.
KINDS = {word: number for number, word in enumerate(WORDS)}

TOTAL = np.dtype(
    [
        ("values", "u8"),
        ("valid", "u8"),
        ("words", "u8"),
        ("neutral", "i8"),
        ("kind", "i4"),
        ("width", "i4"),
        ("ordered", "i4"),
        ("unused", "i4"),
    ],
    align=True,
)

POINTERS = (
    "scene",
    "origin_z",
    "lengths",
    "offset_x",
    "groups",
    "lane_x",
    "lane_y",
    "segments",
    "lanes",
    "tuple_groups",
    "tuples",
    "firsts",
    "met",
    "row_groups",
    "rows",
    "hit_counts",
)

PARAMS = np.dtype(
    [
        *((name, "u8") for name in POINTERS),
        ("group_count", "u8"),
        ("copy_count", "u4"),
        ("first_ray", "u4"),
        ("lane_count", "u4"),
        ("in_registers", "i4"),
        ("total_count", "i4"),
        ("tuple_width", "i4"),
        ("totals", TOTAL, (MAX_TOTALS,)),
    ],
    align=True,
)
