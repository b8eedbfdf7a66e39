"""A browser in the manner of BrowserGym: its action strings and the names of its observations."""

from __future__ import annotations

import ast
from typing import Any

import gymnasium

from .desktop import DesktopEnv, _AnyText
from .server import Server

NOTCH = 100  # Pixels of a wheel's notch.
SCREEN = (1280, 720)  # In pixels, without a task.


class BrowserEnv(gymnasium.Env):
    """Chromium at a URL, or at the task of a suite. An element's `bid` is its reference in `axtree_txt`.

    An action is one call, or several on lines of their own. A call that is unknown or cannot be carried out ends the
    step; `last_action_error` says why. `send_msg_to_user` and `report_infeasible` end the episode."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}

    def __init__(
        self,
        url: str | None = None,
        suite: str | None = None,
        task: str | None = None,
        seed: int = 0,
        screen: tuple[int, int] | None = None,
        server: Server | None = None,
        render_mode: str | None = "rgb_array",
    ):
        if url is None and task is None:
            url = "about:blank"
        if screen is None and suite is None:
            screen = SCREEN
        self._env = DesktopEnv(url=url, suite=suite, task=task, seed=seed, screen=screen, server=server)
        self.server, self.render_mode = self._env.server, render_mode
        self._goal, self._error, self._action = "", "", ""
        self.action_space = _AnyText()
        self.observation_space = gymnasium.spaces.Dict(
            {
                "goal": _AnyText(),
                "screenshot": self._env.observation_space["screenshot"],
                "axtree_txt": _AnyText(),
                "url": _AnyText(),
                "last_action": _AnyText(),
                "last_action_error": _AnyText(),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        observed, info = self._env.reset(seed=seed)
        self._goal, self._error, self._action = info["instruction"] or "", "", ""
        return self._named(observed), {}

    def step(self, action: str):
        self._action, self._error = action, ""
        reward, terminated, info = 0.0, False, {"reports": []}
        observed = None
        try:
            for call in _calls(action):
                translated = _translated(call, self._env._last)
                observed, reward, terminated, _, told = self._env.step(translated)
                info["reports"] += told["reports"]
                refused = [one["delivery"]["problem"] for one in told["reports"] if "problem" in one["delivery"]]
                if refused:
                    self._error = refused[0]
                if refused or terminated:
                    info.update({name: value for name, value in told.items() if name != "reports"})
                    break
        except ValueError as error:
            self._error = str(error)
        if observed is None:
            observed = self._env._observed(self.server.ask("/observe"))
        return self._named(observed), reward, terminated, False, info

    def _named(self, observed: dict[str, Any]) -> dict[str, Any]:
        tabs = self._env._last["tabs"]
        front = next((tab["url"] for tab in tabs if tab["active"]), "")
        return {
            "goal": self._goal,
            "screenshot": observed["screenshot"],
            "axtree_txt": observed["outline"],
            "url": front,
            "last_action": self._action,
            "last_action_error": self._error,
        }

    def render(self):
        return self._env.render()

    def close(self):
        self._env.close()


def _calls(text: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Reads calls of functions with literal arguments; nothing is evaluated."""
    try:
        lines = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise ValueError(f"the action is no call: {error.msg}") from None
    calls = []
    for line in lines:
        call = line.value if isinstance(line, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError(f"an action is a call such as click(\"n12\"), not {ast.unparse(line)}")
        try:
            given = [ast.literal_eval(argument) for argument in call.args]
            named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        except ValueError:
            raise ValueError(f"the arguments of {call.func.id} must be texts, numbers and lists") from None
        calls.append((call.func.id, given, named))
    if not calls:
        raise ValueError("the action is empty")
    return calls


def _translated(call: tuple[str, list[Any], dict[str, Any]], last: dict[str, Any]) -> Any:
    name, given, named = call
    function = ACTIONS.get(name)
    if function is None:
        raise ValueError(f"there is no action {name}; there are {', '.join(ACTIONS)}")
    try:
        return function(last, *given, **named)
    except TypeError as error:
        raise ValueError(str(error).replace("<lambda>", name)) from None


def _at(bid: str) -> dict[str, Any]:
    return {"ref": str(bid)}


def _point(x: float, y: float) -> dict[str, Any]:
    return {"x": int(x), "y": int(y)}


def _held(modifiers: list[str] | None) -> dict[str, Any]:
    return {"hold": "+".join(key.lower() for key in modifiers)} if modifiers else {}


def _click(_, bid, button="left", modifiers=None):
    return {"do": "click", "at": _at(bid), "button": button, **_held(modifiers)}


def _double(_, bid, button="left", modifiers=None):
    return {"do": "click", "at": _at(bid), "button": button, "count": 2, **_held(modifiers)}


def _select(_, bid, options):
    if isinstance(options, str):
        return {"do": "select", "at": _at(bid), "option": options}
    return {"do": "fill", "at": _at(bid), "value": list(options)}


def _press(_, bid, key_comb):
    return [{"do": "click", "at": _at(bid)}, {"do": "key", "chord": key_comb}]


def _mouse(_, x, y, button="left", count=1):
    return {"do": "click", "at": {"point": _point(x, y)}, "button": button, "count": count}


def _drag(_, from_x, from_y, to_x, to_y):
    return {"do": "drag", "path": [_point(from_x, from_y), _point(to_x, to_y)]}


def _scroll(_, delta_x, delta_y):
    return {"do": "scroll", "dx": round(delta_x / NOTCH), "dy": round(delta_y / NOTCH)}


def _tab(last, tab, index=None):
    tabs = last["tabs"]
    chosen = next((one for one in tabs if one["active"]), None) if index is None else None
    if index is not None:
        if not 0 <= index < len(tabs):
            raise ValueError(f"there is no tab {index}; there are {len(tabs)}")
        chosen = tabs[index]
    if chosen is None:
        raise ValueError("no tab is open")
    return {"do": "tab", "tab": tab, "id": chosen["id"]}


ACTIONS = {
    "noop": lambda _, wait_ms=1000: {"do": "wait", "ms": int(wait_ms)},
    "send_msg_to_user": lambda _, text: {"answer": text},
    "report_infeasible": lambda _, reason="": "FAIL",
    "click": _click,
    "dblclick": _double,
    "hover": lambda _, bid: {"do": "move", "to": _at(bid)},
    "fill": lambda _, bid, value: {"do": "fill", "at": _at(bid), "value": value},
    "clear": lambda _, bid: {"do": "fill", "at": _at(bid), "value": ""},
    "select_option": _select,
    "press": _press,
    "focus": lambda _, bid: {"do": "click", "at": _at(bid)},
    "upload_file": lambda _, bid, file: {
        "do": "upload", "at": _at(bid), "files": [file] if isinstance(file, str) else list(file),
    },
    "scroll": _scroll,
    "mouse_move": lambda _, x, y: {"do": "move", "to": {"point": _point(x, y)}},
    "mouse_click": lambda _, x, y, button="left": _mouse(_, x, y, button),
    "mouse_dblclick": lambda _, x, y, button="left": _mouse(_, x, y, button, 2),
    "mouse_drag_and_drop": _drag,
    "keyboard_press": lambda _, key: {"do": "key", "chord": key},
    "keyboard_type": lambda _, text: {"do": "type", "text": text},
    "keyboard_insert_text": lambda _, text: {"do": "type", "text": text},
    "goto": lambda _, url: {"do": "navigate", "url": url},
    "go_back": lambda _: {"do": "history", "go": "back"},
    "go_forward": lambda _: {"do": "history", "go": "forward"},
    "new_tab": lambda _: {"do": "tab", "tab": "open", "url": None},
    "tab_close": lambda last: _tab(last, "close"),
    "tab_focus": lambda last, index: _tab(last, "switch", index),
}
