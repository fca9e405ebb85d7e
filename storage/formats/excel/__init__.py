"""Excel workbooks, .xlsx, by openpyxl: the parts of a file, cells as columns, and writing."""
