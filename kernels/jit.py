"""The ways in which hot loops are compiled.

    entry      called by Python; may make arrays
    compiled   called by Python; neither makes nor returns arrays, and so counts no references,
               each of which takes 5 ns, and the compiler's time
    inner      called by other loops alone, and compiled without what Python calls
    leaf       both: called by other loops, without reference counts
    inlined    a leaf that LLVM puts into its caller; numba's own inlining would find all types anew

numba does not document `_nrt`, which leaves the counts out: hence its upper bound among the
dependencies.
"""

from __future__ import annotations

from typing import Any

import numba

_njit: Any = numba.njit
_ENTRY = {"cache": True, "nogil": True}
_INNER = {**_ENTRY, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

entry: Any = _njit(**_ENTRY)
compiled: Any = _njit(**_ENTRY, _nrt=False)
inner: Any = _njit(**_INNER)
leaf: Any = _njit(**_INNER, _nrt=False)
inlined: Any = _njit(**_INNER, _nrt=False, forceinline=True)
