"""Environments for TRL's `GRPOTrainer(environment_factory=…)`, measured with trl 1.16.0.

TRL makes a tool of each public function of the class, gives `reset` the row of the dataset, and asks `get_reward` at the end. It
reuses instances and never closes them: their worlds end with this process. It needs no import of TRL, and no torch."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from typing import Any

from PIL import Image

from .errors import ServerError, WorldError
from .server import Server, Session
from .tools import ENDED, SYSTEM_PROMPT, Acts, BrowserActs, listed, told

#: How often a world is opened before the rollout is void.
OPENINGS = 2


def environment(
    suite: str,
    *,
    browser: bool = False,
    screenshot: bool = False,
    max_steps: int | None = 30,
    max_seconds: float | None = None,
    reward: str = "end",
) -> type[Environment]:
    """Returns a class for `environment_factory`: worlds of the tasks of a suite (a folder, or the address of a server).

    `browser` adds the acts that browsers alone have; `screenshot` adds a picture to what each act returns, for models that see."""
    base = BrowserEnvironment if browser else Environment
    settings = {"max_steps": max_steps, "max_seconds": max_seconds, "reward": reward}
    given = {"_suite": suite, "_screenshot": screenshot, "_settings": settings, "__doc__": base.__doc__}
    # TRL logs the reward under the name of the class.
    return type("ApprenticeBrowser" if browser else "Apprentice", (base,), given)


def rows(suite: str, tasks: Iterable[str] | None = None, seeds: Iterable[int] = (0,)) -> list[dict[str, Any]]:
    """Returns rows for `Dataset.from_list`: one for each task and seed that there is. TRL gives one row to all rollouts of a group,
    so that they start in the same world."""
    known, seeds = Server.of(suite).tasks(), list(seeds)
    chosen = sorted(known) if tasks is None else list(tasks)
    unknown = [task for task in chosen if task not in known]
    if unknown:
        raise ValueError(f"there is no task {unknown[0]!r}; there are {', '.join(sorted(known))}")
    prompt = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": "Your task: "}]
    return [
        {"prompt": prompt, "task": task, "seed": seed}
        for task in chosen
        for seed in seeds
        if known[task].get("variations") is None or seed < known[task]["variations"]
    ]


class Environment(Acts):
    """A world for one rollout."""

    _suite: str | None = None
    _screenshot = False
    _settings: dict[str, Any] = {}
    _session: Session | None = None
    #: Why the rollout has no reward.
    _void: str | None = None

    def reset(self, **row: Any) -> Any:
        """Opens the world that the row names by `task` and `seed`; other columns are the trainer's. Returns the task and what is seen.

        A task or a seed that there is not is a `ValueError`, which ends the training; a world that cannot be opened makes the rollout
        void."""
        server = self._server()
        task, seed = _task_of(row, server), _seed_of(row)
        self._void = None
        for left in reversed(range(OPENINGS)):
            try:
                self._open(server, task, seed)
                break
            except WorldError as error:
                self._leave()
                if not left:
                    self._void = str(error)
                    return "The world could not be opened. Say only: stop."
            except ServerError as error:
                raise ValueError(f"the row names no world: {error}") from error
        session = self._session
        return self._blocks(f"{session.instruction}\n\n{listed(session.observation)}", session.observation)

    def get_reward(self) -> float | None:
        """The score of the task's checks, from 0 to 1. `None` where the world broke: such a rollout counts for nothing.

        (With a second reward function TRL adds None as 0, unless `multi_objective_aggregation="normalize_then_sum"` is set.)"""
        if self._void is None and self._session is not None and not self._session.done:
            self._perform({"done": True})
        return None if self._void is not None or self._session is None else self._session.reward

    def _server(self) -> Server:
        if self._suite is None:
            raise ValueError("this class names no suite: make one by apprentice_env.trl.environment(suite)")
        return Server.of(self._suite)

    def _open(self, server: Server, task: str, seed: int) -> None:
        if self._session is not None and self._session.server is server:
            self._session.reset(task, seed)
        else:
            self._session = server.open(task, seed, screenshot=self._screenshot, **self._settings)

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _perform(self, body: dict[str, Any]) -> Any:
        # A raise here would be text for the model, counted as its mistake.
        if self._void is not None:
            return "The world broke: nothing more can be done."
        if self._session is None or self._session.done:
            return ENDED
        try:
            said = self._session.send(body)
        except WorldError as error:
            self._void = str(error)
            return "The world broke: nothing more can be done."
        except ServerError as error:
            return f"Refused: {error}"
        if self._session.done and self._session.reward is None:
            self._void = "the episode could not be judged"
        return self._blocks(told(said), said["observation"])

    def _blocks(self, text: str, observation: dict[str, Any]) -> Any:
        if not self._screenshot:
            return text
        shown = Image.open(io.BytesIO(base64.b64decode(observation["screenshot"]))).convert("RGB")
        # A picture alone would be its repr: TRL passes blocks on, and makes text of all else.
        return [{"type": "text", "text": text}, {"type": "image", "image": shown}]


class BrowserEnvironment(Environment, BrowserActs):
    """A browser for one rollout."""


def _task_of(row: dict[str, Any], server: Server) -> str:
    known, task = server.tasks(), row.get("task")
    if task is None and len(known) == 1:
        return next(iter(known))
    if task not in known:
        raise ValueError(f"the column `task` names a task of the suite, not {task!r}: {', '.join(sorted(known))}")
    return task


def _seed_of(row: dict[str, Any]) -> int:
    seed = row.get("seed", 0)
    # A column of which some rows have no value is read as floats.
    if isinstance(seed, float) and seed.is_integer():
        seed = int(seed)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"the column `seed` is a whole number from 0, not {seed!r}")
    return seed
