"""Excel workbooks, .xlsx, by openpyxl: the parts of a file, cells as columns, and writing."""

from raydb.late import import_on_use

import_on_use(__name__)
