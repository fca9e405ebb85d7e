-- The tables of TPC-H, section 1.4 of its specification, each after those that it refers to.
CREATE TABLE region (
    r_regionkey BIGINT PRIMARY KEY,
    r_name VARCHAR(25) NOT NULL,
    r_comment VARCHAR(152) NOT NULL
);
CREATE TABLE nation (
    n_nationkey BIGINT PRIMARY KEY,
    n_name VARCHAR(25) NOT NULL,
    n_regionkey BIGINT NOT NULL REFERENCES region (r_regionkey),
    n_comment VARCHAR(152) NOT NULL
);
CREATE TABLE supplier (
    s_suppkey BIGINT PRIMARY KEY,
    s_name VARCHAR(25) NOT NULL,
    s_address VARCHAR(40) NOT NULL,
    s_nationkey BIGINT NOT NULL REFERENCES nation (n_nationkey),
    s_phone VARCHAR(15) NOT NULL,
    s_acctbal DECIMAL(15, 2) NOT NULL,
    s_comment VARCHAR(101) NOT NULL
);
CREATE TABLE customer (
    c_custkey BIGINT PRIMARY KEY,
    c_name VARCHAR(25) NOT NULL,
    c_address VARCHAR(40) NOT NULL,
    c_nationkey BIGINT NOT NULL REFERENCES nation (n_nationkey),
    c_phone VARCHAR(15) NOT NULL,
    c_acctbal DECIMAL(15, 2) NOT NULL,
    c_mktsegment VARCHAR(10) NOT NULL,
    c_comment VARCHAR(117) NOT NULL
);
CREATE TABLE part (
    p_partkey BIGINT PRIMARY KEY,
    p_name VARCHAR(55) NOT NULL,
    p_mfgr VARCHAR(25) NOT NULL,
    p_brand VARCHAR(10) NOT NULL,
    p_type VARCHAR(25) NOT NULL,
    p_size INTEGER NOT NULL,
    p_container VARCHAR(10) NOT NULL,
    p_retailprice DECIMAL(15, 2) NOT NULL,
    p_comment VARCHAR(23) NOT NULL
);
CREATE TABLE partsupp (
    ps_partkey BIGINT NOT NULL REFERENCES part (p_partkey),
    ps_suppkey BIGINT NOT NULL REFERENCES supplier (s_suppkey),
    ps_availqty INTEGER NOT NULL,
    ps_supplycost DECIMAL(15, 2) NOT NULL,
    ps_comment VARCHAR(199) NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey)
);
CREATE TABLE orders (
    o_orderkey BIGINT PRIMARY KEY,
    o_custkey BIGINT NOT NULL REFERENCES customer (c_custkey),
    o_orderstatus VARCHAR(1) NOT NULL,
    o_totalprice DECIMAL(15, 2) NOT NULL,
    o_orderdate DATE NOT NULL,
    o_orderpriority VARCHAR(15) NOT NULL,
    o_clerk VARCHAR(15) NOT NULL,
    o_shippriority INTEGER NOT NULL,
    o_comment VARCHAR(79) NOT NULL
);
CREATE TABLE lineitem (
    l_orderkey BIGINT NOT NULL REFERENCES orders (o_orderkey),
    l_partkey BIGINT NOT NULL REFERENCES part (p_partkey),
    l_suppkey BIGINT NOT NULL REFERENCES supplier (s_suppkey),
    l_linenumber INTEGER NOT NULL,
    l_quantity DECIMAL(15, 2) NOT NULL,
    l_extendedprice DECIMAL(15, 2) NOT NULL,
    l_discount DECIMAL(15, 2) NOT NULL,
    l_tax DECIMAL(15, 2) NOT NULL,
    l_returnflag VARCHAR(1) NOT NULL,
    l_linestatus VARCHAR(1) NOT NULL,
    l_shipdate DATE NOT NULL,
    l_commitdate DATE NOT NULL,
    l_receiptdate DATE NOT NULL,
    l_shipinstruct VARCHAR(25) NOT NULL,
    l_shipmode VARCHAR(10) NOT NULL,
    l_comment VARCHAR(44) NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber),
    FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp (ps_partkey, ps_suppkey)
);
