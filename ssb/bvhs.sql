-- Four BVHs serve all 13 queries. A SCAN lists what the queries filter by, and an attribute whose
-- values lie within another's (a nation in one region, a month in one year) costs no more than the
-- finer of the two. Group keys that SCAN names already need no GROUP BY, and take no byte of a row:
-- a city in SCAN costs 8 bytes a cell, which at scale factor 10 is a fifteenth of a byte a row, and as
-- a stored key it costs a whole one. The year stands before the part, so that one year's parts of
-- a manufacturer lie together.

-- q1.1, q1.2, q1.3
CREATE BVH discounts ON lineorder (
  SCAN (d_year, d_yearmonthnum, d_weeknuminyear, lo_discount, lo_quantity),
  AGGREGATE (lo_extendedprice * lo_discount)
);

-- q2.1, q2.2, q2.3
CREATE BVH brands ON lineorder (
  SCAN (s_region, p_category, p_brand1, d_year),
  AGGREGATE (lo_revenue)
);

-- q3.1, q3.2, q3.3, q3.4
CREATE BVH cities ON lineorder (
  SCAN (c_region, c_nation, c_city, s_region, s_nation, d_year, d_yearmonth),
  GROUP BY (s_city),
  AGGREGATE (lo_revenue)
);

-- q4.1, q4.2, q4.3
CREATE BVH profits ON lineorder (
  SCAN (c_region, c_nation, s_region, s_nation, d_year, p_mfgr, p_category, p_brand1),
  GROUP BY (s_city),
  AGGREGATE (lo_revenue - lo_supplycost)
);
