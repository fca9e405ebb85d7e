"""The ways in which hot loops are compiled.

    entry      called by Python; may make arrays
    compiled   called by Python; neither makes nor returns arrays, and so counts no references,
               each of which takes 5 ns, and the compiler's time
    inner      called by other loops alone: a part of theirs
    leaf       both: called by other loops, without reference counts
    inlined    a leaf that LLVM puts into its caller; numba's own inlining would find all types anew
    pasted     an entry that numba puts into its callers before it finds types

    not_inlined()   in a loop that is large and called in many places: it stays a function there

Left to itself numba optimizes each function, makes machine code of it, and does both again, with
all that it calls, for each of its callers. A part is optimized only in what Python calls.

That is kept by `raydb.kernels.code_cache`. numba's own cache fails where nothing can be written,
reads no folder that it cannot write to, and two processes that add to the index of a loop at once
may leave one's code under the other's types.

numba documents neither `_nrt`, which leaves the counts out, nor the interfaces of caches and of
libraries of code: hence its upper bound among the dependencies.
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
from llvmlite import binding
from numba.core import config
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary as _JITCodeLibrary
from numba.core.compiler import Compiler as _NumbaCompiler
from numba.core.compiler import CompileResult as _CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps as _dumps

from raydb.kernels import code_cache

if TYPE_CHECKING:
    from collections.abc import Callable

# numba has no types of its own.
CodeLibrary: Any = _JITCodeLibrary
Compiler: Any = _NumbaCompiler
CompileResult: Any = _CompileResult
dumps: Any = _dumps

_OPTIONS = {"nogil": True}


class _Part(CodeLibrary):  # type: ignore[misc]
    """The code of a loop that others call: it is linked into theirs, and optimized there alone."""

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: each loop that a part is linked into has the environment's address."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _PartCompiler(Compiler):  # type: ignore[misc]
    """A compiler to parts."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        part = library or _Part(target_context.codegen(), "part")
        super().__init__(typing_context, target_context, part, *rest)


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
        for environment in data._find_referenced_environments():  # noqa: SLF001
            data.library.codegen.set_env(environment.env_name, environment)
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


def has_feature(name: str) -> bool:
    """Tell whether loops are compiled for a feature of processors, by which they are kept, too."""
    # numba makes its settings while it is imported; its types do not name them.
    chosen = getattr(config, "CPU_FEATURES")  # noqa: B009
    if chosen is not None:
        return f"+{name}" in chosen.split(",")
    return bool(binding.get_host_cpu_features().get(name))


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


def _leave_apart(_context: Any) -> Any:
    """Called by a loop, leave it a function of its own: it is large and has many callers."""

    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return numba.types.void(), generate


def _part(**options: Any) -> Any:
    """Return a decorator that compiles to parts with some options."""
    njit: Any = numba.njit
    no_wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(pipeline_class=_PartCompiler, **_OPTIONS, **no_wrappers, **options)


entry: Any = _keeping(**_OPTIONS)
compiled: Any = _keeping(**_OPTIONS, _nrt=False)
inner: Any = _part()
leaf: Any = _part(_nrt=False)
inlined: Any = _part(_nrt=False, forceinline=True)
pasted: Any = _keeping(**_OPTIONS, inline="always")
not_inlined: Any = numba.extending.intrinsic(_leave_apart)
