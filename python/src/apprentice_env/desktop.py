"""A desktop as a Gymnasium environment."""

from __future__ import annotations

import base64
import io
from typing import Any

import gymnasium
import numpy
from gymnasium import spaces
from PIL import Image

from .server import RESET_SECONDS, Server

TEXT = 200_000
# In pixels, without a task.
SCREEN = (1280, 800)


class Actions(spaces.Space):
    """One action as a dictionary, several as a list, or the end of the episode as `DONE`, `FAIL` or `{"answer": …}`.

    `sample` clicks somewhere on the screen."""

    def __init__(self, width: int, height: int, seed: int | None = None):
        self._width, self._height = width, height
        super().__init__(None, None, seed)

    def sample(self, mask: Any = None, **_: Any) -> dict[str, Any]:
        x, y = int(self.np_random.integers(self._width)), int(self.np_random.integers(self._height))
        return {"do": "click", "at": {"point": {"x": x, "y": y}}}

    def contains(self, x: Any) -> bool:
        if isinstance(x, str):
            return x in ("DONE", "FAIL")
        actions = x if isinstance(x, (list, tuple)) else [x]
        return all(isinstance(action, dict) and ("do" in action or "answer" in action) for action in actions)

    @property
    def is_np_flattenable(self) -> bool:
        return False


class DesktopEnv(gymnasium.Env):
    """A fresh desktop for each episode: empty, with a program (`app`), or with a task of a suite.

    Its screen is `screen`, 1280 x 800 pixels without it, or several monitors as in `"1920x1080+1280x1024"`; a task brings its own.
    The reward is 0 until the episode ends, and then the score of the task's checks; without a task it stays 0.
    A refused action is no error: `info["reports"]` says why, and the model may go on."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}

    def __init__(
        self,
        app: str | None = None,
        suite: str | None = None,
        task: str | None = None,
        seed: int = 0,
        screen: tuple[int, int] | str | None = None,
        url: str | None = None,
        server: Server | None = None,
        max_steps: int | None = None,
        render_mode: str | None = "rgb_array",
    ):
        if suite is not None and screen is not None:
            raise ValueError("a task brings its own screen: leave `screen` out")
        given = screen or SCREEN
        text = given if isinstance(given, str) else f"{given[0]}x{given[1]}"
        options = [] if suite is not None else ["--screen", text]
        for name, value in (("--app", app), ("--url", url), ("--suite", suite), ("--task", task)):
            if value is not None:
                options += [name, value]
        if task is not None:
            options += ["--seed", str(seed)]
        self.server = server or Server(*options)
        self.render_mode = render_mode
        self._task, self._max_steps, self._steps, self._fresh = task, max_steps, 0, server is None
        self._last: dict[str, Any] = {}
        told = {"width": given[0], "height": given[1]} if not isinstance(given, str) else None
        size = self.server.ask("/observe")["screen"] or told
        width, height = size["width"], size["height"]
        self.action_space = Actions(width, height)
        self.observation_space = spaces.Dict(
            {
                "screenshot": spaces.Box(0, 255, (height, width, 3), numpy.uint8),
                "outline": _AnyText(),
                "title": _AnyText(),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._steps = 0
        # The server starts with a fresh world.
        said = self.server.began if self._fresh else self.server.ask("/reset", {}, RESET_SECONDS)
        self._fresh = False
        return self._observed(self.server.ask("/observe")), {"instruction": said.get("instruction")}

    def step(self, action: Any):
        ending = _ending(action)
        if ending is not None:
            return self._ended(ending)
        actions = list(action) if isinstance(action, (list, tuple)) else [action]
        reply = self.server.ask("/step", {"actions": actions})
        self._steps += 1
        truncated = self._max_steps is not None and self._steps >= self._max_steps
        info: dict[str, Any] = {"reports": reply["reports"]}
        reward = 0.0
        if truncated and self._task is not None:
            reward = self._judged({}, info)
        return self._observed(reply), reward, False, truncated, info

    def _ended(self, ending: dict[str, Any]):
        info: dict[str, Any] = {"reports": []}
        reward = self._judged(ending, info) if self._task is not None else 0.0
        return self._observed(self.server.ask("/observe")), reward, True, False, info

    def _judged(self, ending: dict[str, Any], info: dict[str, Any]) -> float:
        info["judged"] = self.server.ask("/judge", ending, RESET_SECONDS)
        return float(info["judged"]["score"])

    def _observed(self, reply: dict[str, Any]) -> dict[str, Any]:
        self._last = reply
        picture = Image.open(io.BytesIO(base64.b64decode(reply["screenshot"]))).convert("RGB")
        return {
            "screenshot": numpy.asarray(picture),
            "outline": reply["outline"] or "",
            "title": reply["title"],
        }

    def render(self):
        return self._observed(self._last)["screenshot"] if self._last else None

    def close(self):
        self.server.close()


class _AnyText(spaces.Space):
    """Any text; the spaces of Gymnasium take those of a small alphabet only."""

    def __init__(self):
        super().__init__((), None)

    def sample(self, mask: Any = None, **_: Any) -> str:
        return ""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        return False


def _ending(action: Any) -> dict[str, Any] | None:
    if action == "DONE":
        return {}
    if action == "FAIL":
        return {"gave_up": True}
    if isinstance(action, dict) and "answer" in action:
        return {"answer": action["answer"]}
    return None
