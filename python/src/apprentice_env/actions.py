"""BrowserGym's actions: its texts are read by its grammar, and carried out in our worlds.

Measured with browsergym-core 0.14.3 (`browsergym/core/action/parsers.py` and `functions.py`): a text may hold anything between its
calls; a call has literal arguments; a comment ends with its line. What is wrong gets the words of that package's
`last_action_error`: the name of the exception, and its text."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable

#: Pixels of a wheel's notch.
NOTCH = 100
#: Longest wait of one action, in milliseconds.
LONGEST_WAIT_MS = 60_000


class ActionError(Exception):
    """What BrowserGym would put into `last_action_error`."""


# The grammar.

_BLANK = re.compile(r"(?:[ \n\t\r]|#.*)*")
_NAME = re.compile(r"[^\W\d]\w*")
# The first that fits counts, as there: a number with an exponent, one with a point, a whole one.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[eE][+-]?\d+)|(?:\d+\.\d*)(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|[+-]?\d+")
_TEXT = re.compile(
    r'"""(?:[^"\\]|""?(?!")|"(?!"")|\\.)*?"""|\'\'\'(?:[^\'\\]|\'(?!\'\')|\\.)*?\'\'\'|"(?:[^"\n\r\\]|\\.)*"|\'(?:[^\'\n\r\\]|\\.)*\'',
    re.S,
)
_WORDS = {"True": True, "False": False, "None": None}
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class _NoMatch(Exception):
    pass


class _Reader:
    """Reads calls at a place of a text; what does not fit is `_NoMatch`."""

    def __init__(self, text: str, at: int):
        self.text, self.at = text, at

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        self.at = _BLANK.match(self.text, self.at).end()
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group()

    def _takes(self, character: str) -> bool:
        self.at = _BLANK.match(self.text, self.at).end()
        is_there = self.text.startswith(character, self.at)
        self.at += is_there
        return is_there

    def call(self) -> tuple[str, list[Any], dict[str, Any]]:
        name = self._take(_NAME)
        if name is None or not self._takes("("):
            raise _NoMatch
        given = self._listed(self.value)
        named = dict(self._listed(self._named))
        if not self._takes(")"):
            raise _NoMatch
        return name, given, named

    def _listed(self, read: Callable[[], Any]) -> list[Any]:
        """Values with commas between; one behind the last is allowed."""
        read_values = []
        while True:
            start = self.at
            try:
                read_values.append(read())
            except _NoMatch:
                self.at = start
                return read_values
            if not self._takes(","):
                return read_values

    def _named(self) -> tuple[str, Any]:
        name = self._take(_NAME)
        if name is None or not self._takes("="):
            raise _NoMatch
        return name, self.value()

    def _item(self) -> tuple[str, Any]:
        key = self._take(_TEXT)
        if key is None or not self._takes(":"):
            raise _NoMatch
        return ast.literal_eval(key), self.value()

    def value(self) -> Any:
        text = self._take(_TEXT)
        if text is not None:
            try:
                return ast.literal_eval(text)
            except (ValueError, SyntaxError) as error:
                raise _NoMatch from error
        number = self._take(_NUMBER)
        if number is not None:
            return int(number) if re.fullmatch(r"[+-]?\d+", number) else float(number)
        for opening, closing in _CLOSING.items():
            if self._takes(opening):
                held = self._listed(self._item if opening == "{" else self.value)
                if not self._takes(closing):
                    raise _NoMatch
                return {"[": list, "(": tuple, "{": dict}[opening](held)
        word = self._take(_NAME)
        if word not in _WORDS:
            raise _NoMatch
        return _WORDS[word]


