"""Full-text search: words of texts, the rows that have them, and the BM25 score of a row."""
