"""The Star Schema Benchmark: its schema, a generator, the 13 queries, a check and a runner."""
