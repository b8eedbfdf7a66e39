"""Judges what a model is told of programs and what becomes of its acts, program by program. See scripts/conformance/programs."""

import base64
import json
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

HERE = Path(__file__).parent
TYPED = "Grüße Ω € 你好 {b}"
CHECKS = ["listed", "places", "references", "typing", "menus, dialogs", "covered"]
SCREEN = "1280x800"
ANSWER_S = 60
START_S = 100
# From a program's first window until it is covered: some show a splash first.
DRAWN_S = 8

# A button without a name.
NAMELESS = r"^\s*button (\[[^\]]*\] )?@"
ENDED_BY_ESCAPE = ["eog"]
# name: toolkit, command, what begins the name of its first menu or button (None: it has no name), where the typed text goes ("role name", or None for where the
# focus is) and how it is read back: from the list, or from a file after Ctrl+S. A dialog is opened by a key.
PROGRAMS = {
    "kcalc": ("Qt 5", "kcalc", "File", ("key", "8+9=", "17"), "ctrl+shift+comma"),
    "speedcrunch": ("Qt 5", "speedcrunch", "Session", ("list", None), None),
    "featherpad": ("Qt 5", "featherpad a.txt", "File", ("file", "a.txt"), "ctrl+o"),
    "keepassxc": ("Qt 5", "keepassxc", "Database", None, "ctrl+o"),
    "qpdfview": ("Qt 5", "qpdfview", "File", None, "ctrl+o"),
    "vlc": ("Qt 5", "vlc", "Media", None, "ctrl+p"),
    "designer": ("Qt 5", "/usr/lib/qt5/bin/designer form.ui", "File", None, "ctrl+o"),
    "kcharselect": ("Qt 5", "kcharselect", "File", ("list", "textbox"), None),
    "kwrite": ("Qt 5", "kwrite a.txt", "File", ("file", "a.txt"), "ctrl+o"),
    "qt6 form": ("Qt 6", "python3 qt_form.py", "File", ("list", "textbox \"Name\""), None),
    "qml form": ("QML, Qt 5", "/usr/lib/qt5/bin/qmlscene qml_form.qml", "File", ("list", "textbox \"Name\""), None),
    "qml form 6": ("QML, Qt 6", "/usr/lib/qt6/bin/qml qml_form.qml", "File", ("list", "textbox \"Name\""), None),
    "mousepad": ("GTK 3", "mousepad a.txt", "File", ("file", "a.txt"), "ctrl+o"),
    "geany": ("GTK 3", "geany a.txt", "File", ("file", "a.txt"), "ctrl+o"),
    "bluefish": ("GTK 3", "bluefish a.txt", "File", ("file", "a.txt"), "ctrl+o"),
    "gnumeric": ("GTK 3", "gnumeric", "File", None, "ctrl+o"),
    "abiword": ("GTK 3", "abiword a.txt", "File", None, "ctrl+o"),
    "pluma": ("GTK 3", "pluma a.txt", "File", ("file", "a.txt"), "ctrl+o"),
    "mate-calc": ("GTK 3", "mate-calc", "Calculator", ("key", "8+9\n", "17"), None),
    "gucharmap": ("GTK 3", "gucharmap", "File", ("list", "textbox"), None),
    "atril": ("GTK 3", "atril page.pdf", "File", None, "ctrl+o"),
    "evince": ("GTK 3", "evince page.pdf", "", None, "ctrl+o"),
    "eog": ("GTK 3", "eog picture.png", "Menu", None, "ctrl+o"),
    "pcmanfm": ("GTK 2", "pcmanfm .", "File", ("list", "textbox"), None),
    "hexchat": ("GTK 2", "hexchat", "Add", None, None),
    "dia": ("GTK 2", "dia", "File", None, "ctrl+o"),
    "homebank": ("GTK 3", "homebank", "File", None, "ctrl+o"),
    "poedit": ("wx, GTK 3", "poedit", "File", None, "ctrl+o"),
    "audacity": ("wx, GTK 3", "audacity", "File", None, "ctrl+o"),
    "filezilla": ("wx, GTK 3", "filezilla", "File", ("list", "textbox \"Host\""), "ctrl+s"),
    "gnome-calculator": ("GTK 4", "gnome-calculator", "Basic", ("key", "8+9=", "17"), None),
    "gnome-text-editor": ("GTK 4", "gnome-text-editor a.txt", "Open", ("file", "a.txt"), "ctrl+comma"),
    "gnome-characters": ("GTK 4", "gnome-characters", None, None, None),
    "baobab": ("GTK 4", "baobab", None, None, None),
    "gnome-font-viewer": ("GTK 4", "gnome-font-viewer", "", None, None),
    "firefox": ("Gecko", "firefox-esr form.html", "List all tabs", ("list", "textbox \"Name\""), "ctrl+o"),
    "thunderbird": ("Gecko", "thunderbird", "(Minimize|Account Hub)", None, None),
    "swing form": ("Java Swing", "java Form.java", "File", ("list", "textbox \"Name\""), None),
    "calc": ("VCL, GTK 3", "soffice --calc", "File", ("list", None), "ctrl+o"),
    "writer": ("VCL, GTK 3", "soffice --writer", "File", ("list", None), "ctrl+o"),
    "gimp": ("GTK 2", "gimp --no-splash", "File", None, "ctrl+o"),
    "thunar": ("GTK 3", "thunar .", "File", None, None),
    "galculator": ("GTK 3", "galculator", "File", ("key", "8+9=", "17"), None),
    "emacs": ("GTK 3", "emacs a.txt", "File", ("emacs", "a.txt"), None),
    "xfce4-terminal": ("VTE", "xfce4-terminal", "File", ("list", None), None),
    "gnome-terminal": ("VTE", "gnome-terminal --wait", "File", ("list", None), None),
}
# What lists nothing must be said to.
SILENT = {
    "tk form": ("Tk", "python3 tk_form.py"),
    "idle": ("Tk", "idle a.txt"),
    "dillo": ("FLTK", "dillo form.html"),
    "xcalc": ("Xaw", "xcalc"),
    "xedit": ("Xaw", "xedit a.txt"),
    "xfig": ("Xaw", "xfig"),
    "xterm": ("Xaw", "xterm"),
}
# The modules of Python that a form needs.
MODULES = {"qt6 form": "PyQt6", "tk form": "tkinter", "idle": "tkinter"}
LANE = ["kcalc", "qt6 form", "gnome-calculator", "firefox", "swing form", "tk form"]
FILES = ["a.txt", "form.html", "qt_form.py", "tk_form.py", "qml_form.qml", "form.ui", "page.pdf", "Form.java"]


