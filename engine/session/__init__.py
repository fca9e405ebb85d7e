"""The session: from the text of a statement to its result."""

from raydb.late import import_on_use

import_on_use(__name__)
