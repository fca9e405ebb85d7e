"""`python -m raydb` is the command `raydb`."""

import sys

from raydb.engine.shell.process import main

sys.exit(main())
