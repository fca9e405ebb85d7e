"""The optimizer's rules: each is a function from a plan to a plan that gives the same rows."""

from raydb.late import import_on_use

import_on_use(__name__)
