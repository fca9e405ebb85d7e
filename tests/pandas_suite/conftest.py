"""The fixtures of pandas' own tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pandas.conftest import *  # noqa: F403

if TYPE_CHECKING:
    from pathlib import Path

# What the tests know of the file: the first row, that there are 150, eight of which are like it in
# some columns, and the kinds of the others.
_FIRST = "5.1,3.5,1.4,0.2,Iris-setosa"
_IRIS = ["SepalLength,SepalWidth,PetalLength,PetalWidth,Name", _FIRST]
_IRIS += [f"5.1,{n}.5,1.5,0.3,Iris-setosa" for n in range(7)]
_IRIS += [
    f"6.{n},3.0,4.5,1.5,Iris-{kind}" for n in range(71) for kind in ("versicolor", "virginica")
]


@pytest.fixture
def iris_path(tmp_path: Path) -> Path:
    path = tmp_path / "iris.csv"
    path.write_text("\n".join([*_IRIS, ""]))
    return path
