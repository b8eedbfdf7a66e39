"""A server of one world: a program, a page or an empty desktop, without a task."""

from __future__ import annotations

import os
from typing import Any

from .connection import Connection
from .errors import ServerError, WorldError
from .program import Process
from .server import OPEN_SECONDS, STEP_SECONDS


class World:
    """A running `apprentice serve` of one world, or one that runs elsewhere at `url`; with it go what `apprentice serve --help` names,
    as in `World("--app", "mousepad")`."""

    def __init__(self, *options: str, url: str | None = None, token: str | None = None):
        self._process = None if url else Process(*options)
        #: What the program said when it began to serve; empty for a server that runs elsewhere.
        self.began: dict[str, Any] = self._process.began if self._process else {}
        self.url = url or self.began["url"]
        self.connection = Connection(self.url, token or os.environ.get("APPRENTICE_TOKEN"))

    @property
    def pid(self) -> int | None:
        """The process id of the server, if this process started it."""
        return self._process.pid if self._process else None

    def ask(self, path: str, body: Any = None, seconds: float = STEP_SECONDS) -> Any:
        """Sends a request and returns the JSON of the response: POST with a body, else GET."""
        return self.connection.ask("GET" if body is None else "POST", path, body, seconds)

    def close(self) -> None:
        """Ends the server, and with it the world."""
        self.connection.close()
        if self._process is not None:
            self._process.close()


class OneWorld:
    """A world without a task, with the face of a `Session`: nothing judges it, so it has no reward."""

    def __init__(self, world: World, max_steps: int | None = None):
        self.world, self._max_steps = world, max_steps
        self._steps, self._fresh = 0, True
        self.observation: dict[str, Any] = {}
        self.task, self.seed, self.episode, self.instruction = None, None, None, ""
        self.done = False

    def reset(self, task: str | None = None, seed: int | None = None, **_: Any) -> dict[str, Any]:
        if task is not None:
            raise ServerError(f"this world has no tasks, and so no {task!r}: name a suite", "unknown_task")
        # The server starts with a fresh world, and without a task all seeds have the same.
        if not self._fresh:
            self._asked("/reset", {}, OPEN_SECONDS)
        self._fresh, self._steps, self.done = False, 0, False
        self.observation = self._asked("/observe")
        return self.observation

    def send(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.done:
            raise ServerError("the episode has ended: reset the environment", "episode_ended", 409)
        unknown = set(body) - {"actions", "answer", "gave_up", "done"}
        if unknown:
            raise ServerError(f"a step takes no {sorted(unknown)[0]!r}", "bad_request", 400)
        said = self._asked("/step", {"actions": body.get("actions", [])})
        reports = said.pop("reports")
        self.observation, self._steps = said, self._steps + 1
        terminated = bool({"answer", "gave_up", "done"} & set(body))
        truncated = not terminated and self._max_steps is not None and self._steps >= self._max_steps
        self.done = terminated or truncated
        ended = {"terminated": terminated, "truncated": truncated, "reward": None, "verdict": None}
        return {"observation": said, "reports": reports, "step_count": self._steps, **ended}

    def _asked(self, path: str, body: Any = None, seconds: float = STEP_SECONDS) -> Any:
        try:
            return self.world.ask(path, body, seconds)
        except ServerError as error:
            # The old form of the server has no codes: a status of 500 and above is the world's.
            if error.status >= 500:
                raise WorldError(error.message, "void", error.status) from None
            raise

    def close(self) -> None:
        self.world.close()
