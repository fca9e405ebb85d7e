"""Files as statements read and write them: local ones, and objects behind URLs."""

from raydb.late import import_on_use

import_on_use(__name__)
