"""Stands for the package `pyautogui` in a world that has none: keys, pointer and waiting, by XTEST."""

import ctypes
import ctypes.util
import time

FAILSAFE = False
PAUSE = 0.1
MINIMUM_DURATION = 0.1
MINIMUM_SLEEP = 0.05


class FailSafeException(Exception):
    pass


def _load(name):
    found = ctypes.util.find_library(name)
    if not found:
        raise ImportError("pyautogui stand-in: lib%s is not installed" % name)
    return ctypes.CDLL(found)


_x, _test = _load("X11"), _load("Xtst")
_x.XOpenDisplay.restype = ctypes.c_void_p
for _name in ("XDefaultRootWindow", "XKeysymToKeycode", "XKeycodeToKeysym", "XStringToKeysym"):
    getattr(_x, _name).restype = ctypes.c_ulong
_display = ctypes.c_void_p(_x.XOpenDisplay(None))
if not _display:
    raise ImportError("pyautogui stand-in: no display")

_KEYS = {
    "ctrl": "Control_L", "ctrlleft": "Control_L", "ctrlright": "Control_R", "shift": "Shift_L", "shiftleft": "Shift_L",
    "shiftright": "Shift_R", "alt": "Alt_L", "altleft": "Alt_L", "altright": "Alt_R", "win": "Super_L", "winleft": "Super_L",
    "winright": "Super_R", "command": "Super_L", "super": "Super_L", "enter": "Return", "return": "Return", "\n": "Return",
    "\r": "Return", "tab": "Tab", "\t": "Tab", "esc": "Escape", "escape": "Escape", "backspace": "BackSpace", "\b": "BackSpace",
    "delete": "Delete", "del": "Delete", "insert": "Insert", "home": "Home", "end": "End", "pageup": "Page_Up", "pgup": "Page_Up",
    "pagedown": "Page_Down", "pgdn": "Page_Down", "up": "Up", "down": "Down", "left": "Left", "right": "Right", "space": "space",
    " ": "space", "capslock": "Caps_Lock", "numlock": "Num_Lock", "scrolllock": "Scroll_Lock", "printscreen": "Print",
    "prtsc": "Print", "pause": "Pause", "menu": "Menu", "apps": "Menu",
}
KEYBOARD_KEYS = KEY_NAMES = sorted(_KEYS) + ["f%d" % at for at in range(1, 25)] + [chr(at) for at in range(33, 127)]
# Characters typed with Shift on a US keyboard.
_SHIFTED = set('~!@#$%^&*()_+{}|:"<>?')
_BUTTONS = {"left": 1, "middle": 2, "right": 3, "primary": 1, "secondary": 3}


def _flush():
    _x.XSync(_display, 0)


def _symbol(key):
    name = _KEYS.get(key.lower() if len(key) > 1 else key)
    if name is None and len(key) == 1:
        return ord(key) if ord(key) < 256 else 0x01000000 | ord(key)
    return _x.XStringToKeysym((name or key.upper()).encode())


def _code(key):
    return _x.XKeysymToKeycode(_display, ctypes.c_ulong(_symbol(key))) & 0xFF


def _send(code, down):
    if code:
        _test.XTestFakeKeyEvent(_display, code, int(down), ctypes.c_ulong(0))
        _flush()


def _pause(pause=None):
    time.sleep(PAUSE if pause is None else pause)


def keyDown(key, logScreenshot=None, _pause_=True):
    _send(_code(key), True)


def keyUp(key, logScreenshot=None, _pause_=True):
    _send(_code(key), False)


def _stroke(key):
    # A layout may have a key that gives "<" without Shift and ">" with it.
    plain = _x.XKeycodeToKeysym(_display, _code(key), 0) == _symbol(key)
    shifted = len(key) == 1 and not plain and (key.isupper() or key in _SHIFTED)
    if shifted:
        _send(_code("shift"), True)
    _send(_code(key), True)
    _send(_code(key), False)
    if shifted:
        _send(_code("shift"), False)


def press(keys, presses=1, interval=0.0, logScreenshot=None, _pause=True):
    keys = [keys] if isinstance(keys, str) else list(keys)
    for _ in range(int(presses)):
        for key in keys:
            _stroke(key)
        time.sleep(interval)
    time.sleep(PAUSE)


def hotkey(*keys, interval=0.0, **_more):
    keys = keys[0] if len(keys) == 1 and isinstance(keys[0], (list, tuple)) else keys
    for key in keys:
        _send(_code(key), True)
        time.sleep(interval)
    for key in reversed(keys):
        _send(_code(key), False)
    time.sleep(PAUSE)


