"""Full-text search: words of texts, the rows that have them, and the BM25 score of a row."""

from raydb.late import import_on_use

import_on_use(__name__)
