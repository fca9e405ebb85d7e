-- The Star Schema Benchmark (O'Neil, O'Neil, Chen; revision 3): the fact table lineorder and its
-- dimensions, with the columns in the order of the official .tbl files. Dates are numbers yyyymmdd,
-- money is in cents, flags are 0 or 1.

CREATE TABLE date (
  d_datekey INTEGER NOT NULL PRIMARY KEY,
  d_date VARCHAR(18) NOT NULL,
  d_dayofweek VARCHAR(9) NOT NULL,
  d_month VARCHAR(9) NOT NULL,
  d_year SMALLINT NOT NULL,
  d_yearmonthnum INTEGER NOT NULL,
  d_yearmonth VARCHAR(7) NOT NULL,
  d_daynuminweek TINYINT NOT NULL,
  d_daynuminmonth TINYINT NOT NULL,
  d_daynuminyear SMALLINT NOT NULL,
  d_monthnuminyear TINYINT NOT NULL,
  d_weeknuminyear TINYINT NOT NULL,
  d_sellingseason VARCHAR(12) NOT NULL,
  d_lastdayinweekfl TINYINT NOT NULL,
  d_lastdayinmonthfl TINYINT NOT NULL,
  d_holidayfl TINYINT NOT NULL,
  d_weekdayfl TINYINT NOT NULL
);

CREATE TABLE customer (
  c_custkey INTEGER NOT NULL PRIMARY KEY,
  c_name VARCHAR(25) NOT NULL,
  c_address VARCHAR(25) NOT NULL,
  c_city VARCHAR(10) NOT NULL,
  c_nation VARCHAR(15) NOT NULL,
  c_region VARCHAR(12) NOT NULL,
  c_phone VARCHAR(15) NOT NULL,
  c_mktsegment VARCHAR(10) NOT NULL
);

CREATE TABLE supplier (
  s_suppkey INTEGER NOT NULL PRIMARY KEY,
  s_name VARCHAR(25) NOT NULL,
  s_address VARCHAR(25) NOT NULL,
  s_city VARCHAR(10) NOT NULL,
  s_nation VARCHAR(15) NOT NULL,
  s_region VARCHAR(12) NOT NULL,
  s_phone VARCHAR(15) NOT NULL
);

CREATE TABLE part (
  p_partkey INTEGER NOT NULL PRIMARY KEY,
  p_name VARCHAR(22) NOT NULL,
  p_mfgr VARCHAR(6) NOT NULL,
  p_category VARCHAR(7) NOT NULL,
  p_brand1 VARCHAR(9) NOT NULL,
  p_color VARCHAR(11) NOT NULL,
  p_type VARCHAR(25) NOT NULL,
  p_size TINYINT NOT NULL,
  p_container VARCHAR(10) NOT NULL
);

-- lo_commitdate is a day of the table date too, but is not declared so: with two paths from
-- lineorder to date, d_year alone would no longer name one column in CREATE BVH.
CREATE TABLE lineorder (
  lo_orderkey INTEGER NOT NULL,
  lo_linenumber TINYINT NOT NULL,
  lo_custkey INTEGER NOT NULL,
  lo_partkey INTEGER NOT NULL,
  lo_suppkey INTEGER NOT NULL,
  lo_orderdate INTEGER NOT NULL,
  lo_orderpriority VARCHAR(15) NOT NULL,
  lo_shippriority TINYINT NOT NULL,
  lo_quantity TINYINT NOT NULL,
  lo_extendedprice INTEGER NOT NULL,
  lo_ordtotalprice INTEGER NOT NULL,
  lo_discount TINYINT NOT NULL,
  lo_revenue INTEGER NOT NULL,
  lo_supplycost INTEGER NOT NULL,
  lo_tax TINYINT NOT NULL,
  lo_commitdate INTEGER NOT NULL,
  lo_shipmode VARCHAR(10) NOT NULL,
  PRIMARY KEY (lo_orderkey, lo_linenumber),
  FOREIGN KEY (lo_custkey) REFERENCES customer (c_custkey),
  FOREIGN KEY (lo_partkey) REFERENCES part (p_partkey),
  FOREIGN KEY (lo_suppkey) REFERENCES supplier (s_suppkey),
  FOREIGN KEY (lo_orderdate) REFERENCES date (d_datekey)
);
