"""JSON over one HTTP connection that is kept."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from .errors import ServerError, WorldError

#: The server closes a connection that is idle for 30 s; an older one is not used again, as a request that was lost with it could
#: have been carried out.
FRESH_SECONDS = 15
#: Codes that mean that there is no world, and so no verdict.
VOID = {"void", "no_session"}


class Connection:
    """Asks one server. Threads take turns; after a fork the child opens a connection of its own."""

    def __init__(self, url: str, token: str | None = None):
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ServerError(f"{url!r} is no address such as http://127.0.0.1:5000", "bad_url")
        self.url = url.rstrip("/")
        self._open: http.client.HTTPConnection | None = None
        self._host, self._port, self._base = parts.hostname, parts.port or 80, parts.path.rstrip("/")
        self._token = token
        self._forget()

    def _forget(self) -> None:
        self._lock, self._open, self._used, self._owner = threading.Lock(), None, 0.0, os.getpid()

    # A connection is no part of what is pickled.
    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "token": self._token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    def ask(self, method: str, path: str, body: Any = None, seconds: float = 120) -> Any:
        """Sends a request and returns the JSON of the response, `None` for an empty one.

        Raises `WorldError` where there is no world or no server, and `ServerError` where the request was refused."""
        if self._owner != os.getpid():
            # Closing a copy of a socket leaves the parent's open.
            self._drop()
            self._forget()
        with self._lock:
            try:
                status, data = self._exchange(method, path, body, seconds)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                raise WorldError(f"{self.url}{path}: {_told(error, seconds)}", "no_server") from None
            except BaseException:
                # Whatever comes back later is the answer to this request, not to the next one.
                self._drop()
                raise
        if status >= 400:
            raise _problem(status, data)
        return json.loads(data) if data else None

    def _exchange(self, method: str, path: str, body: Any, seconds: float) -> tuple[int, bytes]:
        if self._open is None or time.monotonic() - self._used > FRESH_SECONDS:
            self._drop()
            self._open = http.client.HTTPConnection(self._host, self._port, timeout=seconds)
            self._open.connect()
        self._open.sock.settimeout(seconds)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        self._open.request(method, self._base + path, data, headers)
        answer = self._open.getresponse()
        read = answer.read()
        self._used = time.monotonic()
        if answer.will_close:
            self._drop()
        return answer.status, read

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._owner == os.getpid():
            with self._lock:
                self._drop()


def _told(error: Exception, seconds: float) -> str:
    return f"no answer within {seconds:g} s" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"


def _problem(status: int, data: bytes) -> ServerError:
    try:
        said = json.loads(data)
        message, code = said["message"], said.get("code", "")
    except (ValueError, KeyError, TypeError, AttributeError):
        message, code = f"{status}: {data.decode(errors='replace')[:500]}", ""
    kind = WorldError if code in VOID else ServerError
    return kind(message, code, status)
