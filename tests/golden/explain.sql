CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER, d_month VARCHAR);

CREATE TABLE sale (day INTEGER REFERENCES day (d_id), city VARCHAR, amount INTEGER, tax INTEGER);

INSERT INTO day VALUES (1, 1994, '94-1'), (2, 1994, '94-2'), (3, 1995, '95-1');

INSERT INTO sale VALUES (1, 'Rome', 10, 1), (2, 'Rome', 20, 2), (3, 'Oslo', 40, 4), (3, 'Bari', 80, 8);

-- Without a BVH, and the reason.
EXPLAIN SELECT d_year, sum(amount) FROM sale, day WHERE day = d_id GROUP BY d_year;
-- has: path: general
-- has: there is no BVH on 'sale'
-- has: HashAggregate

CREATE BVH years ON sale (SCAN (d_year, d_month, city), GROUP BY (city), AGGREGATE (amount));

CREATE BVH cities ON sale (SCAN (city), GROUP BY (city), AGGREGATE (amount));

-- The BVH, why it was chosen, its coverage, intervals, rows and backend.
EXPLAIN SELECT city, sum(amount) FROM sale, day WHERE day.d_id = sale.day AND d_year = 1994 GROUP BY city ORDER BY city;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by city
-- has: bvh: years (largest coverage of 2 BVHs
-- has: against 2 of 'cities'
-- has: coverage: X 1 of 1, Y 1 of 1, Z 1 of 1
-- has: intervals: 1
-- has: estimated rows: 2 of 4
-- has: backend: cpu
-- has: SortRows

-- What the BVH does not hold is named.
EXPLAIN SELECT tax, sum(amount + tax) FROM sale WHERE city = 'Rome' AND amount > 5 GROUP BY tax;
-- has: path: fused
-- has: fetched by row id: (amount > 5), tax, (amount + tax)

EXPLAIN (FORMAT JSON) SELECT sum(amount) FROM sale WHERE city = 'Rome';
-- has: "path": "fused"
-- has: "bvh": "
-- has: "backend": "cpu"

-- ANALYZE runs the query and times it, and its kernel alone.
EXPLAIN ANALYZE SELECT sum(amount) FROM sale WHERE city = 'Rome';
-- has: path: fused
-- has: kernel: 0.
-- has: gave: 1 row in 0.
-- has: time:
EXPLAIN (ANALYZE, FORMAT JSON) SELECT sum(amount) FROM sale WHERE city = 'Rome';
-- has: "time_ms":
-- has: "bytes_touched":
-- has: "kernel_ms":
EXPLAIN (ANALYZE) SELECT city FROM sale;
-- has: path: general
-- has: rows in 0.
-- has: time:

-- Queries that are no star say why.
EXPLAIN SELECT city FROM sale;
-- has: path: general
-- has: the query has no aggregate
EXPLAIN SELECT city, count(DISTINCT tax) FROM sale WHERE city = 'x' GROUP BY city;
-- has: path: fused
-- has: fetched by row id: tax
EXPLAIN SELECT d_year, count(*) FROM sale, day WHERE amount = d_id GROUP BY d_year;
-- has: path: general
-- has: foreign key
EXPLAIN SELECT d_year, count(*) FROM sale FULL JOIN day ON day = d_id GROUP BY d_year;
-- has: path: general
EXPLAIN (FORMAT JSON) SELECT city FROM sale;
-- has: "path": "general"

-- The path can be switched off, and the answer is the same.
SET fused_path = 'off';

EXPLAIN SELECT sum(amount) FROM sale WHERE city = 'Rome';
-- has: path: general
-- has: fused_path
SELECT sum(amount) FROM sale WHERE city = 'Rome';
-- 30
SET fused_path = 'maybe';
-- error: ProgrammingError: fused_path is 'on' or 'off', not 'maybe'
SET backend = 'abacus';
-- error: ProgrammingError: backend 'abacus' does not exist (line 1, column 15)
SET fused_paht = 'off';
-- error: ProgrammingError: setting 'fused_paht' does not exist; did you mean 'fused_path'? (line 1, column 5)

EXPLAIN SELECT nothing FROM sale;
-- error: ProgrammingError: column 'nothing' does not exist in 'sale' (line 1, column 16)
EXPLAIN (FORMAT YAML) SELECT 1;
-- error: ProgrammingError: EXPLAIN has the formats TEXT, JSON and HTML, not YAML
