"""The scalar functions, a family a file: each registers its own as it is imported."""

import importlib
import pkgutil

for _family in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_family.name)
