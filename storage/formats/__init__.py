"""Files of other formats: CSV, JSON lines, Parquet."""
