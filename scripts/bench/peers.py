"""The programs that worlds are compared with, each measured as its own users meet it. Prints one line of JSON for each row.

usage: peers.py desktop FOLDER ROUNDS | browser PROGRAM FOLDER PAGE ROUNDS | serve PORT | pages FOLDER"""
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

SCREEN, PAGE = (1920, 1080), {"width": 1280, "height": 720}
DEADLINE = 60

TREE = '''import json, sys, time
try:
    import pyatspi
except ImportError:
    sys.exit(0)

def walk(node, count):
    try:
        node.get_role(), node.get_name(), node.get_state_set().get_states()
        node.get_extents(pyatspi.DESKTOP_COORDS) if hasattr(node, "get_extents") else node.queryComponent().getExtents(0)
    except Exception:
        pass
    count += 1
    # A sheet says that it has two thousand million children.
    for index in range(min(node.childCount, 400)):
        child = node.getChildAtIndex(index)
        if child is not None:
            count = walk(child, count)
    return count

times = []
for _ in range(int(sys.argv[1])):
    begun = time.perf_counter()
    count = sum(walk(app, 0) for app in pyatspi.Registry.getDesktop(0) if app is not None and app.name == "soffice")
    times.append((time.perf_counter() - begun) * 1000)
times.sort()
print(json.dumps({"row": "pyatspi", "median": times[len(times) // 2], "least": times[0], "most": times[-1],
                  "count": len(times), "nodes": count}))
'''


def report(row, times, **more):
    times = sorted(times)
    print(json.dumps({"row": row, "median": statistics.median(times), "least": times[0], "most": times[-1],
                      "count": len(times), **more}), flush=True)


def timed(rounds, action):
    action()
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        action()
        times.append((time.perf_counter() - begun) * 1000)
    return times


def pages(folder):
    """Writes the pages and the text that both sides show, and the script that walks a tree."""
    rows = "".join(
        f"<tr>{''.join(f'<td>row {row} cell {cell}</td>' for cell in range(7))}<td><button>Edit {row}</button></td></tr>"
        for row in range(500)
    )
    small = "<h1>Cups</h1><p>Twelve kinds of cups.</p><button>Add to basket</button><button>Remove</button>"
    # A click that changes nothing would measure nothing: the page counts what it gets.
    count = "<p id=count>0 clicks</p><script>let n = 0; onclick = () => count.textContent = `${++n} clicks`</script>"
    for name, body in (("small", small), ("big", f"<table>{rows}</table>")):
        with open(os.path.join(folder, f"{name}.html"), "w") as file:
            file.write(f"<!doctype html><meta charset=utf-8><title>{name}</title>{count}{body}")
    with open(os.path.join(folder, "text.txt"), "w") as file:
        file.write("\n".join(f"{line}: " + "the quick brown fox jumps over the lazy dog " * 3 for line in range(80)))
    with open(os.path.join(folder, "tree.py"), "w") as file:
        file.write(TREE)


def await_true(what, check):
    end = time.monotonic() + DEADLINE
    while not check():
        if time.monotonic() > end:
            sys.exit(f"{what} took more than {DEADLINE} s")
        time.sleep(0.05)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def text_corner():
    """Where the editor's text begins, below its menu bar, as the window manager says of the window."""
    said = subprocess.run(["wmctrl", "-lG"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 7) for line in said.splitlines()]
    row = next(row for row in rows if "text.txt" in row[-1])
    return int(row[2]), int(row[3]) + 40


