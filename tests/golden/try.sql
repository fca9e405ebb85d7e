-- TRY: NULL where there is an error.
SELECT TRY(1 % 0), TRY(CAST('a' AS INTEGER)), TRY(1), typeof(TRY(CAST('a' AS INTEGER)));
-- NULL | NULL | 1 | 'INTEGER'
SELECT x, TRY(100 % x::INTEGER), TRY(x::INTEGER + 1) FROM (VALUES ('7'), ('0'), ('a'), (NULL)) v (x);
-- '0' | NULL | 1
-- '7' | 2 | 8
-- 'a' | NULL | NULL
-- NULL | NULL | NULL
SELECT range, TRY(range::TINYINT) FROM range(0, 300, 100);
-- 0 | 0
-- 100 | 100
-- 200 | NULL
SELECT sum(TRY(x::INTEGER)) FROM (VALUES ('7'), ('b'), ('8')) v (x);
-- 15
SELECT TRY([1, 2]::INTEGER[3]), coalesce(TRY('x'::DATE), DATE '2026-05-17');
-- NULL | 2026-05-17
SELECT TRY(random());
-- error: ProgrammingError: try() takes no subquery, and nothing that differs each time (line 1, column 8)
SELECT TRY((SELECT 1));
-- error: ProgrammingError: try() takes no subquery, and nothing that differs each time (line 1, column 8)
SELECT TRY(error('stop'));
-- error: ProgrammingError: try() takes no subquery, and nothing that differs each time (line 1, column 8)
SELECT TRY(nothing);
-- error: ProgrammingError: column 'nothing' does not exist (line 1, column 12)
SELECT TRY();
-- error: ProgrammingError: try() takes 1 argument, not 0 (line 1, column 8)
