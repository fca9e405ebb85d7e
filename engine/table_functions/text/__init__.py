"""text_search() and what tells of its indexes."""

from raydb.late import import_on_use

import_on_use(__name__)
