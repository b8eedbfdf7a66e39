"""Measures episodes a minute on a page of MiniWoB++: a click on its one button, and the page's own reward.

usage: miniwob_episodes.py ours BROWSER PROGRAM WHEEL      runs with several trials at once; the best counts
       miniwob_episodes.py theirs BROWSER WHEEL            BrowserGym in several processes at once, without the pauses that it makes by default
       miniwob_episodes.py episodes BROWSER PAGES SECONDS  one of these processes

BROWSER is chromium, or chromium-headless-shell: a Chromium without windows, as Playwright brings it along."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

PAGE, BUTTON = "click-test", "Click Me!"
# A run or a process that takes longer is stuck.
DEADLINE = 600
EPISODES, TRIALS_AT_ONCE = 40, (2, 3, 4, 6)
SECONDS, PROCESSES = 40, (1, 2, 4)


def report(row, browser, found, wanted):
    """Prints the best of several ways to run, with what each came to."""
    best = max(found, key=lambda one: one["rate"])
    print(json.dumps({"row": f"{row}-{browser}", "median": best["rate"], "at_once": best["at_once"], "megabytes": best["megabytes"],
                      "all": {one["at_once"]: round(one["rate"], 1) for one in found}, "count": wanted}), flush=True)


class Memory:
    """The most that a process and all below it took, each shared page divided among its users, in megabytes."""

    def __init__(self, roots):
        self.roots, self.most, self.ended = roots, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(1):
            self.most = max(self.most, self.now())

    def now(self):
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass  # It has ended meanwhile.
        below, place = list(self.roots), 0
        while place < len(below):
            below += [pid for pid, parent in parents.items() if parent == below[place]]
            place += 1
        total = 0
        for pid in below:
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
            except (OSError, StopIteration):
                pass
        return total / 1024

    def end(self):
        self.ended.set()
        self.thread.join()
        return self.most


def ours(browser, program, wheel):
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder, "suite")
        subprocess.run([program, "tasks", "add", "miniwob", "--from", wheel, "--to", suite, "--environment", "browser"], check=True,
                       stdout=subprocess.DEVNULL)
        place = suite / "examples/miniwob" / f"{PAGE}.json"
        task = json.loads(place.read_text())
        task["apprentice"]["solution"] = [{"click": {"role": "button", "name": BUTTON}}]
        place.write_text(json.dumps(task))
        (suite / "suite.json").write_text(json.dumps({"miniwob": [PAGE]}))
        found = []
        for jobs in TRIALS_AT_ONCE:
            out, begun = Path(folder, f"runs-{jobs}"), time.monotonic()
            run = subprocess.Popen([program, "run", suite, "--model", "baseline/solution", "--seeds", str(EPISODES), "--jobs", str(jobs),
                                    "--out", out, "-y"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, APPRENTICE_BROWSER_PROGRAM=browser))
            memory = Memory([run.pid])
            try:
                _, told = run.communicate(timeout=DEADLINE)
            finally:
                run.kill()
            minutes = (time.monotonic() - begun) / 60
            most = memory.end()
            rows = [json.loads(line) for rows in out.glob("*/trials.jsonl") for line in rows.read_text().splitlines()]
            passed = sum(row["verdict"] == "pass" for row in rows)
            if run.returncode != 0 or passed != EPISODES:
                sys.exit(f"{passed} of {EPISODES} episodes passed:\n{told}")
            found.append({"at_once": jobs, "rate": EPISODES / minutes, "megabytes": most / jobs})
        report("episodes", browser, found, EPISODES)


def theirs(browser, wheel):
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        pages = next(Path(folder).rglob("html/miniwob"))
        found = []
        for count in PROCESSES:
            command = [sys.executable, __file__, "episodes", browser, pages, str(SECONDS)]
            started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
            try:
                for one in started:
                    while (line := one.stdout.readline().strip()) != "ready":
                        assert line or one.poll() is None, "a process ended before its first episode"
                memory = Memory([one.pid for one in started])
                for one in started:
                    one.stdin.write("go\n")
                    one.stdin.flush()
                ended = [json.loads(one.communicate(timeout=DEADLINE)[0].splitlines()[-1]) for one in started]
                most = memory.end()
            finally:
                # Where one of them fails, the others would go on.
                for one in started:
                    one.kill()
            rate = sum(one["episodes"] / one["seconds"] for one in ended) * 60
            found.append({"at_once": count, "rate": rate, "megabytes": most / count})
        report("browsergym-episodes", browser, found, SECONDS)


def episodes(browser, pages, seconds):
    browsers = tempfile.mkdtemp()
    place = Path(browsers, "chromium-1117/chrome-linux")
    place.mkdir(parents=True)
    (place / "chrome").symlink_to(shutil.which(browser) or sys.exit(f"{browser} is not installed"))
    os.environ.update(PLAYWRIGHT_BROWSERS_PATH=browsers, MINIWOB_URL=f"file://{pages}/")
    import browsergym.miniwob  # noqa: F401  (registers the environments)
    import gymnasium
    from browsergym.core.action.highlevel import HighLevelActionSet

    env = gymnasium.make(f"browsergym/miniwob.{PAGE}", disable_env_checker=True, slow_mo=0, pre_observation_delay=0.0,
                         pw_chromium_kwargs={"chromium_sandbox": False},
                         action_mapping=HighLevelActionSet(subsets=["bid"]).to_python_code)

    def episode(seed):
        seen, _ = env.reset(seed=seed)
        button = next(node for node in seen["axtree_object"]["nodes"]
                      if node.get("role", {}).get("value") == "button" and node.get("name", {}).get("value") == BUTTON)
        _, reward, *_ = env.step(f"click('{button['browsergym_id']}')")
        # Without its pauses it reads the reward too early now and then.
        return reward > 0

    try:
        episode(0)
        print("ready", flush=True)
        sys.stdin.readline()
        begun, seed, rewarded = time.monotonic(), 0, 0
        while time.monotonic() - begun < seconds:
            seed += 1
            rewarded += episode(seed)
        print(json.dumps({"episodes": rewarded, "seconds": time.monotonic() - begun}), flush=True)
    finally:
        env.close()
        shutil.rmtree(browsers, ignore_errors=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ours", browser, program, wheel]:
            ours(browser, program, wheel)
        case ["theirs", browser, wheel]:
            theirs(browser, wheel)
        case ["episodes", browser, pages, seconds]:
            episodes(browser, pages, float(seconds))
        case _:
            sys.exit(__doc__)
