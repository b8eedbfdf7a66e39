"""Browser sessions of one server beside environments of BrowserGym; see browser-sessions.

usage: browser_sessions.py PROGRAM [--at-once N] [--seconds S] [--rounds R] [--browser NAME]
       browser_sessions.py one BROWSER SECONDS      one environment of BrowserGym, which steps on each line that it reads

Each step clicks at a page that counts its clicks, and sees a picture and the elements, in which the count must stand."""
import argparse
import contextlib
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from miniwob_episodes import Memory

SCREEN = {"width": 1280, "height": 720}
AT = {"x": 160, "y": 205}
COUNTS = "<p id=count>0 clicks</p><script>let n = 0; onclick = () => count.textContent = `${++n} clicks`</script>"
PAGE = f"<!doctype html><title>Cups</title>{COUNTS}<h1>Cups</h1><p>Twelve kinds.</p><button>Add</button><button>Remove</button>"
RESETS, DEADLINE = 5, 300


def suite(folder):
    task = {
        "id": "clicks", "instruction": "Click.",
        "evaluator": {"func": "exact_match", "result": {"type": "vm_command_line", "command": ["true"]},
                      "expected": {"type": "rule", "rules": {"expected": ""}}},
        "apprentice": {"environment": "browser", "template": "clicks", "screen": SCREEN, "url": "data:text/html," + PAGE},
    }
    place = Path(folder, "examples/page")
    place.mkdir(parents=True)
    (place / "clicks.json").write_text(json.dumps(task))
    Path(folder, "suite.json").write_text(json.dumps({"page": ["clicks"]}))


class Ours:
    """The sessions of one server."""

    def __init__(self, program, browser, at_once, folder, warm=0):
        suite(folder)
        command = [program, "serve", "--suite", folder, "--sessions", str(at_once), "--warm", str(warm), "--port", "0", "--json",
                   "--until-stdin-ends"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "APPRENTICE_BROWSER_PROGRAM": browser})
        text = b""
        while not text.rstrip().endswith(b"}"):
            line = self.process.stdout.readline()
            text += line or sys.exit("the server ended")
        self.host = json.loads(text)["url"].removeprefix("http://")
        self.roots = [self.process.pid]
        self.sessions = [self.open() for _ in range(at_once)]

    def ask(self, connection, method, path, body=None):
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        told = json.loads(answer.read())
        return told if answer.status in (200, 201) else sys.exit(f"{path}: {told}")

    def open(self):
        connection = http.client.HTTPConnection(self.host, timeout=DEADLINE)
        opened = self.ask(connection, "POST", "/sessions", {"max_steps": 1_000_000})
        return connection, f"/sessions/{opened['session']}"

    def steps(self, seconds):
        counts = [0] * len(self.sessions)

        def work(at):
            connection, path = self.sessions[at]
            self.ask(connection, "POST", path + "/reset", {})
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                seen = self.ask(connection, "POST", path + "/step", {"actions": [{"do": "click", "at": {"point": AT}}]})
                counts[at] += 1
                seen = seen["observation"]
                if f"{counts[at]} clicks" not in seen["outline"] or not seen["screenshot"]:
                    sys.exit(f"the page does not count {counts[at]} clicks: {seen['outline']}")

        rate(work, len(self.sessions))
        return sum(counts) / seconds

    def resets(self):
        connection, path = self.sessions[0]
        times = []
        for _ in range(RESETS):
            # A world that is started ahead of time has had the time of an episode for it.
            time.sleep(3)
            begun = time.perf_counter()
            self.ask(connection, "POST", path + "/reset", {})
            times.append((time.perf_counter() - begun) * 1000)
        return times

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


class Theirs:
    """Environments of BrowserGym, each in a process of its own, as its synchronous Playwright wants it."""

    def __init__(self, browser, at_once, seconds):
        command = [sys.executable, __file__, "one", browser, str(seconds)]
        self.started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(at_once)]
        self.roots = [one.pid for one in self.started]
        self.all("ready", self.started)

    def all(self, _, ones):
        lines = [one.stdout.readline() for one in ones]
        return [json.loads(line) if line else sys.exit("a process of BrowserGym ended") for line in lines]

    def ask(self, what, ones):
        for one in ones:
            one.stdin.write(what + "\n")
            one.stdin.flush()
        return self.all(what, ones)

    def steps(self, _):
        return sum(self.ask("steps", self.started))

    def resets(self):
        return self.ask("resets", self.started[:1])[0]

    def end(self):
        for one in self.started:
            one.stdin.close()
            one.wait(60)


