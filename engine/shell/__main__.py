"""`python -m raydb.engine.shell` is the command `raydb`."""

from __future__ import annotations

import sys

from raydb.engine.shell.cli import main

sys.exit(main())
