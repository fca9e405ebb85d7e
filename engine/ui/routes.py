"""Which address is answered by what.

    GET  /                     the page; /page/... its files
    GET  /api/events           what happens, line by line, as long as the page is there
    GET  /api/rows, /api/cell  a window of a result as Arrow, one value as it is
    POST /api/upload           a file that was dropped on the page
    POST /api/...              questions and orders in JSON, answered in JSON
    GET  /download/KEY/NAME    a file that was asked for, once

An error is a sentence in JSON.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import threading
import traceback
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import ipc
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import raydb
from raydb import errors
from raydb.engine.shell.schema import has_external_access
from raydb.engine.ui.downloads import Downloads
from raydb.engine.ui.pages import GRACE_S
from raydb.engine.ui.plans import compare, plan_of
from raydb.engine.ui.runs import sentence_of, temporary_folder
from raydb.engine.ui.tuning import advise
from raydb.engine.ui.typing_aids import Typing
from raydb.engine.ui.uploads import Upload
from raydb.engine.ui.windows import shown_rows, whole_value
from raydb.errors import ProgrammingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from importlib.resources.abc import Traversable

    from starlette.requests import Request

    from raydb.engine.ui.pages import Page, Pages

    Answer = Callable[[Page, dict[str, Any]], Any]

# A text that somebody types, and all that goes with it.
MAX_BODY_BYTES = 16 << 20
# Rows of one window; the page asks for some hundred.
MAX_WINDOW_ROWS = 5000

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


class Routes:
    """The application. pages: those that are open. title: what is shown of the database's name."""

    def __init__(self, pages: Pages, title: str) -> None:
        self._pages = pages
        self._title = title
        self._downloads = Downloads()
        self._typing = Typing()
        self._files = dict(page_files())

    def application(self) -> Starlette:
        """Return the application, which answers whoever asks."""
        posts: dict[str, Answer] = {
            "advise": self._advise,
            "ask": self._ask,
            "cancel": lambda page, asked: page.tab(text_of(asked, "tab")).cancel(),
            "close_tab": lambda page, asked: page.close_tab(text_of(asked, "tab")),
            "complete": self._complete,
            "download": self._download,
            "facts": self._facts,
            "explain": self._explain,
            "compare": self._compare,
            "history": lambda _page, _asked: self._typing.history(),
            "run": self._run,
            "drop_upload": lambda page, asked: page.uploads.drop(text_of(asked, "path")),
        }
        routes = [
            Route("/", self._index),
            Route("/page/{name:path}", self._file),
            Route("/api/events", self._events),
            Route("/api/rows", self._rows),
            Route("/api/cell", self._cell),
            Route("/api/upload", self._upload, methods=["POST"]),
            Route("/download/{key}/{name}", self._fetch),
            *(
                Route(f"/api/{name}", partial(self._post, answer), methods=["POST"])
                for name, answer in posts.items()
            ),
        ]
        handlers: Any = {Exception: _failed, errors.Error: _failed}
        return Starlette(routes=routes, exception_handlers=handlers)

    def close(self) -> None:
        """Give up what waits to be fetched."""
        self._downloads.close()

    # -- the page's own files -------------------------------------------------------------------

    async def _index(self, request: Request) -> Response:
        text = self._files["index.html"].decode().replace("{{nonce}}", request.state.nonce)
        return Response(text, media_type=_TYPES[".html"])

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        contents = self._files.get(name)
        media_type = _TYPES.get(name[name.rfind(".") :])
        if contents is None or media_type is None:
            return JSONResponse({"sentence": "there is no such file"}, status_code=404)
        tag = f'"{hashlib.sha256(contents).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(contents, media_type=media_type, headers=headers)

    # -- events and rows ------------------------------------------------------------------------

    async def _events(self, request: Request) -> Response:
        name = _page_name(request)
        page = self._pages.open(name)

        async def lines() -> AsyncIterator[bytes]:
            try:
                yield b'{"event": "open"}\n'
                async for event in page.events():
                    yield b"\n" if event is None else json.dumps(event).encode() + b"\n"
            finally:
                self._leave_later(name)

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    def _leave_later(self, name: str) -> None:
        """Close a page, unless it listens again in a moment; that may take as long as a query."""

        def leave() -> None:
            threading.Thread(target=self._pages.leave, args=(name,), daemon=True).start()

        asyncio.get_running_loop().call_later(GRACE_S, leave)

    async def _rows(self, request: Request) -> Response:
        page = self._pages.find(_page_name(request))
        offset, count = (_number(request, name) for name in ("offset", "count"))

        def window() -> bytes:
            rows = page.result(request.query_params.get("result", "")).rows
            shown = shown_rows(rows.window(offset, min(count, MAX_WINDOW_ROWS)))
            sink = pa.BufferOutputStream()
            with ipc.new_stream(sink, shown.schema) as writer:
                writer.write_batch(shown)
            return bytes(sink.getvalue())

        return Response(
            await run_in_threadpool(window), media_type="application/vnd.apache.arrow.stream"
        )

    async def _cell(self, request: Request) -> Response:
        page = self._pages.find(_page_name(request))
        row, column = (_number(request, name) for name in ("row", "column"))

        def value() -> tuple[bytes, str]:
            rows = page.result(request.query_params.get("result", "")).rows.window(row, 1)
            if column >= rows.num_columns:
                raise ProgrammingError("there is no such column")
            return whole_value(rows.column(column))

        contents, media_type = await run_in_threadpool(value)
        return Response(contents, media_type=media_type)

    async def _fetch(self, request: Request) -> Response:
        found = self._downloads.take(request.path_params["key"])
        return StreamingResponse(
            found.pieces(),
            media_type=found.media_type,
            headers={
                "Content-Disposition": f'attachment; filename="{found.name}"',
                "Content-Length": str(found.size_bytes),
            },
            background=BackgroundTask(found.close),
        )

    async def _upload(self, request: Request) -> Response:
        page = self._pages.find(_page_name(request))
        with page.lent() as connection:
            if not has_external_access(connection):
                raise ProgrammingError("files are not read: external_access is off")
            folder = temporary_folder(connection)
        upload = Upload(request.query_params.get("name", ""), folder)
        try:
            async for piece in request.stream():
                await run_in_threadpool(upload.write, piece)
            path = page.uploads.keep(upload)
        except BaseException:
            upload.close()
            raise
        if page.is_closed:
            page.uploads.close()
        return JSONResponse({"path": path})

    # -- questions ------------------------------------------------------------------------------

    async def _post(self, answer: Answer, request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise ProgrammingError("the text is too long for the page; the shell takes it")
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise ProgrammingError("the question is no object of JSON")
        page = self._pages.find(_page_name(request))
        told = await run_in_threadpool(answer, page, asked)
        return JSONResponse({} if told is None else told)

    def _facts(self, page: Page, _: dict[str, Any]) -> dict[str, Any]:
        with page.lent() as connection:
            return {
                "version": raydb.__version__,
                "database": self._title,
                "is_read_only": connection._open_session().read_only,  # noqa: SLF001
                "has_external_access": has_external_access(connection),
            }

    def _run(self, page: Page, asked: dict[str, Any]) -> None:
        text, tab = text_of(asked, "text"), text_of(asked, "tab")
        if asked.get("is_typed", True):
            self._typing.remember(text)
        page.run(tab, text)

    def _ask(self, page: Page, asked: dict[str, Any]) -> dict[str, Any]:
        sql = text_of(asked, "sql")
        if "result" in asked:
            return page.ask_rows(text_of(asked, "result"), sql)
        parameters = asked.get("parameters", [])
        if not isinstance(parameters, list):
            raise ProgrammingError("the parameters of a question are a list")
        return page.ask(sql, parameters, asked.get("tab"))

    def _complete(self, page: Page, asked: dict[str, Any]) -> list[dict[str, Any]]:
        with page.lent(asked.get("tab")) as connection:
            return self._typing.complete(
                connection, text_of(asked, "text"), text_of(asked, "before")
            )

    def _explain(self, page: Page, asked: dict[str, Any]) -> dict[str, Any]:
        with page.lent(asked.get("tab")) as connection:
            return plan_of(connection, text_of(asked, "sql"), measures=bool(asked.get("measures")))

    def _compare(self, page: Page, asked: dict[str, Any]) -> dict[str, Any]:
        with page.lent() as connection:
            return compare(connection, text_of(asked, "sql"))

    def _advise(self, page: Page, _: dict[str, Any]) -> dict[str, Any]:
        with page.lent() as connection:
            return advise(connection, self._typing.history())

    def _download(self, page: Page, asked: dict[str, Any]) -> dict[str, Any]:
        result = page.result(text_of(asked, "result"))
        with page.lent() as connection:
            return self._downloads.make(result, text_of(asked, "format"), connection)


def text_of(asked: dict[str, Any], name: str) -> str:
    """Return a text of a question. Raises ProgrammingError where it is none."""
    value = asked.get(name)
    if not isinstance(value, str):
        raise ProgrammingError(f"the question has no text '{name}'")
    return value


def page_files() -> Iterable[tuple[str, bytes]]:
    """Yield the page's files by their names, those of vendor/ with it."""
    yield from _files_in(files("raydb.engine.ui").joinpath("page"), "")
    drawing = files("raydb.engine.session").joinpath("picture.js").read_bytes()
    yield "picture.js", drawing + b"\nexport { drawPicture };\n"


def _files_in(folder: Traversable, prefix: str) -> Iterable[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield prefix + entry.name, entry.read_bytes()
        elif entry.name == "vendor":
            yield from _files_in(entry, f"{prefix}{entry.name}/")


def _page_name(request: Request) -> str:
    name = request.headers.get("x-raydb-page", "")
    if not 8 <= len(name) <= 64:
        raise ProgrammingError("the question does not say from which page it comes")
    return name


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ProgrammingError(f"the question has no number '{name}'")
    return int(text)


async def _failed(_: Request, error: Exception) -> Response:
    """Return an error as a sentence."""
    if not isinstance(error, errors.Error):
        sys.stderr.write("".join(traceback.format_exception(error)))
    status = 410 if isinstance(error, errors.InterfaceError) else 400
    told = {"sentence": sentence_of(error), "kind": type(error).__name__}
    return JSONResponse(told, status_code=status if isinstance(error, errors.Error) else 500)
