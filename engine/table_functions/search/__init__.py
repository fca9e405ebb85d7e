"""What searches share: the rows that they find, and those that there are for each row that asks."""

from raydb.late import import_on_use

import_on_use(__name__)
