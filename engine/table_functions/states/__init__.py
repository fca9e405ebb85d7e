"""detect_changes(), detect_states() and state_profile()."""

from raydb.late import import_on_use

import_on_use(__name__)
