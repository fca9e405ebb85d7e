"""The pages that are open, each with its tabs, and what it is told.

A page is one window of a browser. As long as it listens to its events it is there; some seconds
after it has ceased to, what runs for it is ended, and its connections and results are gone.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import raydb
from raydb.engine.ui.runs import Run
from raydb.engine.ui.uploads import Uploads
from raydb.engine.ui.windows import json_rows
from raydb.errors import InterfaceError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from raydb.engine.api.connection import Connection
    from raydb.engine.ui.runs import Result

# A page that is loaded again, or whose machine slept, is another one; this is for a lost packet.
GRACE_S = 3.0
# So often a page that hears nothing gets an empty line, which fails where nobody reads.
_BEAT_S = 5.0
# What a statement that was interrupted may still take.
_STOP_S = 10.0
# More rows are no answer that a page asks for by itself.
MAX_ANSWER_ROWS = 50_000
# Connections that wait for a page's next questions.
_MAX_IDLE = 4


class Tab:
    """A tab: its connection, the text that runs, and the rows of the last query."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.result: Result | None = None
        self._run: Run | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether a text runs."""
        return self._run is not None and not self._run.is_over

    def start(self, run: Run) -> None:
        """Begin to run a text. Raises ProgrammingError where one runs."""
        with self._lock:
            if self.is_busy:
                raise ProgrammingError("a statement runs in this tab; cancel it first")
            self._run = run
            self._thread = threading.Thread(target=run.run, name="raydb-ui-run", daemon=True)
            self._thread.start()

    def keep(self, result: Result) -> None:
        """Keep the rows of a query in place of those before."""
        before, self.result = self.result, result
        if before is not None:
            before.rows.close()

    def cancel(self) -> None:
        """End what runs."""
        if self._run is not None and self.is_busy:
            self._run.cancel()

    def close(self) -> None:
        """End what runs, undo what is not committed, and drop the rows."""
        self.cancel()
        if self._thread is not None:
            self._thread.join(_STOP_S)
        self.connection.close()
        if self.result is not None:
            self.result.rows.close()


class Page:
    """A window of a browser. base: a connection to what it shows."""

    def __init__(self, base: Connection) -> None:
        self._base = base
        self._tabs: dict[str, Tab] = {}
        self._idle: list[Connection] = []
        self._lent: set[Connection] = set()
        self._lock = threading.Lock()
        self.uploads = Uploads()
        self._events: deque[Mapping[str, Any]] = deque()
        self._has_events: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.listeners = 0
        self.is_closed = False

    # -- events ---------------------------------------------------------------------------------

    def tell(self, event: Mapping[str, Any]) -> None:
        """Tell the page about something; any thread may."""
        self._events.append(event)
        loop, has_events = self._loop, self._has_events
        if loop is not None and has_events is not None and not loop.is_closed():
            loop.call_soon_threadsafe(has_events.set)

    async def events(self) -> AsyncIterator[Mapping[str, Any] | None]:
        """Yield what the page is told, and None now and then; ends when the page is closed."""
        self._loop = asyncio.get_running_loop()
        waiting = self._has_events = asyncio.Event()
        self.listeners += 1
        try:
            while not self.is_closed:
                while self._events:
                    yield self._events.popleft()
                waiting.clear()
                try:
                    await asyncio.wait_for(waiting.wait(), _BEAT_S)
                except TimeoutError:
                    yield None
        finally:
            self.listeners -= 1

    # -- tabs -----------------------------------------------------------------------------------

    def tab(self, name: str) -> Tab:
        """Return a tab of this page; it is made where there is none."""
        with self._lock:
            self._check_open()
            if name not in self._tabs:
                self._tabs[name] = Tab(self._base.duplicate())
            return self._tabs[name]

    def run(self, name: str, text: str) -> None:
        """Begin to run a text in a tab; its events have the tab's name."""
        tab = self.tab(name)

        def tell(event: Mapping[str, Any]) -> None:
            self.tell({**event, "tab": name})

        tab.start(Run(tab.connection, text, tell, tab.keep))

    def close_tab(self, name: str) -> None:
        """End what runs in a tab, and forget it."""
        with self._lock:
            tab = self._tabs.pop(name, None)
        if tab is not None:
            tab.close()

    def result(self, result_id: str) -> Result:
        """Return the rows of a query. Raises InterfaceError where they are gone."""
        for tab in list(self._tabs.values()):
            if tab.result is not None and tab.result.id == result_id:
                return tab.result
        raise InterfaceError("these rows are no longer there; run the statement again")

    # -- questions of the page itself -----------------------------------------------------------

    @contextmanager
    def lent(self, tab_name: str | None = None) -> Iterator[Connection]:
        """Lend a connection: that of a tab where nothing runs in it, else one that is idle."""
        tab = None if tab_name is None else self._tabs.get(tab_name)
        if tab is not None and not tab.is_busy:
            yield tab.connection
            return
        with self._lock:
            self._check_open()
            connection = self._idle.pop() if self._idle else self._base.duplicate()
            self._lent.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._lent.discard(connection)
                is_kept = not self.is_closed and len(self._idle) < _MAX_IDLE
                if is_kept:
                    self._idle.append(connection)
            if not is_kept:
                connection.close()

    def ask(self, sql: str, parameters: list[Any], tab_name: str | None) -> dict[str, Any]:
        """Return the rows of a statement that the page runs for itself, see `answer`."""
        with self.lent(tab_name) as connection:
            return answer(connection, sql, parameters)

    def ask_rows(self, result_id: str, sql: str) -> dict[str, Any]:
        """Return the rows of a query over a result, which is called `result` in it."""
        result = self.result(result_id)
        table = result.rows.table().rename_columns(result.keys)
        # A database of its own: the tab may be at work, and a transaction is none of its business.
        with raydb.connect(external_access=False) as connection:
            connection.register("result", table)
            with self._lock:
                self._lent.add(connection)
            try:
                return answer(connection, sql, [])
            finally:
                with self._lock:
                    self._lent.discard(connection)

    def close(self) -> None:
        """End all that runs for the page."""
        with self._lock:
            if self.is_closed:
                return
            self.is_closed = True
            tabs, self._tabs = list(self._tabs.values()), {}
            idle, self._idle = self._idle, []
            lent = list(self._lent)
        self.tell({"event": "closed"})
        for tab in tabs:
            tab.cancel()
        for connection in lent:
            connection.interrupt()
        for tab in tabs:
            tab.close()
        for connection in idle:
            connection.close()
        self.uploads.close()

    def _check_open(self) -> None:
        if self.is_closed:
            raise InterfaceError("the page is no longer connected; load it again")


