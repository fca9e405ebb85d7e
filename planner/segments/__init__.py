"""Stars in segments: ranges of a table's rows or of a BVH's places, which workers read.

Each scan of a whole table, and each job on a BVH that takes longer than a question to workers,
becomes where it can be put together from parts

    HashAggregate          sums of sums, sums of counts, least of least, by the query's keys
      ConcatenateRows
        SegmentScan        the groups of the segments, as workers give them

by the same parts as those of rows newer than a BVH (`delta.part_star`), which stay beside it. A
worker plans the text of the query by itself and takes the scan of the same `question`: what it
would answer is what is asked, or it does not answer.

Rows of which each comes of one row of a large table come from segments of that:

    LimitRows, SortRows
      SegmentRows          the first rows of each segment, in the order of segments

A search says itself how it is cut: into segments of a table, or into slices of its own.
"""

from raydb.late import import_on_use

import_on_use(__name__)
