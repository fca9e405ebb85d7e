-- The flat form: every line with the attributes of its dimensions. A view, so nothing is copied.
CREATE VIEW lineorder_flat AS
SELECT
  lo_orderkey, lo_linenumber, lo_custkey, lo_partkey, lo_suppkey, lo_orderdate, lo_orderpriority,
  lo_shippriority, lo_quantity, lo_extendedprice, lo_ordtotalprice, lo_discount, lo_revenue,
  lo_supplycost, lo_tax, lo_commitdate, lo_shipmode,
  c_custkey, c_name, c_address, c_city, c_nation, c_region, c_phone, c_mktsegment,
  s_suppkey, s_name, s_address, s_city, s_nation, s_region, s_phone,
  p_partkey, p_name, p_mfgr, p_category, p_brand1, p_color, p_type, p_size, p_container,
  d_datekey, d_date, d_dayofweek, d_month, d_year, d_yearmonthnum, d_yearmonth, d_daynuminweek,
  d_daynuminmonth, d_daynuminyear, d_monthnuminyear, d_weeknuminyear, d_sellingseason,
  d_lastdayinweekfl, d_lastdayinmonthfl, d_holidayfl, d_weekdayfl
FROM lineorder
JOIN customer ON lo_custkey = c_custkey
JOIN supplier ON lo_suppkey = s_suppkey
JOIN part ON lo_partkey = p_partkey
JOIN date ON lo_orderdate = d_datekey;
