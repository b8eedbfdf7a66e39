"""Measures what watching costs a run, and the viewer's first page of a large run. Prints a row of `scripts/bench/worlds` each.

usage: viewing.py watching PROGRAM ROUNDS    the same run unwatched and watched, in pairs
       viewing.py page PROGRAM ROUNDS        10,000 steps with 1 GB of pictures, in Chromium"""
import hashlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

# A run that takes longer is stuck.
DEADLINE = 300
# 500 attempts of 20 steps, and a picture of 100 kB for each step.
ATTEMPTS, STEPS, PICTURE = 500, 20, 100_000


def row(name, values, **more):
    median, least, most = statistics.median(values), min(values), max(values)
    print(json.dumps({"row": name, "median": median, "least": least, "most": most, "count": len(values), **more}), flush=True)


def start_viewer(program, folder, environment):
    viewer = subprocess.Popen([program, "view", folder, "--json", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                              text=True)
    text = ""
    while not text.rstrip().endswith("}"):
        line = viewer.stdout.readline()
        assert line, "the viewer ended"
        text += line
    return viewer, json.loads(text)["url"]


def end(process):
    process.send_signal(signal.SIGINT)
    process.wait(DEADLINE)


# Watching.


def has_picture(place):
    try:
        with urllib.request.urlopen(place, timeout=DEADLINE) as picture:
            return len(picture.read()) > 0
    except urllib.error.HTTPError:
        return False  # The trial has ended meanwhile.


def follow(url, seen):
    """Does what the page Live does: takes each state, and the newest picture of each trial in it."""
    shots = {}
    try:
        with urllib.request.urlopen(f"{url}control/events", timeout=DEADLINE) as events:
            for line in events:
                if not line.startswith(b"data: "):
                    continue
                for process in json.loads(line[6:]):
                    for trial in process["trials"]:
                        seen["states"] += 1
                        if trial["picture"] and shots.get(trial["trial"]) != trial["picture"]:
                            shots[trial["trial"]] = trial["picture"]
                            seen["pictures"] += has_picture(f"{url}control/picture/{process['process']}/{trial['trial']}")
    except OSError:
        pass  # The viewer has ended.


def one_run(program, place, environment):
    """Returns the wall time of a run, and the processor time of its process and its children, in milliseconds."""
    began = time.monotonic()
    command = [program, "run", "tasks/starter", "--model", "builtin/explorer", "--prefix", "page-", "--out", place]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    timer = threading.Timer(DEADLINE, process.kill)
    timer.start()
    _, status, used = os.wait4(process.pid, 0)
    timer.cancel()
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 10), f"the run ended with {code}"
    return (time.monotonic() - began) * 1000, (used.ru_utime + used.ru_stime) * 1000


def watching(program, rounds):
    with tempfile.TemporaryDirectory() as work:
        environment = {**os.environ, "HOME": work, "XDG_STATE_HOME": f"{work}/state", "XDG_RUNTIME_DIR": work}
        times = {"unwatched": [], "watched": []}
        seen = {"states": 0, "pictures": 0}
        one_run(program, work, environment)
        run = next(path.parent for path in Path(work).glob("*/run.json"))
        for number in range(rounds):
            # Whichever comes second finds a warmer machine, so they take turns.
            for kind in ("unwatched", "watched") if number % 2 == 0 else ("watched", "unwatched"):
                viewer = None
                if kind == "watched":
                    viewer, url = start_viewer(program, run, environment)
                    threading.Thread(target=follow, args=(url, seen), daemon=True).start()
                times[kind].append(one_run(program, work, environment))
                if viewer:
                    end(viewer)
        assert seen["states"] and seen["pictures"], f"nothing was watched: {seen}"
        for place, what in enumerate(("wall", "processor")):
            for kind, found in times.items():
                row(f"run-{kind}-{what}", [one[place] for one in found], **seen)
            pairs = [after[place] / before[place] for before, after in zip(times["unwatched"], times["watched"])]
            row(f"watching-{what}", pairs)


# The first page.


