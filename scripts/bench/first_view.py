"""Times tasks of OpenComputer to their first view, and their programs to a window in a bare session. Run by `scripts/bench/first-view`."""

import argparse
import collections
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# A program that shows no window for as long is left out, on either side.
LIMIT = 120
SCREEN = "1920x1080x24"

# Runs in the bare session: the setup of the task without its waits, then the program. It prints the seconds from the program's start to
# the first window of its name and size.
BARE = r"""
import json, os, pathlib, shutil, subprocess, sys, time
task = json.load(sys.stdin)
suite, limit = pathlib.Path(sys.argv[1]), float(sys.argv[2])

def told(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout

def is_there(tokens, size):
    for number in told("xdotool", "search", "--onlyvisible", "--class", ".").split():
        shape = dict(line.split("=", 1) for line in told("xdotool", "getwindowgeometry", "--shell", number).splitlines() if "=" in line)
        text = (told("xdotool", "getwindowname", number) + told("xprop", "-id", number, "WM_CLASS")).lower()
        fits = int(shape.get("WIDTH", 0)) >= size[0] and int(shape.get("HEIGHT", 0)) >= size[1]
        if fits and any(token in text for token in tokens):
            return True
    return False

began = None
for step in task["config"]:
    given = step["parameters"]
    if step["type"] == "write_file":
        path = pathlib.Path(given["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(given["content"])
    elif step["type"] == "upload_file":
        for file in given["files"]:
            path = pathlib.Path(file["path"])
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(suite / file["local_path"], path)
    elif step["type"] == "launch":
        began = time.monotonic()
        subprocess.Popen(given["command"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elif step["type"] == "execute":
        # What follows the start is a wait of the setup.
        if began is None:
            subprocess.run(given["command"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elif step["type"] == "await_window":
        while not is_there(given["names"], given["size"]):
            if time.monotonic() - began > limit:
                sys.exit("no window")
            time.sleep(0.05)
        print("window after", time.monotonic() - began, flush=True)
        break
"""


def bare(task, suite, number):
    """Seconds from the program's start to its window; None without one."""
    display = f":{number}"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("home", "tmp"):
            (root / name).mkdir()
        server = subprocess.Popen(["Xvfb", display, "-screen", "0", SCREEN, "-nolisten", "tcp"], stderr=subprocess.DEVNULL)
        manager = None
        try:
            for _ in range(200):
                if subprocess.run(["xdotool", "getdisplaygeometry"], env={**os.environ, "DISPLAY": display}, capture_output=True).returncode == 0:
                    break
                time.sleep(0.05)
            manager = subprocess.Popen(["openbox"], env={**os.environ, "DISPLAY": display}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            command = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/home", "--bind", root / "home", "/home/user",
                       "--bind", root / "tmp", "/tmp", "--bind", "/tmp/.X11-unix", "/tmp/.X11-unix", "--ro-bind", suite, suite, "--unshare-pid",
                       "--unshare-net", "--unshare-user", "--die-with-parent", "--clearenv", "--setenv", "HOME", "/home/user", "--setenv", "PATH", "/usr/bin:/bin:/usr/games",
                       "--setenv", "LANG", "C.UTF-8", "--setenv", "DISPLAY", display, "--chdir", "/home/user", "--uid", "1000", "--gid", "1000",
                       "dbus-run-session", "--", "python3", "-c", BARE, suite, str(LIMIT)]
            done = subprocess.run([str(word) for word in command], input=json.dumps(task), capture_output=True, text=True, timeout=LIMIT * 3)
        finally:
            for process in (manager, server):
                if process:
                    process.terminate()
                    process.wait()
    # Servers of the session write there, too.
    told = [line.split()[-1] for line in done.stdout.splitlines() if line.startswith("window after ")]
    return float(told[0]) if told else None


def ours(program, path, runs):
    """Seconds from the start of `apprentice run` to the first view of the task; None without one."""
    before, began = set(runs.glob("*")), time.time()
    words = [program, "run", path, "--model", "baseline/noop", "--out", runs]
    subprocess.run([str(word) for word in words], capture_output=True, timeout=LIMIT * 5, env={**os.environ, "APPRENTICE_ATTEMPTS": "1"})
    for events in [events for run in set(runs.glob("*")) - before for events in run.glob("trials/*/*/events.jsonl")]:
        for line in events.read_text().splitlines():
            event = json.loads(line)
            if event["kind"] == "observed":
                return datetime.datetime.fromisoformat(event["wall"][:26].rstrip("Z") + "+00:00").timestamp() - began
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clone", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--app", action="append", default=[])
    parser.add_argument("--tasks", type=int, default=1, help="tasks of each program")
    given = parser.parse_args()
    program = pathlib.Path(os.environ.get("APPRENTICE", "target/debug/apprentice")).resolve()
    rows = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        suite = root / "suite"
        subprocess.run([program, "tasks", "add", "opencomputer", "--from", given.clone, "--to", suite], check=True, stdout=subprocess.DEVNULL)
        number = 70
        for app, names in json.loads((suite / "suite.json").read_text()).items():
            if given.app and app not in given.app:
                continue
            for name in names[: given.tasks]:
                path = suite / "examples" / app / f"{name}.json"
                task = json.loads(path.read_text())
                if not all(shutil.which(one) for one in task["apprentice"]["programs"]):
                    continue
                number += 1
                # Which side comes first changes, so that what the first leaves in the machine's cache helps each as often.
                sides = {"view": lambda: ours(program, path, root / "runs"), "window": lambda: bare(task, suite, number)}
                order = ("window", "view") if number % 2 else ("view", "window")
                found = {side: sides[side]() for side in order}
                rows[app].append(found)
                shown = {side: "none" if seconds is None else f"{seconds:.1f} s" for side, seconds in found.items()}
                print(f"{name}: view {shown['view']}, window in a bare session {shown['window']}", flush=True)
    report(rows)


def report(rows):
    both = [row for all_ in rows.values() for row in all_ if None not in row.values()]
    if not both:
        sys.exit("no task was measured on both sides")
    view, window = (statistics.median(row[side] for row in both) for side in ("view", "window"))
    ratio = statistics.median(row["view"] / (0.5 * row["window"] + 2) for row in both)
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{len(both)} tasks of {len(rows)} programs on {os.cpu_count()} cores, load at the end {load}")
    print(f"median: {view:.1f} s to the first view, {window:.1f} s to the window in a bare session, ratio {view / window:.2f}; "
          f"view / (0.5 × window + 2 s): {ratio:.2f}")


main()
