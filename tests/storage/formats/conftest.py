"""The generated readers of FlatBuffers lie beside the tests, and importlib mode adds no folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
