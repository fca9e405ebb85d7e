"""The ways in which hot loops are compiled.

    entry      called by Python; may make arrays
    compiled   called by Python; neither makes nor returns arrays, and so counts no references,
               each of which takes 5 ns, and the compiler's time
    inner      called by other loops alone, and compiled without what Python calls
    leaf       both: called by other loops, without reference counts
    inlined    a leaf that LLVM puts into its caller; numba's own inlining would find all types anew
    pasted     an entry that numba puts into its callers before it finds types

What is compiled is kept by `raydb.kernels.code_cache`. numba's own cache fails where nothing can be
written, reads no folder that it cannot write to, and two processes that add to the index of a loop
at once may leave one's code under the other's types.

numba documents neither `_nrt`, which leaves the counts out, nor the interface of caches: hence its
upper bound among the dependencies.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import platform
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult as _CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps as _dumps

from raydb.kernels import code_cache

if TYPE_CHECKING:
    from collections.abc import Callable

# numba has no types of its own.
CompileResult: Any = _CompileResult
dumps: Any = _dumps

_OPTIONS = {"nogil": True}
_INNER = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Kept(NullCache):
    """What numba asks for a loop that it would compile, and gives one that it has compiled."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        # Those of one name would get each other's code.
        assert function.__closure__ is None, function
        assert "<" not in function.__qualname__, function
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._of = f"{function.__module__} {sorted(options.items())}"
        self._claims: dict[tuple[int, Any], code_cache.Claim | None] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        loop = self._loop(sig)
        code = code_cache.load(toolchain(), loop)
        if code is None:
            self._claims[get_ident(), sig] = code_cache.claim(toolchain(), loop)
            code = code_cache.load(toolchain(), loop)  # Another process may have compiled it.
        if code is None:
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(code))  # noqa: S301, SLF001  (files of those who may write the program)

    def save_overload(self, sig: Any, data: Any) -> None:
        assert not data.library.has_dynamic_globals, self._name
        code_cache.save(toolchain(), self._loop(sig), dumps(data._reduce()))  # noqa: SLF001

    def ending_claims(self, compile_loop: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return what compiles a loop, and lets other processes have it whatever happened."""

        def compile_claimed(sig: Any) -> Any:
            try:
                return compile_loop(sig)
            finally:
                claim = self._claims.pop((get_ident(), sig), None)
                if claim is not None:
                    claim.end()

        return compile_claimed

    def _loop(self, sig: Any) -> str:
        """Return a name for the loop with arguments of these types."""
        text = f"{self._of} {sig}"
        assert " at 0x" not in text, text
        return f"{self._name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


@functools.cache
def toolchain() -> str:
    """Return a name for what compiles the loops: their sources, the tools and the processor."""
    found = hashlib.sha256(code_cache.sources_hash())
    versions = (numba.__version__, llvmlite.__version__, sys.version, platform.machine())
    found.update(repr((versions, cpu_target.target_context.codegen().magic_tuple())).encode())
    return found.hexdigest()[:24]


def _keeping(**options: Any) -> Any:
    """Return a decorator that compiles with some options and keeps what it compiled."""
    njit: Any = numba.njit(**options)

    def decorate(function: Callable[..., Any]) -> Any:
        loop = njit(function)
        if hasattr(loop, "_cache"):  # NUMBA_DISABLE_JIT leaves a function as it is.
            kept = loop._cache = _Kept(function, options)  # noqa: SLF001
            loop.compile = kept.ending_claims(loop.compile)
        return loop

    return decorate


entry: Any = _keeping(**_OPTIONS)
compiled: Any = _keeping(**_OPTIONS, _nrt=False)
inner: Any = _keeping(**_INNER)
leaf: Any = _keeping(**_INNER, _nrt=False)
inlined: Any = _keeping(**_INNER, _nrt=False, forceinline=True)
pasted: Any = _keeping(**_OPTIONS, inline="always")
