"""vector_search() and index_calibrations()."""
