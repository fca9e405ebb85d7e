"""text_search() and what tells of its indexes."""