def answer(connection: Connection, sql: str, parameters: list[Any]) -> dict[str, Any]:
    """Return names, types and rows of a statement as JSON has them, and how many it wrote."""
    cursor = connection.execute(sql, parameters)
    messages = [str(warning) for _, warning in cursor.messages]
    if cursor.description is None:
        return {"names": [], "types": [], "rows": [], "written": cursor.rowcount}
    table = cursor.to_arrow_table()
    return {
        "names": [name for name, *_ in cursor.description],
        "types": [kind for _, kind, *_ in cursor.description],
        "rows": json_rows(table.slice(0, MAX_ANSWER_ROWS)),
        "count": table.num_rows,
        "messages": messages,
    }


class Pages:
    """All pages that are open, by the names that they give themselves."""

    def __init__(self, base: Connection) -> None:
        self.base = base
        self._pages: dict[str, Page] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def open(self, name: str) -> Page:
        """Return a page; it is made where there is none."""
        with self._lock:
            if self._is_closed:
                raise InterfaceError("the server has ended")
            if name not in self._pages:
                self._pages[name] = Page(self.base)
            return self._pages[name]

    def find(self, name: str) -> Page:
        """Return a page. Raises InterfaceError where there is none."""
        with self._lock:
            if name not in self._pages:
                raise InterfaceError("the page is no longer connected; load it again")
            return self._pages[name]

    def leave(self, name: str) -> None:
        """Close a page to which nobody listens any more."""
        with self._lock:
            page = self._pages.get(name)
            if page is None or page.listeners:
                return
            del self._pages[name]
        page.close()

    def close(self) -> None:
        """Close all pages, and open none any more."""
        with self._lock:
            self._is_closed = True
            pages, self._pages = list(self._pages.values()), {}
        for page in pages:
            page.close()
