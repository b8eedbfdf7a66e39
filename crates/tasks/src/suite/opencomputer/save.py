"""Sends a program the shortcut by which it saves, as OpenComputer does.

    save.py '{"shortcut": "ctrl+s", "name": "...", "app": "...", "hints": {...}}'

Which words name its window and which shortcut saves comes from the suite.
"""

import json
import shutil
import subprocess
import sys
import time


def told(*command):
    """What a tool prints; nothing where it fails, as for a window that has just gone."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=15)
    return done.stdout


def windows():
    for number in told("xdotool", "search", "--onlyvisible", "--class", ".").split():
        name = told("xdotool", "getwindowname", number).rstrip("\n")
        yield {"id": number, "name": name, "class": told("xprop", "-id", number, "WM_CLASS")}


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
save(**json.loads(sys.argv[1]))