def desktop(folder, rounds):
    """mss with PNG, and what OSWorld's server does for a picture and for a click, on a display that shows the text."""
    home = tempfile.mkdtemp()
    read, write = os.pipe()
    started = []

    def start(*argv, **more):
        # In a group of its own, so that what it starts in turn ends with it.
        started.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                        **more))

    start("Xvfb", "-displayfd", str(write), "-screen", "0", f"{SCREEN[0]}x{SCREEN[1]}x24", "-nolisten", "tcp", "-noreset",
          pass_fds=[write])
    try:
        number = os.read(read, 16).decode().strip()
        os.environ.update(DISPLAY=f":{number}", HOME=home, XDG_SESSION_TYPE="x11", XAUTHORITY=os.path.join(home, "none"))
        open(os.environ["XAUTHORITY"], "w").close()
        start("openbox")
        import mss
        import mss.tools
        with mss.MSS() as screen:
            screen_of = screen.monitors[1]
            blank = len(set(screen.grab(screen_of).rgb))
            start("dbus-run-session", "mousepad", os.path.join(folder, "text.txt"))
            await_true("the editor's window", lambda: len(set(screen.grab(screen_of).rgb)) > max(blank, 20))

            def grab():
                picture = screen.grab(screen_of)
                return mss.tools.to_png(picture.rgb, picture.size)

            report("mss", timed(rounds, grab), bytes=len(grab()))
        port = free_port()
        start(sys.executable, __file__, "serve", str(port))
        address = f"http://127.0.0.1:{port}"

        def ask(path, body=None):
            body = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(address + path, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                return answer.read()

        def answers():
            try:
                return bool(ask("/screenshot"))
            except OSError:
                return False

        await_true("the server", answers)
        report("osworld-picture", timed(rounds, lambda: ask("/screenshot")))
        left, top = text_corner()
        place = [0]

        def click():
            place[0] = (place[0] + 1) % 10
            x, y = left + 60 + 20 * place[0], top + 20 + 30 * place[0]
            line = f"import pyautogui; import time; pyautogui.FAILSAFE = False; pyautogui.click({x}, {y})"
            done = json.loads(ask("/execute", {"command": ["python", "-c", line], "shell": False}))
            if done["returncode"] != 0:
                sys.exit("the click failed: " + done["error"])
            ask("/screenshot")

        def proven():
            """The caret stands where it was clicked: its lines of the picture differ from those before."""
            lines = (left, top + 12 + 30 * ((place[0] + 1) % 10), 400, 16)
            area = {"left": lines[0], "top": lines[1], "width": lines[2], "height": lines[3]}
            with mss.MSS() as screen:
                before = screen.grab(area).rgb
                click()
                # It blinks.
                await_true("the caret where it was clicked", lambda: screen.grab(area).rgb != before)

        report("osworld-click", timed(rounds, click))
        proven()
    finally:
        for one in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait(10)
        shutil.rmtree(home, ignore_errors=True)


def serve(port):
    """Does for /screenshot and /execute what the server in OSWorld's machines does: the pointer's picture is pasted into
    the screen's, a PNG goes through a file, and each action is a new interpreter."""
    import logging

    import pyautogui
    from flask import Flask, jsonify, request, send_file

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app, place = Flask(__name__), tempfile.mkdtemp()

    @app.route("/screenshot")
    def screenshot():
        path = os.path.join(place, "screenshot.png")
        pyautogui.screenshot().save(path)
        return send_file(path, mimetype="image/png")

    @app.route("/execute", methods=["POST"])
    def execute():
        command = [sys.executable if word == "python" else word for word in request.json["command"]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        return jsonify({"status": "success", "output": done.stdout, "error": done.stderr, "returncode": done.returncode})

    app.run("127.0.0.1", port)


def browser(program, folder, page, rounds):
    """BrowserGym's reset and step in a Chromium, without the pauses that it makes by default."""
    browsers = tempfile.mkdtemp()
    place = os.path.join(browsers, "chromium-1117", "chrome-linux")
    os.makedirs(place)
    os.symlink(shutil.which(program) or sys.exit(f"{program} is not installed"), os.path.join(place, "chrome"))
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = browsers
    os.environ.setdefault("MINIWOB_URL", "http://127.0.0.1/")
    import browsergym.core  # noqa: F401  (registers the environments)
    import gymnasium
    from browsergym.core.action.highlevel import HighLevelActionSet

    env = gymnasium.make(
        "browsergym/openended", task_kwargs={"start_url": f"file://{os.path.join(folder, page)}.html"}, viewport=PAGE,
        disable_env_checker=True, slow_mo=0, pre_observation_delay=0.0, pw_chromium_kwargs={"chromium_sandbox": False},
        action_mapping=HighLevelActionSet(subsets=["bid", "coord"]).to_python_code)
    try:
        resets = timed(max(1, min(rounds, 10) // 2), lambda: env.reset(seed=1))
        seen, clicks = [], [0]

        def step():
            seen[:] = [env.step("mouse_click(160, 205)")[0]]
            if seen[0]["last_action_error"]:
                sys.exit("the click failed: " + seen[0]["last_action_error"])
            clicks[0] += 1
            names = (node.get("name", {}).get("value", "") for node in seen[0]["axtree_object"]["nodes"])
            if f"{clicks[0]} clicks" not in names:
                sys.exit(f"the page does not count {clicks[0]} clicks")

        row = page if program == "chromium" else program.removeprefix("chromium-")
        report(f"browsergym-step-{row}", timed(rounds, step), nodes=len(seen[0]["axtree_object"]["nodes"]))
        report(f"browsergym-reset-{row}", resets)
    finally:
        env.close()
        shutil.rmtree(browsers, ignore_errors=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["desktop", folder, rounds]:
            desktop(folder, int(rounds))
        case ["browser", program, folder, page, rounds]:
            browser(program, folder, page, int(rounds))
        case ["serve", port]:
            serve(int(port))
        case ["pages", folder]:
            pages(folder)
        case _:
            sys.exit(__doc__)
