-- An index for the queries that are aggregates over one star: Q1 and Q6.
CREATE BVH lines ON lineitem (
    SCAN (l_shipdate, l_discount, l_quantity),
    GROUP BY (l_returnflag, l_linestatus),
    AGGREGATE (
        l_quantity,
        l_extendedprice,
        l_discount,
        l_extendedprice * l_discount,
        l_extendedprice * (1 - l_discount),
        l_extendedprice * (1 - l_discount) * (1 + l_tax)));
