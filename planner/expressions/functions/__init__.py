"""The scalar functions, a family a file: each registers its own as it is imported."""

from raydb.late import import_on_use

import_on_use(__name__)
