-- What databases answer from 0.1.0a3 on.
SET timezone = 'Europe/Oslo';
SELECT id, ticket, "At"::VARCHAR, who.name, who.age, tags['a'], code::VARCHAR, big FROM visitor ORDER BY id;
-- 1 | 10 | '2026-10-25 01:30:00+02' | 'Ada' | 200 | 1 | '00000000-0000-0000-0000-0000000000ff' | 18446744073709551615
-- 2 | 11 | NULL | NULL | NULL | NULL | NULL | NULL
INSERT INTO visitor (ticket) VALUES (DEFAULT) RETURNING id, ticket;
-- 3 | 12
DESCRIBE visitor;
-- 'At' | 'TIMESTAMP WITH TIME ZONE' | 'YES' | NULL | NULL | NULL
-- 'big' | 'UBIGINT' | 'YES' | NULL | NULL | NULL
-- 'code' | 'UUID' | 'YES' | NULL | NULL | NULL
-- 'id' | 'INTEGER' | 'NO' | 'PRI' | NULL | 'GENERATED ALWAYS AS IDENTITY'
-- 'tags' | 'MAP(VARCHAR, INTEGER)' | 'YES' | NULL | NULL | NULL
-- 'ticket' | 'BIGINT' | 'YES' | NULL | 'nextval(''ticket'')' | NULL
-- 'who' | 'STRUCT(name VARCHAR, age UTINYINT)' | 'YES' | NULL | NULL | NULL