def calls_in(text: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Returns the calls of a text as name, arguments and named arguments; nothing is evaluated.

    Raises `ActionError` where there is none, or one whose name is unknown: then none of them is carried out."""
    calls, at = [], 0
    while True:
        at = _BLANK.match(text, at).end()
        if at >= len(text):
            break
        reader = _Reader(text, at)
        try:
            calls.append(reader.call())
            at = reader.at
        except _NoMatch:
            at += 1
    if not calls:
        raise ActionError("ValueError: Received an empty action.")
    for name, _, _ in calls:
        if name not in ACTIONS:
            raise ActionError(f"NameError: Invalid action type '{name}'.")
    return calls


# The actions, each with the signature that it has there.

Body = dict[str, Any]
View = dict[str, Any]


def translated(call: tuple[str, list[Any], dict[str, Any]], view: View) -> Body:
    """Returns the step that carries out a call; `view` is the last observation, for tabs and roles.

    Raises `ActionError`."""
    name, given, named = call
    try:
        said = ACTIONS[name](view, *given, **named)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        # The first argument is ours: Python counts it, and names the function by its own name.
        text = re.sub(r"\b_?(\w+)\(\)", f"{name}()", str(error), count=1)
        raise ActionError(f"{type(error).__name__}: {_uncounted(text)}") from None
    return said if isinstance(said, dict) and "do" not in said else {"actions": said if isinstance(said, list) else [said]}


def _uncounted(text: str) -> str:
    """Python's message about a number of arguments, without the one that we add."""
    found = re.search(r"takes (?:from (\d+) to )?(\d+) positional arguments? but (\d+) (?:was|were) given", text)
    if found is None:
        return text
    least, most, got = (None if one is None else int(one) - 1 for one in found.groups())
    takes = f"from {least} to {most}" if least is not None else str(most)
    arguments = "argument" if most == 1 and least is None else "arguments"
    return text[: found.start()] + f"takes {takes} positional {arguments} but {got} {'was' if got == 1 else 'were'} given"


def why_refused(problem: str) -> str:
    """The words of BrowserGym for an act that the world refused, where it has some; else the world's own."""
    missing = re.search(r"(?:no|never was an) element #?(\w+)|element #?(\w+) is (?:gone|not there any more)", problem)
    if missing:
        return f'ValueError: Could not find element with bid "{missing.group(1) or missing.group(2)}"'
    return f"Error: {problem}"


def _at(bid: Any) -> dict[str, Any]:
    if not isinstance(bid, str):
        raise ValueError(f"expected a string, got {bid!r}")
    return {"ref": bid}


def _point(x: float, y: float) -> dict[str, Any]:
    for one in (x, y):
        if isinstance(one, bool) or not isinstance(one, (int, float)):
            raise TypeError(f"expected a number, got {one!r}")
    return {"x": round(x), "y": round(y)}


def _button(button: str) -> str:
    if button not in ("left", "middle", "right"):
        raise ActionError("Error: button: expected one of (left|right|middle)")
    return button


def _held(modifiers: Any) -> dict[str, Any]:
    if not isinstance(modifiers, (list, tuple)):
        raise ActionError(f"Error: modifiers: expected array, got {type(modifiers).__name__}")
    if not modifiers:
        return {}
    unknown = [one for one in modifiers if one not in MODIFIERS]
    if unknown:
        raise ActionError(f"Error: modifiers: expected one of ({'|'.join(MODIFIERS)}), got {unknown[0]!r}")
    return {"hold": "+".join(MODIFIERS[one] for one in modifiers)}


MODIFIERS = {"Alt": "alt", "Control": "ctrl", "ControlOrMeta": "ctrl", "Meta": "super", "Shift": "shift"}
# Playwright's names of keys (its US layout) that are no single character.
KEYS = {
    **MODIFIERS,
    **{side + end: key for side, key in MODIFIERS.items() if side != "ControlOrMeta" for end in ("Left", "Right")},
    **{f"F{number}": f"f{number}" for number in range(1, 13)},
    **{f"Digit{number}": str(number) for number in range(10)},
    **{f"Key{letter.upper()}": letter for letter in "abcdefghijklmnopqrstuvwxyz"},
    **{f"Numpad{number}": f"kp_{number}" for number in range(10)},
    "NumpadAdd": "kp_add", "NumpadSubtract": "kp_subtract", "NumpadMultiply": "kp_multiply", "NumpadDivide": "kp_divide",
    "NumpadDecimal": "kp_decimal", "NumpadEnter": "enter", "Backquote": "`", "Minus": "-", "Equal": "=", "Backslash": "\\",
    "BracketLeft": "[", "BracketRight": "]", "Semicolon": ";", "Quote": "'", "Comma": ",", "Period": ".", "Slash": "/",
    "Backspace": "backspace", "Tab": "tab", "Delete": "delete", "Escape": "escape", "Enter": "enter", "Space": "space",
    "ArrowDown": "down", "ArrowUp": "up", "ArrowLeft": "left", "ArrowRight": "right", "Home": "home", "End": "end",
    "PageDown": "page_down", "PageUp": "page_up", "Insert": "insert", "CapsLock": "caps_lock", "NumLock": "num_lock",
    "ScrollLock": "scroll_lock", "Pause": "pause", "PrintScreen": "print", "ContextMenu": "menu", " ": "space", "+": "plus",
}  # fmt: skip


def chord(keys: Any) -> str:
    """Turns Playwright's combination of keys, such as `ControlOrMeta+a`, into ours."""
    if not isinstance(keys, str):
        raise ActionError(f"Error: Keyboard.press: key: expected string, got {type(keys).__name__}")
    parts, last = [], ""
    for character in keys:
        if character == "+" and last:
            parts.append(last)
            last = ""
        else:
            last += character
    return "+".join(_key(part) for part in [*parts, last])


def _key(name: str) -> str:
    if name in KEYS:
        return KEYS[name]
    if len(name) != 1:
        raise ActionError(f'Error: Keyboard.press: Unknown key: "{name}"')
    return f"shift+{name.lower()}" if name.isalpha() and name != name.lower() else name


def _notches(pixels: float) -> int:
    """Whole notches of the wheel, and at least one for what is not 0."""
    if isinstance(pixels, bool) or not isinstance(pixels, (int, float)):
        raise TypeError(f"expected a number, got {pixels!r}")
    notches = max(1, round(abs(pixels) / NOTCH))
    return 0 if pixels == 0 else notches if pixels > 0 else -notches


def _noop(view: View, wait_ms: float = 1000):
    left, waits = max(0, round(wait_ms)), []
    while left > LONGEST_WAIT_MS:
        waits.append({"do": "wait", "ms": LONGEST_WAIT_MS})
        left -= LONGEST_WAIT_MS
    return [*waits, {"do": "wait", "ms": left}]


def _send_msg_to_user(view: View, text: str):
    if not isinstance(text, str):
        raise ValueError(f"Forbidden value: {text!r} is not a text")
    return {"answer": text}


def _report_infeasible(view: View, reason: str):
    return {"gave_up": True}


def _fill(view: View, bid: str, value: str, enable_autocomplete_menu: bool = False):
    if not isinstance(value, str):
        raise ActionError(f"Error: Locator.fill: value: expected string, got {type(value).__name__}")
    if not enable_autocomplete_menu or not value:
        return {"do": "fill", "at": _at(bid), "value": value}
    # As there: all but the last character at once, and that one by the keyboard.
    return [{"do": "fill", "at": _at(bid), "value": value[:-1]}, {"do": "type", "text": value[-1]}]


def _select_option(view: View, bid: str, options: str | list[str]):
    if isinstance(options, str):
        return {"do": "select", "at": _at(bid), "option": options}
    return {"do": "fill", "at": _at(bid), "value": list(options)}


def _click(view: View, bid: str, button: str = "left", modifiers: list[str] = [], count: int = 1):
    times = {} if count == 1 else {"count": count}
    return {"do": "click", "at": _at(bid), "button": _button(button), **times, **_held(modifiers)}


def _dblclick(view: View, bid: str, button: str = "left", modifiers: list[str] = []):
    return _click(view, bid, button, modifiers, 2)


def _hover(view: View, bid: str):
    return {"do": "move", "to": _at(bid)}


#: Roles of fields in which a click does nothing but put the caret.
FIELDS = {"textbox", "searchbox", "spinbutton", "combobox", "textarea"}


def _focus(view: View, bid: str):
    """Pages give the focus when a button goes down; let go elsewhere, it is no click."""
    if role_of(view, bid) in FIELDS:
        return [{"do": "click", "at": _at(bid)}]
    away = {"point": {"x": 0, "y": 0}}
    return [{"do": "press", "at": _at(bid)}, {"do": "move", "to": away}, {"do": "release"}]


def role_of(view: View, bid: str) -> str:
    """The role of an element in the outline; empty where it is not listed."""
    _at(bid)
    found = re.search(rf"^[\s\-]*(\S+)[^\n]*#{re.escape(bid)}(?!\w)", view.get("outline") or "", re.M)
    return found.group(1) if found else ""


def _press(view: View, bid: str, key_comb: str):
    return [*_focus(view, bid), {"do": "key", "chord": chord(key_comb)}]


def _clear(view: View, bid: str):
    return {"do": "fill", "at": _at(bid), "value": ""}


def _drag_and_drop(view: View, from_bid: str, to_bid: str):
    start, end = _at(from_bid), _at(to_bid)
    return [{"do": "move", "to": start}, {"do": "press"}, {"do": "move", "to": end}, {"do": "release"}]


def _scroll(view: View, delta_x: float, delta_y: float):
    return {"do": "scroll", "dx": _notches(delta_x), "dy": _notches(delta_y)}


def _scroll_at(view: View, x: int, y: int, dx: int, dy: int):
    return {"do": "scroll", "at": {"point": _point(x, y)}, "dx": _notches(dx), "dy": _notches(dy)}


def _mouse_move(view: View, x: float, y: float):
    return {"do": "move", "to": {"point": _point(x, y)}}


def _mouse_up(view: View, x: float, y: float, button: str = "left"):
    return {"do": "release", "at": {"point": _point(x, y)}, "button": _button(button)}


def _mouse_down(view: View, x: float, y: float, button: str = "left"):
    return {"do": "press", "at": {"point": _point(x, y)}, "button": _button(button)}


def _mouse_click(view: View, x: float, y: float, button: str = "left"):
    return {"do": "click", "at": {"point": _point(x, y)}, "button": _button(button)}


def _mouse_dblclick(view: View, x: float, y: float, button: str = "left"):
    return {"do": "click", "at": {"point": _point(x, y)}, "button": _button(button), "count": 2}


def _mouse_drag_and_drop(view: View, from_x: float, from_y: float, to_x: float, to_y: float):
    return {"do": "drag", "path": [_point(from_x, from_y), _point(to_x, to_y)]}


def _files(file: Any) -> list[str]:
    return [file] if isinstance(file, str) else list(file)


def _upload_file(view: View, bid: str, file: str | list[str]):
    return {"do": "upload", "at": _at(bid), "files": _files(file)}


def _mouse_upload_file(view: View, x: float, y: float, file: str | list[str]):
    return {"do": "upload", "at": {"point": _point(x, y)}, "files": _files(file)}


def _keyboard_press(view: View, key: str):
    return {"do": "key", "chord": chord(key)}


def _keyboard_up(view: View, key: str):
    return {"do": "key_up", "keys": chord(key)}


def _keyboard_down(view: View, key: str):
    return {"do": "key_down", "keys": chord(key)}


def _keyboard_type(view: View, text: str):
    return {"do": "type", "text": text}


def _goto(view: View, url: str):
    return {"do": "navigate", "url": url}


def _go_back(view: View):
    return {"do": "history", "go": "back"}


def _go_forward(view: View):
    return {"do": "history", "go": "forward"}


def _new_tab(view: View):
    return {"do": "tab", "tab": "open", "url": None}


def _tab_close(view: View):
    tabs = view.get("tabs") or []
    front = next((tab for tab in tabs if tab["active"]), None)
    if front is None:
        raise ActionError("Error: no tab is open")
    others = [tab for tab in tabs if tab is not front]
    # As there: the last one comes to the front, and a browser is never without a tab.
    if others:
        return [{"do": "tab", "tab": "close", "id": front["id"]}, {"do": "tab", "tab": "switch", "id": others[-1]["id"]}]
    return [{"do": "tab", "tab": "open", "url": None}, {"do": "tab", "tab": "close", "id": front["id"]}]


def _tab_focus(view: View, index: int):
    return {"do": "tab", "tab": "switch", "id": (view.get("tabs") or [])[index]["id"]}


ACTIONS: dict[str, Callable[..., Any]] = {
    function.__name__[1:]: function
    for function in (
        _noop, _send_msg_to_user, _report_infeasible, _fill, _select_option, _click, _dblclick, _hover, _focus, _press, _clear,
        _drag_and_drop, _scroll, _scroll_at, _mouse_move, _mouse_up, _mouse_down, _mouse_click, _mouse_dblclick,
        _mouse_drag_and_drop, _upload_file, _mouse_upload_file, _keyboard_press, _keyboard_up, _keyboard_down, _keyboard_type,
        _goto, _go_back, _go_forward, _new_tab, _tab_close, _tab_focus,
    )
}  # fmt: skip
ACTIONS["keyboard_insert_text"] = _keyboard_type