def large_run(folder):
    """Writes a run as the program does, with pictures that no compression shortens."""
    (folder / "blobs").mkdir(parents=True)
    plan = {"schema": "apprentice.run/1", "run": "20261120T101500Z-x7k2", "program": "0.1.0", "suite": "large", "suite_hash": "0",
            "prompt_hash": "0", "seeds": 5, "models": [], "arms": []}
    (folder / "run.json").write_text(json.dumps(plan))
    rows = []
    for number in range(ATTEMPTS):
        task, seed = f"task-{number // 10:03}", number % 5
        arm = "pull" if number % 10 < 5 else "none"
        trial = f"{number:08x}"
        attempt = folder / "trials" / f"{task}-{trial}" / "attempt-01"
        attempt.mkdir(parents=True)
        events = []
        for step in range(STEPS):
            picture = os.urandom(PICTURE)
            name = hashlib.sha256(picture).hexdigest()
            (folder / "blobs" / f"{name}.png").write_bytes(picture)
            events.append({"v": 1, "id": f"e{step + 1}", "wall": "2026-11-20T10:15:00Z", "mono_us": step, "step": f"s{step + 1}",
                           "kind": "observed", "data": {"title": f"Window {step}", "screenshot": name}})
        (attempt / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        passed = (number + seed) % 3 > 0
        rows.append({"schema": "apprentice.trial/1", "run": plan["run"], "trial": trial, "suite": "large", "role": "solo", "task": task,
                     "template": task, "suite_hash": "0", "arm": arm, "seed": seed, "attempt": 1, "model": "compat/large",
                     "verdict": "pass" if passed else "fail", "score": float(passed), "world_steps": STEPS, "turns": STEPS,
                     "tokens": {"input": 1000, "output": 100, "cached": 0}, "delivered_tokens": 0, "cost_usd": 0.01, "wall_s": 60.0,
                     "working_s": 50.0, "stop_reason": "done", "void_cause": None, "skills_viewed": ["shop/menus"], "order": number,
                     "started_at": "2026-11-20T10:15:00Z", "prompt_hash": "0", "isolation": "memory",
                     "trace": str(attempt.relative_to(folder))})
    (folder / "trials.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))


def memory_of(browser):
    """The memory of a process and all below it in megabytes, shared pages counted by their shares."""
    total, waiting = 0, [browser]
    while waiting:
        one = waiting.pop()
        try:
            text = Path(f"/proc/{one}/smaps_rollup").read_text()
            total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
            waiting += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        except OSError:
            continue  # It has ended.
    return total / 1024


def page(program, rounds):
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        folder = Path(work) / "large"
        large_run(folder)
        environment = {**os.environ, "HOME": work}
        ready, plain, size, empty = [], [], [], []
        for _ in range(rounds):
            viewer, url = start_viewer(program, folder, environment)
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
            # The browser is below this process and the driver; its renderers are below it.
            below = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            own = [int(one) for one in below if int(one) != viewer.pid]
            page = browser.new_page()
            page.set_default_timeout(DEADLINE * 1000)
            empty.append(sum(memory_of(one) for one in own))
            began = time.monotonic()
            page.goto(url, wait_until="commit")
            page.wait_for_selector("table.grid a.chip")
            # The page is usable once it answers to a key: the search field takes the focus.
            page.keyboard.press("/")
            page.wait_for_function("document.activeElement && document.activeElement.id === 'search'")
            ready.append((time.monotonic() - began) * 1000)
            assert page.locator("a.chip").count() == ATTEMPTS
            size.append(sum(memory_of(one) for one in own) - empty[-1])
            # The peer: the same page as a file, without a program in it.
            file = Path(work) / "plain.html"
            file.write_text(re.sub(r"<script.*?</script>|<link[^>]*>", "", page.content(), flags=re.S))
            began = time.monotonic()
            page.goto(file.as_uri(), wait_until="commit")
            page.wait_for_selector("table.grid a.chip")
            plain.append((time.monotonic() - began) * 1000)
            browser.close()
            end(viewer)
        row("first-page", ready, attempts=ATTEMPTS, steps=ATTEMPTS * STEPS, bytes=ATTEMPTS * STEPS * PICTURE)
        row("plain-page", plain)
        row("first-page-memory", size, browser=statistics.median(empty))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["watching", program, rounds]:
            watching(program, int(rounds))
        case ["page", program, rounds]:
            page(program, int(rounds))
        case _:
            sys.exit(__doc__)
