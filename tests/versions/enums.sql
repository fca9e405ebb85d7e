-- What databases answer from 0.1.0a4 on.
SELECT id, m, l, s.m, e, paid FROM visit ORDER BY visit.m DESC NULLS LAST, id;
-- 1 | 'happy' | ['sad', None] | 'ok' | 'x' | 1.50
-- 3 | 'ok' | NULL | NULL | NULL | 4.00
-- 2 | 'sad' | [] | NULL | 'y' | 2.00
SELECT m, sum(paid) FROM visit WHERE m > 'sad'::mood GROUP BY m;
-- 'happy' | 1.50
-- 'ok' | 4.00
SELECT visit.id, n FROM visit JOIN by_mood USING (m);
-- 1 | 3
-- 2 | 1
-- 3 | 2
SELECT user_defined_type_name, data_type FROM information_schema.user_defined_types;
-- 'mood' | 'ENUM(''sad'', ''ok'', ''happy'')'
-- 'price' | 'DECIMAL(9,2)'
SELECT column_name, declared_type FROM information_schema.columns WHERE table_name = 'visit';
-- 'e' | 'ENUM(''x'', ''y'')'
-- 'id' | 'INTEGER'
-- 'l' | 'mood[]'
-- 'm' | 'mood'
-- 'paid' | 'DECIMAL(9,2)'
-- 's' | 'STRUCT(m mood)'
SELECT scan, group_by, aggregate FROM bvhs() WHERE name = 'moods';
-- 'm' | 'm' | 'paid'
INSERT INTO visit (id, m) VALUES (4, 'glad');
-- error: DataError: column 'm': 'glad' is no value of type 'mood'
INSERT INTO visit (id, m) VALUES (4, 'happy') RETURNING m, m > 'ok'::mood;
-- 'happy' | true