@contextlib.contextmanager
def ended(side):
    try:
        yield side
    finally:
        side.end()


def rate(work, count):
    failed = []

    def guarded(at):
        try:
            work(at)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(at,)) for at in range(count)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if failed:
        sys.exit(f"fault: {failed[0]}")


def one(browser, seconds):
    browsers = tempfile.mkdtemp()
    place = Path(browsers, "chromium-1117/chrome-linux")
    place.mkdir(parents=True)
    (place / "chrome").symlink_to(shutil.which(browser) or sys.exit(f"{browser} is not installed"))
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = browsers
    os.environ.setdefault("MINIWOB_URL", "http://127.0.0.1/")
    import browsergym.core  # noqa: F401  (registers the environments)
    import gymnasium
    from browsergym.core.action.highlevel import HighLevelActionSet

    page = Path(browsers, "page.html")
    page.write_text(PAGE)
    env = gymnasium.make("browsergym/openended", task_kwargs={"start_url": f"file://{page}"}, viewport=SCREEN, disable_env_checker=True,
                         slow_mo=0, pre_observation_delay=0.0, pw_chromium_kwargs={"chromium_sandbox": False},
                         action_mapping=HighLevelActionSet(subsets=["bid", "coord"]).to_python_code)
    say = lambda value: print(json.dumps(value), flush=True)  # noqa: E731
    try:
        env.reset(seed=1)
        say("ready")
        for line in sys.stdin:
            if line.strip() == "resets":
                times = []
                for _ in range(RESETS):
                    begun = time.perf_counter()
                    env.reset(seed=1)
                    times.append((time.perf_counter() - begun) * 1000)
                say(times)
                continue
            env.reset(seed=1)
            count, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                seen = env.step(f"mouse_click({AT['x']}, {AT['y']})")[0]
                count += 1
                names = (node.get("name", {}).get("value", "") for node in seen["axtree_object"]["nodes"])
                if seen["last_action_error"] or f"{count} clicks" not in names or seen["screenshot"] is None:
                    sys.exit(f"the page does not count {count} clicks: {seen['last_action_error']}")
            say(count / seconds)
    finally:
        env.close()
        shutil.rmtree(browsers, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browser", default="chromium")
    given = parser.parse_args()
    def side(name, folder):
        if name == "theirs":
            return Theirs(given.browser, given.at_once, given.seconds)
        return Ours(given.program, given.browser, given.at_once, folder)

    found = {"ours": {"steps": [], "resets": [], "memory": []}, "theirs": {"steps": [], "resets": [], "memory": []}}
    for _ in range(given.rounds):
        for name in ("ours", "theirs"):
            with tempfile.TemporaryDirectory() as folder, ended(side(name, folder)) as many:
                memory = Memory(many.roots)
                found[name]["steps"].append(many.steps(given.seconds))
                found[name]["memory"].append(memory.end() / given.at_once)
                if name == "theirs":
                    found[name]["resets"] += many.resets()
        # A world that is started ahead of time would count as memory of the sessions.
        with tempfile.TemporaryDirectory() as folder, ended(Ours(given.program, given.browser, 1, folder, warm=1)) as warm:
            found["ours"]["resets"] += warm.resets()
    middle = {name: {row: statistics.median(values) for row, values in rows.items()} for name, rows in found.items()}
    ours, theirs = middle["ours"], middle["theirs"]
    print(f"{given.at_once} at once in {given.browser}, {given.rounds} rounds of {given.seconds:g} s, load {os.getloadavg()[0]:.1f}:")
    print(f"  steps a second in all: {ours['steps']:.1f} here, {theirs['steps']:.1f} there: {ours['steps'] / theirs['steps']:.1f}x")
    print(f"  a reset: {ours['resets']:.0f} ms here, {theirs['resets']:.0f} ms there: {theirs['resets'] / ours['resets']:.1f}x")
    print(f"  memory of each (PSS): {ours['memory']:.0f} MB here, {theirs['memory']:.0f} MB there")


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(sys.argv[2], float(sys.argv[3]))
    else:
        main()
