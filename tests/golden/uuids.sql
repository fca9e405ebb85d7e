-- UUID: random ones, their text, order and parts.
SELECT typeof(gen_random_uuid()), typeof(uuid()), typeof(uuidv4()), typeof(uuidv7()), length(uuid()::VARCHAR);
-- 'UUID' | 'UUID' | 'UUID' | 'UUID' | 36

SELECT count(DISTINCT gen_random_uuid()), count(DISTINCT uuidv7()) FROM range(100);
-- 100 | 100

SELECT 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::UUID, '{a0eebc999c0b4ef8bb6d6bb9bd380a11}'::UUID::VARCHAR;
-- UUID('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11') | 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'

SELECT 'zz'::UUID;
-- error: DataError: 'zz' is not a valid UUID (line 1, column 8)

SELECT TRY_CAST('zz' AS UUID), NULL::UUID;
-- NULL | NULL

SELECT uuid_extract_version(uuid()), uuid_extract_version(uuidv7()), uuid_extract_version(NULL);
-- 4 | 7 | NULL

SELECT uuid_extract_timestamp('019bd6c0-0000-7000-8000-000000000000'), uuid_extract_timestamp(uuidv7()) > now() - INTERVAL 1 MINUTE;
-- 2026-01-19T14:54:25.792000+00:00 | true

SELECT uuid_extract_timestamp('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
-- error: DataError: a UUID of version 4 has no timestamp

CREATE TABLE t (id UUID PRIMARY KEY DEFAULT uuid(), n INTEGER);

INSERT INTO t VALUES ('00000000-0000-0000-0000-0000000000ff', 1), ('f0000000-0000-0000-0000-000000000000', 2), ('00000000-0000-0000-0000-000000000001', 3);

INSERT INTO t (n) VALUES (4), (5);

INSERT INTO t VALUES ('00000000-0000-0000-0000-000000000001', 9);
-- error: IntegrityError: table 't', row 1: the primary key (id) = ('00000000-0000-0000-0000-000000000001') is in the table already

SELECT id, n FROM t WHERE n < 4 ORDER BY id;
-- UUID('00000000-0000-0000-0000-000000000001') | 3
-- UUID('00000000-0000-0000-0000-0000000000ff') | 1
-- UUID('f0000000-0000-0000-0000-000000000000') | 2

SELECT min(id), max(id), count(DISTINCT id) FROM t WHERE n < 4;
-- UUID('00000000-0000-0000-0000-000000000001') | UUID('f0000000-0000-0000-0000-000000000000') | 3

SELECT n FROM t WHERE id > '00000000-0000-0000-0000-000000000001' AND n < 4 ORDER BY n;
-- 1
-- 2

SELECT a.n FROM t a JOIN t b USING (id) WHERE b.n = 2;
-- 2

SELECT id IN ('f0000000-0000-0000-0000-000000000000'), n FROM t WHERE n BETWEEN 2 AND 3 ORDER BY n;
-- true | 2
-- false | 3

-- A hyphen may be behind any four digits; the 16 bytes are a UUID too.
SELECT '1234-5678-9abc-def0-1234-5678-9abc-def0'::UUID::VARCHAR AS a, x'123456789abcdef0123456789abcdef0'::UUID::VARCHAR AS b,
    '12345678-9abc-def0-1234-56789abcdef0'::UUID::BLOB AS c, TRY_CAST(x'12' AS UUID) AS d;
-- '12345678-9abc-def0-1234-56789abcdef0' | '12345678-9abc-def0-1234-56789abcdef0' | b'\x124Vx\x9a\xbc\xde\xf0\x124Vx\x9a\xbc\xde\xf0' | NULL

SELECT x'1234'::UUID;
-- error: DataError: \x1234 is out of range for UUID

SELECT '123-45678-9abc-def0-1234-56789abcdef0'::UUID;
-- error: DataError: '123-45678-9abc-def0-1234-56789abcdef0' is not a valid UUID (line 1, column 8)
