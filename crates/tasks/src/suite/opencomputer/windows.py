"""Waits for a program's window, or sends a program the shortcut by which it saves, as OpenComputer does.

    windows.py await '{"tokens": [...], "size": [width, height]}'
    windows.py save '{"shortcut": "ctrl+s", "name": "...", "app": "...", "hints": {...}}'

Which words name a window and which shortcut saves comes from the suite.
"""

import json
import shutil
import subprocess
import sys
import time

DEADLINE = 90.0
PAUSE = 0.5
STABLE = 3


def told(*command):
    """What a tool prints; nothing where it fails, as for a window that has just gone."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=15)
    return done.stdout


def windows():
    found = []
    for number in told("xdotool", "search", "--onlyvisible", "--class", ".").split():
        lines = told("xdotool", "getwindowgeometry", "--shell", number).splitlines()
        place = dict(line.split("=", 1) for line in lines if "=" in line)
        found.append({
            "id": number,
            "place": tuple(int(place.get(name, 0)) for name in ("X", "Y", "WIDTH", "HEIGHT")),
            "name": told("xdotool", "getwindowname", number).rstrip("\n"),
            "class": told("xprop", "-id", number, "WM_CLASS"),
        })
    return found


def fits(window, tokens, size):
    *_, width, height = window["place"]
    text = f"{window['name']}\n{window['class']}".lower()
    return width >= size[0] and height >= size[1] and (not tokens or any(token in text for token in tokens))


def wait(tokens, size):
    """Returns once the program's windows have stayed the same for some looks."""
    before, same, end = None, 0, time.monotonic() + DEADLINE
    seen = []
    while time.monotonic() < end:
        seen = windows()
        now = sorted((one["id"], one["place"], one["name"], one["class"]) for one in seen if fits(one, tokens, size))
        same = same + 1 if now and now == before else int(bool(now))
        before = now
        if same >= STABLE:
            time.sleep(PAUSE)
            return
        time.sleep(PAUSE)
    names = ", ".join(repr(one["name"]) for one in seen) or "no window"
    sys.exit(f"no window of {tokens[:3]} stays open; there is {names}")


def choose(app, hints):
    """The window that most of the hints name; of equals the first."""
    words = {name: [word.lower() for word in hints.get(name, default)] for name, default in
             (("class_tokens", [app]), ("name_tokens", [app]), ("exact_name_penalty", []))}
    best, most = None, 0
    for window in windows():
        name, kind = window["name"].lower(), window["class"].lower()
        score = 5 * sum(word in kind for word in words["class_tokens"])
        score += 3 * sum(word in name for word in words["name_tokens"])
        score -= 4 * (name in words["exact_name_penalty"])
        if score > most:
            best, most = window["id"], score
    return best


def save(shortcut, name, app, hints):
    if hints:
        window, pause = choose(app, hints), 0.4
    else:
        window, pause = next(iter(told("xdotool", "search", "--name", name).split()), None), 0.5
    if window is None:
        print("no window to save")
        time.sleep(1)
        return
    told("xdotool", "windowactivate", window)
    time.sleep(pause)
    told("xdotool", "windowfocus", window)
    time.sleep(0.8)
    told("xdotool", "key", "--delay", "120", "--clearmodifiers", shortcut)
    print(f"sent {shortcut} to window {window}")
    time.sleep(3)


for tool in ("xdotool", "xprop"):
    if shutil.which(tool) is None:
        print(f"sh: 1: {tool}: not found", file=sys.stderr)
        sys.exit(127)
{"await": wait, "save": save}[sys.argv[1]](**json.loads(sys.argv[2]))