class World:
    """One desktop, over the command `apprentice mcp --act`."""

    def __init__(self, program, command):
        self.folder = tempfile.TemporaryDirectory(prefix="programs-")
        home = Path(self.folder.name)
        # Once the program has a window, a terminal over the whole screen comes and stays until it is closed by a key.
        line = f"{command} &\nfor i in $(seq 100); do wmctrl -l | grep -q . && break; sleep 0.3; done\nsleep {DRAWN_S}\n"
        (home / "start.sh").write_text(line + "exec xterm -title cover -fullscreen -e sh -c 'read x'\n")
        (home / "picture.png").write_bytes(picture())
        given = [home / "start.sh", home / "picture.png"] + [HERE / "programs_files" / name for name in FILES]
        argv = [program, "mcp", "--act", "--app", "bash start.sh", "--screen", SCREEN, "--out", str(home / "run")]
        for file in given:
            argv += ["--file", str(file)]
        self.errors = open(home / "errors", "wb")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=self.errors)
        self.count = 0
        client = {"name": "programs", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        end = time.monotonic() + ANSWER_S
        while time.monotonic() < end:
            ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
            line = self.process.stdout.readline() if ready else b""
            if not line:
                break
            answer = json.loads(line)
            if answer.get("id") == self.count:
                return answer.get("result") or {"content": [{"type": "text", "text": json.dumps(answer)}]}
        raise TimeoutError(f"no answer to {method}: {Path(self.errors.name).read_text()[-500:]}")

    def call(self, name, arguments):
        found = self.ask("tools/call", {"name": name, "arguments": arguments})
        picture = None
        texts = []
        for part in found.get("content", []):
            if part["type"] == "text":
                texts.append(part["text"])
            elif part["type"] == "image":
                picture = base64.b64decode(part["data"])
        self.text = "\n".join(texts)
        first = self.text.split("\n", 1)[0]
        self.head = json.loads(first) if first.startswith("{") else {}
        return picture

    def look(self, picture=False):
        seen = self.call("observe", {"screenshot": picture})
        return seen

    def act(self, *actions):
        self.call("act", {"actions": list(actions)})
        reports = self.head.get("reports", [])
        return all(report.get("delivery", {}).get("delivery") == "delivered" for report in reports) and bool(reports)

    def click(self, ref):
        return self.act({"do": "click", "at": {"ref": ref}})

    def key(self, chord):
        return self.act({"do": "key", "chord": chord})

    def lines(self):
        return [line for line in self.text.split("\n")[1:] if line.strip()]

    def find(self, pattern):
        for line in self.lines():
            named = re.search(r"#([nod]\d+)", line)
            if named and re.search(pattern, line):
                return named.group(1)
        return None

    def front(self):
        return next((window for window in self.head.get("windows", []) if window["active"]), {"title": "", "bounds": None})

    def until(self, holds, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            if holds():
                return True
            time.sleep(0.4)
        return False

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


def pixels(png):
    """Rows of a PNG of 8 bits without alpha or with it."""
    place, data, width, height, size = 8, b"", 0, 0, 3
    while place < len(png):
        length, kind = int.from_bytes(png[place : place + 4], "big"), png[place + 4 : place + 8]
        body = png[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
            size = {0: 1, 2: 3, 6: 4}[body[9]]
        elif kind == b"IDAT":
            data += body
        place += 12 + length
    raw, stride, rows, above = zlib.decompress(data), width * size, [], bytearray(width * size)
    for row in range(height):
        start = row * (stride + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for at in range(stride):
            left = line[at - size] if at >= size else 0
            corner = above[at - size] if at >= size else 0
            if kind == 1:
                line[at] = (line[at] + left) & 255
            elif kind == 2:
                line[at] = (line[at] + above[at]) & 255
            elif kind == 3:
                line[at] = (line[at] + (left + above[at]) // 2) & 255
            elif kind == 4:
                guess = left + above[at] - corner
                nearest = min((abs(guess - left), 0, left), (abs(guess - above[at]), 1, above[at]), (abs(guess - corner), 2, corner))
                line[at] = (line[at] + nearest[2]) & 255
        rows.append([bytes(line[at : at + 3]) for at in range(0, stride, size)])
        above = line
    return rows


def picture():
    """A PNG of 320 by 200 with two colours."""
    rows = b"".join(b"\0" + (b"\x20\x60\xc0" * 160 + b"\xf0\xd0\x40" * 160) for _ in range(200))
    head = (320).to_bytes(4, "big") + (200).to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    whole = [len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big") for kind, body in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(whole)


def is_drawn(rows, x, y):
    """Whether something is drawn around a point: letters, an icon."""
    colours = {bytes(rows[row][column]) for row in range(max(0, y - 8), min(len(rows), y + 8)) for column in range(max(0, x - 24), min(len(rows[0]), x + 24))}
    return len(colours) > 1


def placed(world):
    """Places of what a person would click, of the window in front: another may lie under it."""
    found, in_front = [], False
    told = any(re.match(r"\s*(window|dialog|alert)\b.*\[[^\]]*active", line) for line in world.lines())
    for line in world.lines():
        if re.match(r"\s*(window|dialog|alert)\b", line):
            in_front = in_front and "active" not in line and line.startswith("    ") or "active" in line
        if told and not in_front:
            continue
        match = re.match(r'\s*(button|menuitem|checkbox|radio|tab) "[^"]+".*?@(\d+),(\d+)', line)
        if match and "disabled" not in line:
            found.append((int(match.group(2)), int(match.group(3))))
    return found


def judge(program, name):
    """Judges one program; a check is True, False, or None where there is nothing to check. Returns why checks failed, too."""
    _, command, first, typed, dialog = PROGRAMS[name]
    results, why = dict.fromkeys(CHECKS), []
    world = World(program, command)
    try:
        pattern = NAMELESS if first is None else rf'^\s*(menuitem|button) "{first}'
        if not world.until(lambda: world.front()["title"] == "cover", START_S):
            return results | {"listed": False}, ["it did not start"]
        element = world.find(pattern)
        results["listed"] = element is not None and len(world.lines()) > 4
        if not results["listed"]:
            why.append("listed: " + " / ".join(world.lines()[:6])[:300])
        titled = any("covered by \"cover\"" in line for line in world.lines())
        world.look()
        element = world.find(pattern)
        done = element is not None and world.click(element)
        raised = world.until(lambda: world.front()["title"] != "cover", 4)
        if raised and not done:
            # A dialog of the program came instead, which blocks the window: it is closed first, as a person would.
            world.key("Escape")
            world.until(lambda: world.find(pattern), 4)
            element = world.find(pattern)
            done = element is not None and world.click(element)
            raised = world.until(lambda: world.front()["title"] != "cover", 4)
        results["covered"] = done and raised and titled
        if not results["covered"]:
            why.append(f"covered: told {titled}, done {done}, raised {raised}")
        time.sleep(1)
        world.key("Escape")
        # A window that comes to the front again lists itself a moment later.
        world.until(lambda: world.find(pattern) and placed(world), 5)
        picture = world.look(picture=True)
        places = placed(world)
        rows = pixels(picture) if picture else []
        inked = [place for place in places if place[1] < len(rows) and place[0] < len(rows[0]) and is_drawn(rows, *place)]
        results["places"] = bool(places) and len(inked) >= 0.9 * len(places)
        if not results["places"]:
            why.append(f"places: {len(inked)} of {len(places)} drawn, not {[p for p in places if p not in inked][:5]}")
        before, count = set(world.lines()), len(world.lines())
        element = world.find(pattern)
        done = element is not None and world.click(element)
        world.until(lambda: set(world.lines()) != before, 4)
        if done and len(world.lines()) < count:
            # What the first click had opened was open still, and this one closed it.
            before, count = set(world.lines()), len(world.lines())
            done = world.click(world.find(pattern) or element)
            world.until(lambda: len(world.lines()) > count, 3)
        new = [line for line in world.lines() if line not in before]
        results["references"] = done and bool(new)
        items = [line for line in new if re.match(r"\s*(menuitem|button|dialog|window|option|checkbox|link|text|list|cell)", line)]
        if not results["references"]:
            why.append(f"references: {done}, nothing new: {world.text[-300:]}")
        opened = len(items) >= 1
        # The first closes the menu, and the second leaves the menu bar.
        world.key("Escape")
        if name not in ENDED_BY_ESCAPE:
            world.key("Escape")
        time.sleep(0.4)
        world.until(lambda: world.find(pattern), 3)
        if dialog:
            titles = [window["title"] for window in world.head["windows"]]
            count = len(world.lines())
            world.key(dialog)
            came = world.until(lambda: len(world.lines()) != count and (len(world.head["windows"]) > len(titles) or world.find(r"^\s*(dialog|alert)")), 6)
            front = world.front()["title"]
            buttons = [line for line in world.lines() if re.search(r'\b(button|tab) "', line)]
            opened = opened and came and len(buttons) >= 2
            if not came:
                why.append(f"dialog: {dialog} opened nothing; front {front!r}")
            world.key("Escape")
            world.until(lambda: world.find(pattern), 3)
        results["menus, dialogs"] = opened
        if not opened:
            why.append(f"menus: {new[:4]}")
        if typed:
            results["typing"] = types(world, typed, why)
    except (TimeoutError, BrokenPipeError) as error:
        why.append(str(error)[:300])
    finally:
        world.close()
    return results, why


def types(world, typed, why):
    kind = typed[0]
    if kind == "key":
        # The keys of a calculator go to its field, where it has one.
        field = world.find(r"^\s*textbox")
        if field:
            world.click(field)
        world.act({"do": "type", "text": typed[1]})
        found = world.until(lambda: any(f'"{typed[2]}"' in line for line in world.lines()), 4)
        if not found:
            why.append(f"typing: {typed[2]} is not listed")
        return found
    if kind == "list" and typed[1]:
        element = world.find(r"^\s*" + typed[1])
        if not element or not world.click(element):
            why.append(f"typing: no {typed[1]}")
            return False
    if kind == "file":
        element = world.find(r'textbox.* = "a line') or world.find(r"^\s*textbox")
        if not element or not world.click(element):
            why.append("typing: no text")
            return False
    text = TYPED if kind != "emacs" else "plain text"
    world.act({"do": "type", "text": text})
    if kind == "emacs":
        world.key("ctrl+x")
        world.key("ctrl+s")
    found = kind == "emacs" or world.until(lambda: any(text in line for line in world.lines()), 5)
    if not found:
        why.append("typing: not in the list: " + "; ".join(line for line in world.lines() if "textbox" in line or "focused" in line)[:300])
    return found


def judge_silent(program, name):
    _, command = SILENT[name]
    results, why = dict.fromkeys(CHECKS), []
    world = World(program, command)
    try:
        if not world.until(lambda: len(world.head.get("windows", [])) > 1, START_S):
            return results | {"listed": False}, ["it did not start"]
        world.key("alt+Tab")
        world.until(lambda: world.front()["title"] != "cover", 5)
        said = any("does not list its elements" in remark for remark in world.head.get("remarks", []))
        results["listed"] = said
        if not said:
            why.append(f"listed: nothing said of {world.front()['title']!r}: " + " / ".join(world.lines()[:3]))
    except (TimeoutError, BrokenPipeError) as error:
        why.append(str(error)[:300])
    finally:
        world.close()
    return results, why


def is_installed(name, command):
    module = MODULES.get(name)
    if module and subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode != 0:
        return False
    return shutil.which(command) is not None


def main():
    program, *names = sys.argv[1:]
    names = LANE if names == ["lane"] else names or [*PROGRAMS, *SILENT]
    rows, right, asked = [], 0, 0
    for name in names:
        known = PROGRAMS.get(name) or SILENT.get(name)
        if not known:
            sys.exit(f"no program {name!r}; there are: {', '.join([*PROGRAMS, *SILENT])}")
        if not is_installed(name, known[1].split()[0]):
            print(f"{name}: not installed", file=sys.stderr)
            continue
        results, why = (judge if name in PROGRAMS else judge_silent)(program, name)
        word = {True: "right", False: "wrong", None: "–"}
        rows.append(f"| {name} | {known[0]} | " + " | ".join(word[results[check]] for check in CHECKS) + " |")
        judged = [result for result in results.values() if result is not None]
        right, asked = right + sum(judged), asked + len(judged)
        print(rows[-1], file=sys.stderr, flush=True)
        for line in why:
            print(f"    {line}", file=sys.stderr, flush=True)
    print("| program | toolkit | " + " | ".join(CHECKS) + " |")
    print("|---|---|" + "---|" * len(CHECKS))
    print("\n".join(rows))
    print(f"\n{right} of {asked}")
    if not rows:
        sys.exit(77)
    sys.exit(0 if asked and right >= 0.95 * asked else 1)


if __name__ == "__main__":
    main()
