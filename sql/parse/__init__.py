"""Text to statements: sqlglot's trees and hand-written grammar."""

from raydb.late import import_on_use

import_on_use(__name__)