def typewrite(message, interval=0.0, logScreenshot=None, _pause=True):
    for key in message:
        _stroke(key)
        time.sleep(interval)
    time.sleep(PAUSE)


write = typewrite


def size():
    screen = _x.XDefaultScreen(_display)
    return _Pair(_x.XDisplayWidth(_display, screen), _x.XDisplayHeight(_display, screen))


class _Pair(tuple):
    def __new__(cls, first, second):
        return tuple.__new__(cls, (first, second))

    x = width = property(lambda self: self[0])
    y = height = property(lambda self: self[1])


def position(x=None, y=None):
    root, child = ctypes.c_ulong(), ctypes.c_ulong()
    numbers = [ctypes.c_int() for _ in range(4)]
    mask = ctypes.c_uint()
    window = ctypes.c_ulong(_x.XDefaultRootWindow(_display))
    _x.XQueryPointer(_display, window, ctypes.byref(root), ctypes.byref(child), *[ctypes.byref(one) for one in numbers], ctypes.byref(mask))
    return _Pair(numbers[0].value if x is None else int(x), numbers[1].value if y is None else int(y))


def _target(x, y):
    if isinstance(x, (list, tuple)):
        x, y = x
    return position(x, y)


def _move(x, y, duration):
    start, end = position(), _target(x, y)
    steps = max(1, int(duration / 0.02))
    for step in range(1, steps + 1):
        x = round(start[0] + (end[0] - start[0]) * step / steps)
        y = round(start[1] + (end[1] - start[1]) * step / steps)
        _test.XTestFakeMotionEvent(_display, -1, x, y, ctypes.c_ulong(0))
        _flush()
        if steps > 1:
            time.sleep(duration / steps)


def moveTo(x=None, y=None, duration=0.0, *_more, **_named):
    _move(x, y, duration)
    time.sleep(PAUSE)


def moveRel(xOffset=0, yOffset=0, duration=0.0, *_more, **_named):
    here = position()
    moveTo(here[0] + (xOffset or 0), here[1] + (yOffset or 0), duration)


move = moveRel


def _button(button, down):
    number = button if isinstance(button, int) else _BUTTONS[button]
    _test.XTestFakeButtonEvent(_display, number, int(down), ctypes.c_ulong(0))
    _flush()


def mouseDown(x=None, y=None, button="left", *_more, **_named):
    _move(x, y, 0.0)
    _button(button, True)


def mouseUp(x=None, y=None, button="left", *_more, **_named):
    _move(x, y, 0.0)
    _button(button, False)


def click(x=None, y=None, clicks=1, interval=0.0, button="left", duration=0.0, *_more, **_named):
    _move(x, y, duration)
    for _ in range(int(clicks)):
        _button(button, True)
        _button(button, False)
        time.sleep(interval)
    time.sleep(PAUSE)


def leftClick(x=None, y=None, *_more, **_named):
    click(x, y)


def rightClick(x=None, y=None, *_more, **_named):
    click(x, y, button="right")


def middleClick(x=None, y=None, *_more, **_named):
    click(x, y, button="middle")


def doubleClick(x=None, y=None, *_more, **_named):
    click(x, y, clicks=2, interval=0.05)


def tripleClick(x=None, y=None, *_more, **_named):
    click(x, y, clicks=3, interval=0.05)


def dragTo(x=None, y=None, duration=0.0, *_more, button="left", **_named):
    _button(button, True)
    _move(x, y, max(duration, 0.1))
    _button(button, False)
    time.sleep(PAUSE)


def dragRel(xOffset=0, yOffset=0, duration=0.0, *_more, button="left", **_named):
    here = position()
    dragTo(here[0] + xOffset, here[1] + yOffset, duration, button=button)


drag = dragRel


def _wheel(clicks, buttons, x, y):
    _move(x, y, 0.0)
    for _ in range(abs(int(clicks))):
        number = buttons[0] if clicks > 0 else buttons[1]
        _button(number, True)
        _button(number, False)
    time.sleep(PAUSE)


def scroll(clicks, x=None, y=None, *_more, **_named):
    _wheel(clicks, (4, 5), x, y)


vscroll = scroll


def hscroll(clicks, x=None, y=None, *_more, **_named):
    _wheel(clicks, (7, 6), x, y)


def sleep(seconds):
    time.sleep(seconds)
