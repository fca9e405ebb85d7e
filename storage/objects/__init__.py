"""Object stores: files and databases behind URLs such as s3://bucket/key, by obstore."""

from raydb.late import import_on_use

import_on_use(__name__)
