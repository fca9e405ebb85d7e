"""The general path: physical plans run vectorised over Arrow, operator by operator."""

from raydb.late import import_on_use

import_on_use(__name__)
