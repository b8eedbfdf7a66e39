"""Starts `apprentice serve` and speaks with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from typing import Any

# A reset starts programs; a step waits until the screen has settled.
RESET_SECONDS = 300
STEP_SECONDS = 120
END_SECONDS = 30


class ServerError(RuntimeError):
    """The server refused a request, or ended."""


class Server:
    """A running `apprentice serve`, or one that runs elsewhere at `url`."""

    def __init__(self, *options: str, url: str | None = None, token: str | None = None):
        self._process = None
        self._token = token
        #: What the program said when it began to serve; empty for a server that runs elsewhere.
        self.began: dict[str, Any] = {}
        # The server is near: no proxy.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        if url is not None:
            self.url = url.rstrip("/")
            return
        program = os.environ.get("APPRENTICE") or shutil.which("apprentice")
        if program is None:
            raise ServerError("the program apprentice was found neither in APPRENTICE nor on the PATH")
        command = [program, "serve", "--port", "0", "--json", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        said = self._first_object()
        if said is None:
            code = self._process.wait()
            self._process.stdout.close()
            raise ServerError(f"apprentice serve ended with code {code}; its message stands above")
        self.url, self.began = said["url"], said

    def _first_object(self) -> dict[str, Any] | None:
        text = ""
        for line in self._process.stdout:
            text += line
            try:
                return json.loads(text)
            except ValueError:
                continue
        return None

    def ask(self, path: str, body: Any = None, seconds: float = STEP_SECONDS) -> Any:
        """Sends a request and returns the JSON of the answer: POST with a body, else GET."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ServerError(_message(error)) from None
        except (urllib.error.URLError, OSError) as error:
            raise ServerError(f"{self.url}{path}: {error}") from None

    def close(self) -> None:
        """Ends the server, and with it the world."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _message(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return json.loads(text)["message"]
    except (ValueError, KeyError, TypeError):
        return f"{error.code}: {text}"
