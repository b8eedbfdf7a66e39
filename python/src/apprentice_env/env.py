"""Worlds as Gymnasium environments."""

from __future__ import annotations

import base64
import io
import os
from typing import Any

import gymnasium
import numpy
from gymnasium import spaces
from PIL import Image

from .errors import WorldError
from .server import Server, Session
from .spaces import TEXT_CHARACTERS, Actions, AnyText, step_of
from .world import OneWorld, World

#: The screen of a desktop without a task, in pixels.
SCREEN = (1280, 800)
#: Variations of a task that has as many as there are seeds.
SEEDS = 2**32
#: What the text of an outline may have beside its elements: the sentence that says how many were left out.
NOTE_CHARACTERS = 1_000


class WorldEnv(gymnasium.Env):
    """A fresh world for each episode: of a task of a suite, or without a task (`World`).

    `suite` is a suite's folder, or the `http://` address of a server that runs; environments of one process share a server for each
    suite. An observation has `screenshot`, `outline` (one line per element, with its reference) and `title`.

    **Which world.** `reset(options={"task": …, "seed": …})` names it exactly. Else the task is the one of the constructor, the only one,
    or drawn from the suite; and the variation is `seed % variations` for `reset(seed=…)`, as trainers draw seeds of any size; the
    constructor's `seed`; or drawn. All draws come from `np_random`, so that the same seed gives the same worlds. `info` says
    which it became.

    **Reward.** The score of the task's checks at the end, 0 before; with `reward="step"` each step's change of the score. A world that
    broke raises `WorldError`, and so does one that cannot be judged: there is no reward, and `reset` opens another.

    A refused action is no error: `info["reports"]` says why, and the agent may go on."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}
    #: Tasks are drawn from those in worlds of this kind alone.
    kind: str | None = None

    def __init__(
        self,
        suite: str | os.PathLike[str] | None = None,
        task: str | None = None,
        seed: int | None = None,
        *,
        server: Server | None = None,
        screen: tuple[int, int] | None = None,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        reward: str = "end",
        screenshot: bool = True,
        outline: bool = True,
        render_mode: str | None = None,
        world: World | None = None,
    ):
        if sum(one is not None for one in (suite, server, world)) != 1:
            raise ValueError("name a suite, a server, or a world without a task: one of the three")
        if reward not in ("end", "step"):
            raise ValueError(f'the reward is "end" or "step", not {reward!r}')
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"the render mode is rgb_array, not {render_mode!r}")
        if render_mode is not None and not screenshot:
            raise ValueError("what is rendered is the screenshot: leave out `render_mode` or `screenshot=False`")
        self.render_mode = render_mode
        self._server = server or (Server.of(suite) if suite is not None else None)
        self._task, self._seed, self._world = task, seed, world
        settings = {"max_steps": max_steps, "max_seconds": max_seconds, "reward": reward}
        self._settings = {**settings, "screenshot": screenshot, "outline": outline}
        self._session: Session | OneWorld | None = OneWorld(world, max_steps) if world is not None else None
        if task is not None:
            self._row(task)
        width, height = screen or self._size()
        self._canvas = (width, height)
        self.action_space = self._actions(width, height)
        self.observation_space = spaces.Dict(self._described(width, height))

    def _actions(self, width: int, height: int) -> spaces.Space:
        return Actions(width, height)

    def _described(self, width: int, height: int) -> dict[str, spaces.Space]:
        described: dict[str, spaces.Space] = {"title": AnyText(10_000)}
        if self._settings["screenshot"]:
            described["screenshot"] = spaces.Box(0, 255, (height, width, 3), numpy.uint8)
        if self._settings["outline"]:
            described["outline"] = AnyText(TEXT_CHARACTERS + NOTE_CHARACTERS)
        return described

    # Which world.

    def _row(self, task: str) -> dict[str, Any]:
        row = self._server.tasks().get(task)
        if row is None:
            raise ValueError(f"there is no task {task!r}; there are {', '.join(sorted(self._server.tasks()))}")
        return row

    def _names(self) -> list[str]:
        if self._task is not None:
            return [self._task]
        rows = self._server.tasks()
        names = sorted(name for name, row in rows.items() if self.kind in (None, row["environment"]))
        if not names:
            raise ValueError(f"the suite has no task in a {self.kind} world")
        return names

    def _size(self) -> tuple[int, int]:
        """The screen that holds those of all worlds that may be drawn."""
        if self._server is None:
            size = self._session.reset()["screen"]
            return (size["width"], size["height"]) if size else SCREEN
        told = [self._row(name).get("screens") for name in self._names()]
        if all(told):
            screens = [screen for row in told for screen in row]
            return max(one["width"] for one in screens), max(one["height"] for one in screens)
        # A server that does not say: the first world shows it.
        self._session = self._server.open(self._names()[0], **self._settings)
        size = self._session.observation["screen"]
        return (size["width"], size["height"]) if size else SCREEN

    def _chosen(self, seed: int | None, options: dict[str, Any] | None) -> tuple[str | None, int | None]:
        given = dict(options or {})
        task, exact = given.pop("task", None), given.pop("seed", None)
        if given:
            raise ValueError(f"`options` has `task` and `seed`, and no {sorted(given)[0]!r}")
        if self._server is None:
            if task is not None:
                raise ValueError(f"this world has no tasks, and so no {task!r}: name a suite")
            return None, None
        names = [task] if task is not None else self._names()
        name = names[0] if len(names) == 1 else names[int(self.np_random.integers(len(names)))]
        if exact is not None:
            return name, int(exact)
        variations = self._row(name).get("variations") or SEEDS
        if seed is not None:
            return name, int(seed) % variations
        return name, self._seed if self._seed is not None else int(self.np_random.integers(variations))

    # One episode.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        task, variation = self._chosen(seed, options)
        if self._session is None:
            self._session = self._server.open(task, variation, **self._settings)
        else:
            self._renewed(task, variation)
        session = self._session
        info = {"instruction": session.instruction, "task": session.task, "seed": session.seed}
        return self._observed(), info

    def _renewed(self, task: str | None, variation: int | None) -> None:
        try:
            self._session.reset(task, variation)
        except WorldError as error:
            # The server ended a session that nobody asked for a while; the world that broke stays an error.
            if error.code != "no_session":
                raise
            self._session = self._server.open(task, variation, **self._settings)

    def step(self, action: Any):
        said = self._sent(step_of(action))
        reward, info = self._judged(said)
        return self._observed(), reward, bool(said["terminated"]), bool(said["truncated"]), info

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._session is None:
            raise gymnasium.error.ResetNeeded("reset the environment before its first step")
        return self._session.send(body)

    def _judged(self, said: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        info: dict[str, Any] = {"reports": said["reports"]}
        if said["verdict"] is not None:
            info["judged"] = said["verdict"]
        ended = said["terminated"] or said["truncated"]
        is_void = (said["verdict"] or {}).get("verdict") == "void"
        if self._server is not None and ended and (is_void or said["reward"] is None):
            why = (said["verdict"] or {}).get("explanation") or "the server gave no score"
            raise WorldError(f"the episode could not be judged: {why}", "void")
        return float(said["reward"] or 0.0), info

    def _observed(self) -> dict[str, Any]:
        shown = self._session.observation
        observed: dict[str, Any] = {"title": shown["title"]}
        if self._settings["screenshot"]:
            observed["screenshot"] = picture(shown["screenshot"], self._canvas)
        if self._settings["outline"]:
            observed["outline"] = shown["outline"] or ""
        return observed

    def render(self):
        if self.render_mode is None or self._session is None or not self._session.observation:
            return None
        return picture(self._session.observation["screenshot"], self._canvas)

    @property
    def session(self) -> Session | OneWorld | None:
        """The session that the environment holds: for what Gymnasium has no word for, such as `fork` and `judge`."""
        return self._session

    def close(self):
        session, self._session = self._session, None
        if session is not None:
            session.close()


class DesktopEnv(WorldEnv):
    """A desktop: of a task of a suite, with a program (`app`), with a page (`url`), or empty.

    Without a task its screen is `screen`, 1280 x 800 pixels, or several monitors as in `"1920x1080+1280x1024"`, and nothing gives a reward."""

    kind = "desktop"

    def __init__(
        self,
        suite: str | os.PathLike[str] | None = None,
        task: str | None = None,
        seed: int | None = None,
        *,
        app: str | None = None,
        url: str | None = None,
        screen: tuple[int, int] | str | None = None,
        server: Server | None = None,
        **settings: Any,
    ):
        if suite is not None or server is not None:
            if app is not None or url is not None:
                raise ValueError("a task brings its own program: leave `app` and `url` out")
            super().__init__(suite, task, seed, server=server, screen=screen, **settings)
            return
        if task is not None:
            raise ValueError(f"the task {task!r} is of a suite: name the suite")
        super().__init__(world=_world(app, url, screen or SCREEN), **settings)


class SceneEnv(WorldEnv):
    """A world in memory, defined by its task: a thousand steps a second, without a screen or a browser."""

    kind = "scene"


def _world(app: str | None, url: str | None, screen: tuple[int, int] | str) -> World:
    text = screen if isinstance(screen, str) else f"{screen[0]}x{screen[1]}"
    options = ["--screen", text]
    for name, value in (("--app", app), ("--url", url)):
        if value is not None:
            options += [name, value]
    return World(*options)


def picture(encoded: str | None, canvas: tuple[int, int] | None = None) -> numpy.ndarray:
    """Decodes a screenshot. On a larger canvas it stands at the top left, so that coordinates stay those of the screen."""
    if encoded is None:
        raise WorldError("the world gave no picture", "void")
    pixels = numpy.array(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB"))
    height, width, _ = pixels.shape
    if canvas is None or canvas == (width, height):
        return pixels
    if width > canvas[0] or height > canvas[1]:
        raise ValueError(
            f"this world's screen is {width} x {height}, larger than the space of {canvas[0]} x {canvas[1]}: "
            f"make the environment with screen=({max(width, canvas[0])}, {max(height, canvas[1])})"
        )
    filled = numpy.zeros((canvas[1], canvas[0], 3), numpy.uint8)
    filled[:height, :width] = pixels
    return filled
