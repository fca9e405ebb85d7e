"""`python -m raydb` is the command `raydb`."""

import sys

from raydb.engine.shell.cli import main

sys.exit(main())
