"""Plans: logical and physical nodes, and what is known of them."""

from raydb.late import import_on_use

import_on_use(__name__)
