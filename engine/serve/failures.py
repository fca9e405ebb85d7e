"""PEP 249's errors as Flight's: each class has a status of gRPC, and the sentence stays the same.

| class | status |
|---|---|
| ProgrammingError, DataError, IntegrityError, InterfaceError | INVALID_ARGUMENT |
| NotSupportedError | UNIMPLEMENTED |
| OperationalError, ConflictError | UNKNOWN; CANCELLED of a statement that was interrupted |
| InternalError, and what is no error of RayDB's | INTERNAL |

The header x-raydb-error has the name of the class. pyarrow adds "Detail: ..." to the sentence, for
other than its own errors a traceback; grpc-status-details-bin, which clients in Go (ADBC) read
first, has the sentence alone.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import flight

from raydb import errors
from raydb.engine.serve.messages import write

if TYPE_CHECKING:
    from collections.abc import Iterator

# gRPC refuses headers beyond 8 KiB, and a sentence is in four of them.
_LONGEST = 700

_CANCELLED, _UNKNOWN, _INVALID_ARGUMENT, _UNIMPLEMENTED, _INTERNAL = 1, 2, 3, 12, 13


class InterruptedStatementError(errors.OperationalError):
    """The client has cancelled the statement, or has gone."""


@contextmanager
def telling(context: flight.ServerCallContext) -> Iterator[None]:
    """Turn an error of RayDB into one that Flight sends to the client."""
    try:
        yield
    except (flight.FlightError, KeyboardInterrupt, SystemExit):
        raise
    except MemoryError:
        failure: Exception = errors.OperationalError("the server has too little memory")
        raise _told(failure, context) from None
    except errors.Error as error:
        raise _told(error, context) from None
    except Exception as error:
        sys.stderr.write("".join(traceback.format_exception(error)))
        failure = errors.InternalError(f"the server has failed: {type(error).__name__}")
        raise _told(failure, context) from error


def _told(error: Exception, context: flight.ServerCallContext) -> Exception:
    """Return the exception to raise, and send along what it cannot hold."""
    sentence = str(error)
    if len(sentence.encode(errors="replace")) > _LONGEST:
        sentence = sentence.encode(errors="replace")[:_LONGEST].decode(errors="ignore") + " ..."
    code, kind = _status(error)
    context.add_trailer("x-raydb-error", _class_of(error))
    context.add_trailer("grpc-status-details-bin", write({1: code, 2: sentence}))
    return kind(sentence)


def _class_of(error: Exception) -> str:
    """Return the name of the public class of an error."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)


def _status(error: Exception) -> tuple[int, type[Exception]]:
    """Return gRPC's code, and the exception that pyarrow makes it of."""
    match error:
        case InterruptedStatementError():
            return _CANCELLED, flight.FlightCancelledError
        case errors.OperationalError():
            return _UNKNOWN, flight.FlightServerError
        case errors.NotSupportedError():
            return _UNIMPLEMENTED, pa.ArrowNotImplementedError
        case errors.InternalError():
            return _INTERNAL, flight.FlightInternalError
        case _:
            return _INVALID_ARGUMENT, pa.ArrowInvalid
