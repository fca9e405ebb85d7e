"""A page without a browser: it hears what it is told, and asks."""

import http.client
import io
import json
import socket
import threading
import time

import pyarrow as pa
import pytest

WAIT_S = 30


class Client:
    """A page without a browser: it hears its events, and asks."""

    def __init__(self, ui, name="page-of-a-test"):
        self.port = ui.port
        self.token = ui.url.partition("token=")[2]
        self.headers = {"X-RayDB-Token": self.token, "X-RayDB-Page": name}
        self.heard = []
        self.has_ended = threading.Event()
        self._listening = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        self._listening.request("GET", "/api/events", headers=self.headers)
        self._socket = self._listening.sock
        self._lines = self._listening.getresponse()
        assert self._lines.status == 200, self._lines.read()
        assert json.loads(self._lines.readline()) == {"event": "open"}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            while line := self._lines.readline():
                if line.strip():
                    self.heard.append(json.loads(line))
        except (OSError, ValueError, AttributeError):
            pass
        self.has_ended.set()

    def leave(self):
        """End as a tab does that is killed."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def send(self, method, path, body=None, headers=None):
        """Return the status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request(method, path, body, self.headers if headers is None else headers)
        answer = connection.getresponse()
        contents = answer.read()
        connection.close()
        return answer.status, answer.headers, contents

    def post(self, name, **asked):
        """Return what is answered, which is no error."""
        status, _, contents = self.send("POST", f"/api/{name}", json.dumps(asked))
        assert status == 200, contents
        return json.loads(contents)

    def refused(self, name, **asked):
        """Return the sentence of an error."""
        status, _, contents = self.send("POST", f"/api/{name}", json.dumps(asked))
        assert status in {400, 403, 410}, (status, contents)
        return json.loads(contents)["sentence"]

    def wait(self, *events, tab="a", after=0):
        """Return the first of some events of a tab."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            for event in self.heard[after:]:
                if event["event"] in events and event.get("tab") == tab:
                    return event
            time.sleep(0.005)
        pytest.fail(f"none of {events} was heard: {self.heard}")

    def run(self, text, tab="a"):
        """Run a text to its end; return what was heard."""
        place = len(self.heard)
        self.post("run", tab=tab, text=text)
        self.wait("done", "failed", tab=tab, after=place)
        return [event for event in self.heard[place:] if event.get("tab") == tab]

    def result(self, text, tab="a"):
        """Return the event that names the rows of a query."""
        heard = self.run(text, tab)
        assert heard[-1]["event"] == "done", heard[-1]
        return next(event for event in heard if event["event"] == "columns")

    def window(self, result, offset=0, count=100):
        """Return rows as the page reads them."""
        path = f"/api/rows?result={result}&offset={offset}&count={count}"
        status, _, contents = self.send("GET", path)
        assert status == 200, contents
        rows = pa.ipc.open_stream(io.BytesIO(contents)).read_all()
        return [tuple(row.values()) for row in rows.to_pylist()]
