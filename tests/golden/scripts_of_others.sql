-- Statements of scripts of DuckDB and PostgreSQL for which there is nothing to do.
CREATE TABLE t (a INTEGER, b VARCHAR);
CREATE SCHEMA s;
CREATE TABLE s.u (a INTEGER);
ANALYZE;
ANALYZE t;
ANALYZE VERBOSE t (a, b);
ANALYZE t (a, nope);
-- error: ProgrammingError: column 'nope' does not exist in 't' (line 1, column 15)
ANALYZE s.u;
ANALYZE u;
-- error: ProgrammingError: table 'u' does not exist (line 1, column 9)
ANALYZE t a;
-- error: ProgrammingError: syntax error at line 1, column 11: unexpected 'a', expected the end of the statement
ANALYZE t, t;
-- error: ProgrammingError: syntax error at line 1, column 10: unexpected ',', expected the end of the statement
VACUUM ANALYZE;
VACUUM ANALYZE t;
-- error: NotSupportedError: VACUUM of one table, or with an option, is not supported
INSTALL json;
LOAD 'json';
INSTALL httpfs FROM core;
LOAD spatial;
-- error: NotSupportedError: RayDB has no extensions, and nothing of 'spatial' (line 1, column 6)
LOAD;
-- error: ProgrammingError: syntax error at line 1, column 5: the statement ends too early, expected a name
PREPARE p AS ANALYZE;
-- error: NotSupportedError: PREPARE of ANALYZE is not supported
install JSON;
load httpfs;
analyze T;
INSTALL json FROM;
-- error: ProgrammingError: syntax error at line 1, column 18: the statement ends too early
INSTALL 5;
-- error: ProgrammingError: syntax error at line 1, column 9: unexpected '5', expected a name
BEGIN;
ANALYZE t;
COMMIT;
