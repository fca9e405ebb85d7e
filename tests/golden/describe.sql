CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR UNIQUE NOT NULL, size DECIMAL(10, 2) DEFAULT 1.5);

CREATE TABLE shop (a BIGINT, b TIMESTAMP, c DOUBLE, d BLOB, nation INTEGER REFERENCES nation, UNIQUE (a, b), PRIMARY KEY (a, c));

CREATE VIEW v AS SELECT name, count(*) AS n FROM nation GROUP BY name;

DESCRIBE nation;
-- 'id' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
-- 'name' | 'VARCHAR' | 'NO' | 'UNI' | NULL | NULL
-- 'size' | 'DECIMAL(10,2)' | 'YES' | NULL | '1.5' | NULL

DESC main.shop;
-- 'a' | 'BIGINT' | 'NO' | 'PRI' | NULL | NULL
-- 'b' | 'TIMESTAMP' | 'YES' | NULL | NULL | NULL
-- 'c' | 'DOUBLE' | 'NO' | 'PRI' | NULL | NULL
-- 'd' | 'BLOB' | 'YES' | NULL | NULL | NULL
-- 'nation' | 'INTEGER' | 'YES' | NULL | NULL | NULL

DESCRIBE v;
-- 'n' | 'BIGINT' | 'YES' | NULL | NULL | NULL
-- 'name' | 'VARCHAR' | 'YES' | NULL | NULL | NULL

DESCRIBE SELECT id + 1 AS next, name, size * 2 AS twice, NULL AS nothing FROM nation;
-- 'name' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'next' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'nothing' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'twice' | 'DECIMAL(12,2)' | 'YES' | NULL | NULL | NULL

DESCRIBE WITH q AS (SELECT true AS yes) FROM q;
-- 'yes' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL

DESCRIBE nothing;
-- error: ProgrammingError: table 'nothing' does not exist; did you mean 'nation'? (line 1, column 10)

DESCRIBE SELECT nothing FROM nation;
-- error: ProgrammingError: column 'nothing' does not exist in 'nation' (line 1, column 17)

DESCRIBE;
-- 'raydb' | 'main' | 'nation' | ['id', 'name', 'size'] | ['INTEGER', 'VARCHAR', 'DECIMAL(10,2)'] | false
-- 'raydb' | 'main' | 'shop' | ['a', 'b', 'c', 'd', 'nation'] | ['BIGINT', 'TIMESTAMP', 'DOUBLE', 'BLOB', 'INTEGER'] | false
-- 'raydb' | 'main' | 'v' | ['name', 'n'] | ['VARCHAR', 'BIGINT'] | false

SHOW TABLES;
-- 'nation'
-- 'shop'
-- 'v'

SHOW fused_path_;
-- error: ProgrammingError: setting 'fused_path_' does not exist; did you mean 'fused_path'? (line 1, column 6)

SHOW backend;
-- 'auto'

SET backend = 'cpu';

SHOW backend;
-- 'cpu'

RESET backend;

SHOW backend;
-- 'auto'

SHOW ALL TABLES;
-- 'raydb' | 'main' | 'nation' | ['id', 'name', 'size'] | ['INTEGER', 'VARCHAR', 'DECIMAL(10,2)'] | false
-- 'raydb' | 'main' | 'shop' | ['a', 'b', 'c', 'd', 'nation'] | ['BIGINT', 'TIMESTAMP', 'DOUBLE', 'BLOB', 'INTEGER'] | false
-- 'raydb' | 'main' | 'v' | ['name', 'n'] | ['VARCHAR', 'BIGINT'] | false
SHOW ALL;
-- error: NotSupportedError: SHOW ALL is not supported; SHOW ALL TABLES lists the tables

RESET nothing;
-- error: ProgrammingError: setting 'nothing' does not exist (line 1, column 7)

RESET ALL;
-- error: NotSupportedError: RESET ALL is not supported; name a setting

SHOW;
-- 'raydb' | 'main' | 'nation' | ['id', 'name', 'size'] | ['INTEGER', 'VARCHAR', 'DECIMAL(10,2)'] | false
-- 'raydb' | 'main' | 'shop' | ['a', 'b', 'c', 'd', 'nation'] | ['BIGINT', 'TIMESTAMP', 'DOUBLE', 'BLOB', 'INTEGER'] | false
-- 'raydb' | 'main' | 'v' | ['name', 'n'] | ['VARCHAR', 'BIGINT'] | false

-- In FROM, and CALL.
CREATE TABLE described (i INTEGER PRIMARY KEY, v VARCHAR DEFAULT 'x');

FROM (DESCRIBE described);
-- 'i' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
-- 'v' | 'VARCHAR' | 'YES' | NULL | '''x''' | NULL

SELECT column_name FROM (DESCRIBE SELECT v AS w, i FROM described) AS d WHERE column_type = 'VARCHAR';
-- 'w'

WITH described AS (SELECT 1 AS other) SELECT column_name FROM (DESCRIBE described);
-- 'other'

FROM (DESCRIBE nothing);
-- error: ProgrammingError: table 'nothing' does not exist; did you mean 'nation'? (line 1, column 16)

CALL pragma_table_info('described');
-- 0 | 'i' | 'INTEGER' | true | NULL | true
-- 1 | 'v' | 'VARCHAR' | false | '''x''' | false

CALL nothing(1);
-- error: NotSupportedError: the table function nothing() is not supported (line 1, column 6)

CALL 1 + 1;
-- error: ProgrammingError: CALL needs a table function, as in CALL pragma_table_info('t')

DESCRIBE 'a.csv' WHERE x = 1;
-- error: ProgrammingError: syntax error at line 1, column 18: unexpected 'WHERE', expected the end of the statement

SUMMARIZE 'a.csv' ORDER BY 1;
-- error: ProgrammingError: syntax error at line 1, column 19: unexpected 'ORDER BY', expected the end of the statement
