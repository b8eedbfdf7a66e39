"""A server with many worlds, and one session of it."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any

from .connection import Connection
from .errors import ServerError
from .program import Process

#: A world may have to wait in the queue, and then starts programs.
OPEN_SECONDS = 900
#: A step waits until the screen has settled, and may end with a check.
STEP_SECONDS = 300
#: Closing a world takes a moment.
END_SECONDS = 30
#: Most worlds that a server of ours has open at once, unless it is told otherwise.
SESSIONS = 64


class Server:
    """`apprentice serve` as a pool: one process, many worlds, each a session.

    `Server("tasks/starter")` starts one, which ends with this process, however that ends. `Server(url=…)` uses one that
    runs elsewhere. Environments that are given a suite share one server for each suite: `Server.of(suite)`."""

    def __init__(
        self,
        suite: str | os.PathLike[str] | None = None,
        *,
        sessions: int = SESSIONS,
        warm: int = 0,
        out: str | os.PathLike[str] | None = None,
        options: tuple[str, ...] = (),
        url: str | None = None,
        token: str | None = None,
    ):
        if (suite is None) == (url is None):
            raise ValueError("name a suite to be served, or the url of a server that runs: one of the two")
        self._process: Process | None = None
        token = token or os.environ.get("APPRENTICE_TOKEN")
        if url is None:
            given = ["--suite", os.fspath(suite), "--sessions", str(sessions), "--warm", str(warm)]
            given += [] if out is None else ["--out", os.fspath(out)]
            self._process = Process(*given, *options)
            url = self._process.began["url"]
        self.connection = Connection(url, token)
        self.url, self.token = self.connection.url, token
        self._tasks: dict[str, dict[str, Any]] | None = None

    @staticmethod
    def of(suite: str | os.PathLike[str], **settings: Any) -> Server:
        """Returns the server of this process for a suite; the first call starts it. A forked process uses its parent's.

        A path that begins with `http://` is the address of a server that runs elsewhere. The first caller's settings hold:
        other ones later are an error, as the server cannot be changed while it runs."""
        name = os.fspath(suite)
        elsewhere = name.startswith("http://")
        key = name if elsewhere else os.path.realpath(name)
        with _lock:
            held = _shared.get(key)
            if held is not None and not held[0].has_ended:
                server, known = held
                if settings and settings != known:
                    raise ValueError(f"a server of {name} runs already, with {known or 'the defaults'}, not {settings}")
                return server
            server = Server(url=name, **settings) if elsewhere else Server(name, **settings)
            _shared[key] = (server, settings)
            return server

    @property
    def has_ended(self) -> bool:
        """Whether a server that this process started is gone."""
        return self._process is not None and self._process.has_ended

    @property
    def pid(self) -> int | None:
        """The process id of the server, if this process started it."""
        return self._process.pid if self._process else None

    def tasks(self) -> dict[str, dict[str, Any]]:
        """The tasks by name: `instruction`, `variations` (`None` for as many as there are seeds), `environment`."""
        if self._tasks is None:
            self._tasks = {row["task"]: row for row in self.connection.ask("GET", "/tasks")["tasks"]}
        return self._tasks

    def open(self, task: str | None = None, seed: int | None = None, **settings: Any) -> Session:
        """Opens a world. Settings: `max_steps`, `max_seconds`, `reward` (`"end"` or `"step"`), `screenshot`, `outline`, `episode`."""
        said = self.connection.ask("POST", "/sessions", _body(task, seed, settings), OPEN_SECONDS)
        return Session(self, said)

    def open_group(self, count: int, task: str | None = None, seed: int | None = None, **settings: Any) -> list[Session]:
        """Opens the same world `count` times, all or none: a group of GRPO."""
        if count < 1:
            raise ValueError(f"a group has at least one session, not {count}")
        body = {**_body(task, seed, settings), "count": count}
        said = self.connection.ask("POST", "/sessions", body, OPEN_SECONDS)
        # A group of one is answered as one.
        return [Session(self, one) for one in said.get("sessions", [said])]

    def close(self) -> None:
        """Ends a server that this process started, and its worlds with it."""
        self.connection.close()
        if self._process is not None:
            self._process.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # A process that gets a server by pickle uses it, and does not own it.
    def __getstate__(self) -> dict[str, Any]:
        return {"url": self.url, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)


class Session:
    """One world, from its opening to its end. `reset` gives it another."""

    def __init__(self, server: Server, said: dict[str, Any]):
        self.server = server
        # One connection a session: worlds are stepped side by side.
        self._connection = Connection(server.url, server.token)
        self._owner, self._closed = os.getpid(), False
        self._began(said)

    def _began(self, said: dict[str, Any]) -> None:
        self.id: str = said["session"]
        self.episode: str = said["episode"]
        self.task: str = said["task"]
        self.seed: int = said["seed"]
        self.instruction: str = said["instruction"] or ""
        #: What was observed last.
        self.observation: dict[str, Any] = said["observation"]
        #: Whether the episode has ended, by the agent or by a limit.
        self.done = False
        #: The sum of the rewards so far; `None` before any was given.
        self.reward: float | None = None
        #: The verdict of the task's checks, once there is one.
        self.verdict: dict[str, Any] | None = None
        #: Where this session was forked from, or `None`.
        self.forked_from: dict[str, Any] | None = said.get("forked_from")

    def step(
        self,
        *actions: dict[str, Any],
        answer: str | None = None,
        gave_up: bool = False,
        done: bool = False,
    ) -> dict[str, Any]:
        """Performs actions in order, up to the first that is refused, and ends the episode if told so.

        The result has `observation`, `reports`, `reward` (`None` where nothing was judged), `terminated`, `truncated`, `verdict`."""
        body: dict[str, Any] = {"actions": list(actions)} if actions else {}
        if answer is not None:
            body["answer"] = answer
        body.update({name: True for name, value in (("gave_up", gave_up), ("done", done)) if value})
        return self.send(body)

    def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Sends a step as the server takes it: an object with `actions`, `answer`, `gave_up` or `done`."""
        said = self._connection.ask("POST", f"/sessions/{self.id}/step", body, STEP_SECONDS)
        self.observation = said["observation"]
        self.done = said["terminated"] or said["truncated"]
        if said["reward"] is not None:
            self.reward = (self.reward or 0.0) + said["reward"]
        self.verdict = said["verdict"] or self.verdict
        return said

    def judge(self) -> dict[str, Any]:
        """The verdict as of now. The episode goes on."""
        return self._connection.ask("POST", f"/sessions/{self.id}/judge", {}, STEP_SECONDS)

    def reset(self, task: str | None = None, seed: int | None = None, **settings: Any) -> dict[str, Any]:
        """Opens a fresh world in this session and returns its first observation. What is not given stays as it was."""
        said = self._connection.ask("POST", f"/sessions/{self.id}/reset", _body(task, seed, settings), OPEN_SECONDS)
        self._began(said)
        return self.observation

    def fork(self, step: int) -> Session:
        """Returns a new session that has repeated the first `step` steps in a fresh world; `forked_from` says how like it is."""
        said = self._connection.ask("POST", f"/sessions/{self.id}/fork", {"step": step}, OPEN_SECONDS)
        return Session(self.server, said)

    def close(self) -> None:
        """Ends the session and its world. One that is gone already is no error."""
        self._closed = True
        try:
            self._connection.ask("DELETE", f"/sessions/{self.id}", seconds=END_SECONDS)
        except ServerError as error:
            if error.code not in ("no_session", "no_server"):
                raise
        finally:
            self._connection.close()

    def __del__(self) -> None:
        # A forgotten session would keep its place in the server. A forked process forgets what is its parent's.
        if getattr(self, "_closed", True) or self._owner != os.getpid():
            return
        try:
            self.close()
        except Exception:  # noqa: BLE001, S110 - nobody can be told: the object is gone
            pass

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _body(task: str | None, seed: int | None, settings: dict[str, Any]) -> dict[str, Any]:
    given = {"task": task, "seed": seed, **settings}
    return {name: value for name, value in given.items() if value is not None}


_shared: dict[str, tuple[Server, dict[str, Any]]] = {}
_lock = threading.Lock()


def _end_shared() -> None:
    for server, _ in _shared.values():
        server.close()


def _unlock_after_fork() -> None:
    global _lock
    _lock = threading.Lock()


atexit.register(_end_shared)
os.register_at_fork(after_in_child=_unlock_after_fork)
