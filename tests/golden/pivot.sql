CREATE TABLE sales (city VARCHAR, y INTEGER, q INTEGER, amount INTEGER);

INSERT INTO sales VALUES ('Oslo', 2023, 1, 5), ('Oslo', 2023, 2, 7), ('Oslo', 2024, 1, 2), ('Lyon', 2024, 1, 9), ('Lyon', NULL, 2, 4);

PIVOT sales ON y IN (2023, 2024) USING sum(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | NULL | 9
-- 'Oslo' | 12 | 2

PIVOT sales ON y IN (2023, 2025) USING sum(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | NULL | NULL
-- 'Oslo' | 12 | NULL

PIVOT sales ON y IN (2023, NULL) USING sum(amount) AS total, count(*) GROUP BY city ORDER BY city DESC LIMIT 1;
-- 'Oslo' | 12 | 2 | NULL | 0

PIVOT sales ON y IN (2024) USING sum(amount) ORDER BY ALL;
-- 'Lyon' | 1 | 9
-- 'Lyon' | 2 | NULL
-- 'Oslo' | 1 | 2
-- 'Oslo' | 2 | NULL

PIVOT sales ON y IN (2023, 2024), q IN (1, 2) USING max(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | NULL | NULL | 9 | NULL
-- 'Oslo' | 5 | 7 | 2 | NULL

PIVOT sales ON y IN (2024) GROUP BY city ORDER BY city;
-- 'Lyon' | 1
-- 'Oslo' | 1

PIVOT sales ON city || '!' IN ('Oslo!', 'Lyon!') USING sum(amount) FILTER (WHERE amount > 4) GROUP BY q ORDER BY q;
-- 1 | 5 | 9
-- 2 | 7 | NULL

PIVOT (SELECT city, q, amount FROM sales) ON city IN (Oslo, 'Lyon') USING coalesce(sum(amount), 0) ORDER BY q;
-- 1 | 7 | 9
-- 2 | 7 | 4

FROM sales PIVOT (sum(amount) AS s, max(amount) AS m FOR q IN (1, 2 AS second) GROUP BY city) ORDER BY city;
-- 'Lyon' | 9 | 9 | 4 | 4
-- 'Oslo' | 7 | 5 | 7 | 7

SELECT p.a, p.b FROM sales PIVOT (sum(amount) FOR y IN (2023) q IN (1) GROUP BY city) AS p (a, b) ORDER BY a;
-- 'Lyon' | NULL
-- 'Oslo' | 5

WITH p AS (PIVOT sales ON y IN (2023) USING sum(amount) GROUP BY city) SELECT count(*), sum("2023") FROM p;
-- 2 | 12

SELECT sum("2024") FROM (PIVOT sales ON y IN (2024) USING sum(amount) GROUP BY city) AS p;
-- 11

CREATE VIEW by_year AS PIVOT sales ON y IN (2024) USING sum(amount) GROUP BY city;

SELECT * FROM by_year ORDER BY city;
-- 'Lyon' | 9
-- 'Oslo' | 2

-- Without IN: the values that there are.
PIVOT sales ON y USING sum(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | NULL | 9
-- 'Oslo' | 12 | 2

PIVOT sales ON city, q USING sum(amount), count(*) AS n GROUP BY y ORDER BY y;
-- 2023 | NULL | 0 | NULL | 0 | 5 | 1 | 7 | 1
-- 2024 | 9 | 1 | NULL | 0 | 2 | 1 | NULL | 0
-- NULL | NULL | 0 | 4 | 1 | NULL | 0 | NULL | 0

FROM (PIVOT sales ON y IN (2024), q USING max(amount) GROUP BY city) AS p ORDER BY city;
-- 'Lyon' | 9 | NULL
-- 'Oslo' | 2 | NULL

INSERT INTO sales VALUES ('Oslo', -1, 1, 50);

PIVOT sales ON y USING sum(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | NULL | NULL | 9
-- 'Oslo' | 50 | 12 | 2

DESCRIBE PIVOT sales ON y * 1.5 USING sum(amount) GROUP BY city;
-- '-1.5' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- '3034.5' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- '3036.0' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'city' | 'VARCHAR' | 'YES' | NULL | NULL | NULL

WITH late AS (SELECT * FROM sales WHERE y > 2023), p AS (PIVOT late ON city USING sum(amount) GROUP BY y) FROM p;
-- 2024 | 9 | 2

PIVOT (PIVOT sales ON city USING sum(amount) GROUP BY q) ON q USING max("Oslo") GROUP BY "Lyon" ORDER BY "Lyon";
-- 4 | NULL | 7
-- 9 | 57 | NULL

PREPARE by_city AS PIVOT (FROM sales WHERE amount > $1) ON city USING sum(amount + $2) GROUP BY q ORDER BY q;

EXECUTE by_city(5, 100);
-- 1 | 109 | 150
-- 2 | NULL | 107

EXECUTE by_city(8, 0);
-- 1 | 9 | 50

CREATE TABLE kept AS PIVOT sales ON city USING count(*) GROUP BY y;

FROM kept ORDER BY y;
-- -1 | 0 | 1
-- 2023 | 0 | 2
-- 2024 | 1 | 1
-- NULL | 1 | 0

PIVOT (SELECT 1 AS x WHERE false) ON x USING count(*);
-- error: ProgrammingError: SELECT needs at least one column (line 1, column 15)

PIVOT sales ON nothing USING sum(amount);
-- error: ProgrammingError: column 'nothing' does not exist in 'sales' (line 1, column 16)

CREATE VIEW all_years AS PIVOT sales ON y USING sum(amount) GROUP BY city;
-- error: NotSupportedError: PIVOT ON y is not supported; list the values that become columns, as in PIVOT t ON y IN (1, 2)

PIVOT sales ON y IN (SELECT max(y) FROM sales) USING sum(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | 9
-- 'Oslo' | 2

PIVOT sales ON y IN (2023, 2023) USING sum(amount);
-- error: ProgrammingError: PIVOT has '2023' twice in IN (line 1, column 7)

PIVOT sales ON nothing IN (2023) USING sum(amount);
-- error: ProgrammingError: column 'nothing' does not exist in 'sales' (line 1, column 16)

PIVOT nothing ON y IN (2023) USING sum(amount);
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 7)

PIVOT sales ON y IN (2023) USING amount;
-- error: ProgrammingError: PIVOT needs an aggregate, not amount (line 1, column 7)

PIVOT sales ON y IN (2023) USING sum(amount) GROUP BY ALL;
-- error: NotSupportedError: ALL is not supported (line 1, column 7)

PIVOT sales ON y IN ('x') USING sum(amount);
-- error: DataError: 'x' is not a valid INTEGER (line 1, column 16)

PIVOT sales ON (y, q) IN ((2023, 1), (NULL, 2)) USING sum(amount) GROUP BY city ORDER BY city;
-- 'Lyon' | NULL | 4
-- 'Oslo' | 5 | NULL

PIVOT sales USING sum(amount);
-- error: NotSupportedError: PIVOT without ON is not supported; SELECT gives its aggregates (line 1, column 7)

PIVOT sales ON y IN (?) USING sum(amount);
-- error: ProgrammingError: the statement has 1 parameter, but 0 values were given

-- Their other names.
PIVOT_WIDER (VALUES (1, 2), (3, 4)) AS v(a, b) ON a USING sum(b);
-- 2 | 4

FROM (PIVOT_LONGER (SELECT 1 AS a, 2 AS b) ON a, b) ORDER BY name;
-- 'a' | 1
-- 'b' | 2
