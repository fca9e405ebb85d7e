CREATE TABLE months (id INTEGER, jan INTEGER, feb INTEGER, mar DOUBLE);

INSERT INTO months VALUES (1, 10, NULL, 1.5), (2, NULL, 20, 2.5);

UNPIVOT months ON jan, feb INTO NAME month VALUE sales ORDER BY ALL;
-- 1 | 1.5 | 'jan' | 10
-- 2 | 2.5 | 'feb' | 20

UNPIVOT months ON jan, mar ORDER BY ALL;
-- 1 | NULL | 'jan' | 10.0
-- 1 | NULL | 'mar' | 1.5
-- 2 | 20 | 'mar' | 2.5

UNPIVOT months ON COLUMNS(* EXCLUDE (id)) INTO NAME month VALUE sales ORDER BY ALL;
-- 1 | 'jan' | 10.0
-- 1 | 'mar' | 1.5
-- 2 | 'feb' | 20.0
-- 2 | 'mar' | 2.5

UNPIVOT months ON * EXCLUDE (id, mar) ORDER BY ALL;
-- 1 | 1.5 | 'jan' | 10
-- 2 | 2.5 | 'feb' | 20

UNPIVOT months ON jan + 1 AS next, feb ORDER BY ALL;
-- 1 | 1.5 | 'next' | 11
-- 2 | 2.5 | 'feb' | 20

UNPIVOT months ON (jan, feb) AS early, (feb, jan) AS swapped INTO NAME part VALUE a, b;
-- (no rows)

FROM months UNPIVOT (sales FOR month IN (jan, feb AS "2nd")) ORDER BY ALL;
-- 1 | 1.5 | 'jan' | 10
-- 2 | 2.5 | '2nd' | 20

FROM months UNPIVOT INCLUDE NULLS (sales FOR month IN (jan, feb)) ORDER BY ALL;
-- 1 | 1.5 | 'feb' | NULL
-- 1 | 1.5 | 'jan' | 10
-- 2 | 2.5 | 'feb' | 20
-- 2 | 2.5 | 'jan' | NULL

FROM months UNPIVOT INCLUDE NULLS ((a, b) FOR part IN ((jan, feb) AS early, (mar, id) AS late)) ORDER BY ALL;
-- 'early' | 10.0 | NULL
-- 'early' | NULL | 20
-- 'late' | 1.5 | 1
-- 'late' | 2.5 | 2

SELECT u.month, sum(u.sales) FROM months UNPIVOT (sales FOR month IN (jan, feb)) AS u GROUP BY ALL ORDER BY ALL;
-- 'feb' | 20
-- 'jan' | 10

WITH u AS (UNPIVOT months ON jan, feb) SELECT count(*) FROM u;
-- 2

SELECT m.id, u.value FROM (UNPIVOT (SELECT id, jan, feb FROM months) ON jan, feb) AS u JOIN months m USING (id) ORDER BY m.id;
-- 1 | 10
-- 2 | 20

CREATE VIEW long AS FROM months UNPIVOT (sales FOR month IN (jan, feb));

SELECT * FROM long ORDER BY id;
-- 1 | 1.5 | 'jan' | 10
-- 2 | 2.5 | 'feb' | 20

UNPIVOT months ON nothing;
-- error: ProgrammingError: column 'nothing' does not exist in 'months' (line 1, column 19)

UNPIVOT months ON jan, feb INTO NAME month VALUE a, b;
-- error: ProgrammingError: UNPIVOT gives 1 columns for 'jan', but names 2 (line 1, column 9)

FROM months UNPIVOT (v FOR a IN (jan) b IN (feb));
-- error: NotSupportedError: UNPIVOT with several FOR is not supported (line 1, column 6)

UNPIVOT nothing ON jan;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 9)

UNPIVOT (SELECT 1 AS "Jan", 2 AS feb) ON jan, FEB;
-- 'Jan' | 1
-- 'feb' | 2

SELECT * FROM (SELECT 1 AS a, 2 AS b, 3 AS c) UNPIVOT ((x, y) FOR (m, n) IN ((a, b), (b, c)));
-- error: NotSupportedError: UNPIVOT with several names in FOR is not supported (line 1, column 23)

SELECT * FROM (SELECT 1 AS a, 2 AS b, 3 AS c) UNPIVOT ((x, y) FOR m IN ((a, b) AS ('one', 'two'), (b, c)));
-- error: NotSupportedError: UNPIVOT with several names behind AS is not supported (line 1, column 23)
