"""What dot commands do outside of statements: other databases, folders, programs, dumps."""

from raydb.late import import_on_use

import_on_use(__name__)
