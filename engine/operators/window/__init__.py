"""Window functions over Arrow."""
