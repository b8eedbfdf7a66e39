"""A browser in the manner of BrowserGym: its action strings and the names of its observations."""

from __future__ import annotations

import os
from typing import Any

from gymnasium import spaces

from .actions import ActionError, calls_in, translated, why_refused
from .env import NOTE_CHARACTERS, DesktopEnv
from .server import Server
from .spaces import TEXT_CHARACTERS, AnyText

#: The screen of a browser without a task, in pixels.
SCREEN = (1280, 720)


class BrowserEnv(DesktopEnv):
    """Chromium at a URL, or at the task of a suite. An element's `bid` is its reference in `axtree_txt`.

    An action is a text with one call of BrowserGym's, or several; each is a step of the world. A call that is unknown or cannot be
    carried out ends them; `last_action_error` says why, in BrowserGym's words. `send_msg_to_user` and `report_infeasible` end the
    episode."""

    kind = "browser"

    def __init__(
        self,
        suite: str | os.PathLike[str] | None = None,
        task: str | None = None,
        seed: int | None = None,
        *,
        url: str | None = None,
        screen: tuple[int, int] | None = None,
        server: Server | None = None,
        **settings: Any,
    ):
        for fixed in ("outline", "app"):
            if fixed in settings:
                raise TypeError(f"a browser takes no {fixed!r}")
        self._error, self._action = "", ""
        if suite is None and server is None:
            url, screen = url or "about:blank", screen or SCREEN
        super().__init__(suite, task, seed, url=url, screen=screen, server=server, **settings)

    def _actions(self, width: int, height: int) -> spaces.Space:
        return AnyText()

    def _described(self, width: int, height: int) -> dict[str, spaces.Space]:
        described = super()._described(width, height)
        del described["title"], described["outline"]
        long, short = AnyText(TEXT_CHARACTERS + NOTE_CHARACTERS), AnyText(10_000)
        texts = {"goal": short, "axtree_txt": long, "url": AnyText(TEXT_CHARACTERS), "last_action_error": short}
        return {**described, **texts, "last_action": AnyText()}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self._error, self._action = "", ""
        return super().reset(seed=seed, options=options)

    def step(self, action: str):
        if not isinstance(action, str):
            raise ValueError(f"an action is a text such as click('n3'), not {action!r}")
        self._action, self._error = action, ""
        reports: list[dict[str, Any]] = []
        try:
            calls = calls_in(action)
        except ActionError as error:
            calls, self._error = [], str(error)
        said, reward = None, 0.0
        for call in calls:
            try:
                said = self._sent(translated(call, self._session.observation if self._session else {}))
            except ActionError as error:
                self._error = str(error)
                break
            reports += said["reports"]
            reward += said["reward"] or 0.0
            refused = [one["delivery"]["problem"] for one in said["reports"] if "problem" in one["delivery"]]
            if refused:
                self._error = why_refused(refused[0])
            if refused or said["terminated"] or said["truncated"]:
                break
        if said is None:
            # A text that is no action counts as a step: who writes nothing else comes to an end, too.
            said = self._sent({"actions": [{"do": "wait", "ms": 0}]})
            reward += said["reward"] or 0.0
        _, info = self._judged({**said, "reports": reports})
        return self._observed(), float(reward), bool(said["terminated"]), bool(said["truncated"]), info

    def _observed(self) -> dict[str, Any]:
        observed = super()._observed()
        outline = observed.pop("outline")
        del observed["title"]
        shown = self._session.observation
        front = next((tab["url"] for tab in shown["tabs"] if tab["active"]), "")
        named = {"goal": self._session.instruction, "axtree_txt": outline, "url": front}
        return {**observed, **named, "last_action": self._action, "last_action_error": self._error}
