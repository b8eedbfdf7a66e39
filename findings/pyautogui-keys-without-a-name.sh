#!/usr/bin/env bash
# PyAutoGUI presses nothing for a key name that it does not know, and the rest of a chord all the same: `hotkey("cmd", "a")` types an a.
#
# Expected: an unknown name raises, as an unknown button of the mouse does, or at least the chord is not pressed without it. Suites for
#   computer-use agents take PyAutoGUI's calls as the action, so models write names of other tools: "page_down", "arrowleft",
#   "control", "super", "cmd".
# What happens: without an error, `press("page_down")` presses nothing, `hotkey("ctrl", "plus")` Control alone, and
#   `hotkey("control", "s")` and `hotkey("cmd", "a")` the letter alone, which goes into the document. A capital letter in a chord adds
#   Shift: `hotkey("ctrl", "A")` is Control+Shift+A.
# Version: PyAutoGUI 0.9.54 with python-xlib 0.33 (PyPI), Xvfb (Debian 12). Source: pyautogui/_pyautogui_x11.py, `_keyDown`, which
#   returns where `keyboardMapping[key]` is None.
# Seen on 2026-11-30.
set -euo pipefail
command -v Xvfb >/dev/null || { echo "Xvfb is not installed: apt-get install xvfb"; exit 2; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check PyAutoGUI==0.9.54 python-xlib==0.33
cat > "$place/display.py" <<'PY'
"""A display of its own, with one window that notes the keys it gets."""

import os
import subprocess
import time

from Xlib import XK, X
from Xlib.display import Display


class Keys:
    def __enter__(self):
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", "1", "-screen", "0", "320x240x24", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        os.environ["DISPLAY"] = ":" + self.server.stdout.readline().decode().strip()
        self.display = Display()
        mask = X.KeyPressMask | X.StructureNotifyMask
        window = self.display.screen().root.create_window(0, 0, 320, 240, 0, 24, event_mask=mask)
        window.map()
        while self.display.next_event().type != X.MapNotify:
            pass
        window.set_input_focus(X.RevertToParent, X.CurrentTime)
        self.display.sync()
        return self

    def __exit__(self, *_):
        self.display.close()
        self.server.terminate()
        self.server.wait()

    def of(self, act):
        """Names of the keys that an act presses."""
        act()
        end, names = time.monotonic() + 0.5, []
        while time.monotonic() < end:
            if not self.display.pending_events():
                time.sleep(0.01)
                continue
            event = self.display.next_event()
            if event.type == X.KeyPress:
                names.append(self.name(event.detail, bool(event.state & X.ShiftMask)))
        return names

    def name(self, code, shift):
        symbol = self.display.keycode_to_keysym(code, 1 if shift else 0)
        named = (name[3:] for name in dir(XK) if name.startswith("XK_") and getattr(XK, name) == symbol)
        return next(named, hex(symbol))
PY
cat > "$place/look.py" <<'PY'
import sys

from display import Keys
from Xlib import XK

XK.load_keysym_group("miscellany")
CASES = [
    (("press", "pagedown"), ["Next"]),
    (("press", "page_down"), []),
    (("press", "arrowleft"), []),
    (("press", "super"), []),
    (("hotkey", "ctrl", "s"), ["Control_L", "s"]),
    (("hotkey", "control", "s"), ["s"]),
    (("hotkey", "cmd", "a"), ["a"]),
    (("hotkey", "ctrl", "plus"), ["Control_L"]),
    (("hotkey", "ctrl", "A"), ["Control_L", "Shift_L", "A"]),
]
same = True
with Keys() as keys:
    import pyautogui

    pyautogui.PAUSE = 0
    for (function, *names), before in CASES:
        pressed = keys.of(lambda: getattr(pyautogui, function)(*names))
        pressed = ["Next" if name == "Page_Down" else name for name in pressed]
        print(f"{function}({', '.join(map(repr, names))})".ljust(26), "pressed:", " ".join(pressed) or "nothing")
        same = same and pressed == before
if same:
    print("as found: unknown names are left out of a chord")
else:
    sys.exit("this has changed")
PY
cd "$place" && timeout 120 "$place/venv/bin/python" "$place/look.py"
