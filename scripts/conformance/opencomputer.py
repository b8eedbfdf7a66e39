"""Grades states of OpenComputer's tasks by upstream's `verify_task` and by this program's runner, and prints how far they agree.
Run by `scripts/conformance/opencomputer`."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

RUNNER = pathlib.Path("crates/tasks/src/check/getter/opencomputer.py")
HOME = "/home/user"
STATES = ("start", "empty", "edited", "made")

# Runs in the state's own home: upstream's function over a sandbox that runs commands here, then the runner for each check.
DRIVER = r"""
import json, subprocess, sys, time
case = json.load(sys.stdin)
sys.path.insert(0, case["clone"])
sys.dont_write_bytecode = True
from computer_env.backends.base import CommandExitException, CommandResult
from evaluation.runtime import verification
time.sleep = lambda seconds: None

class Sandbox:
    def __init__(self):
        self.commands = self
    def run(self, command, timeout=None, **_):
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        if done.returncode:
            raise CommandExitException(command, done.returncode, out, err)
        return CommandResult(command, out, err, 0)

def upstream():
    return verification.verify_task(Sandbox(), case["app"], case["checks"])[2]

def ours(check):
    asked = {"source": case["source"], "path": case["path"], "command": check["command"], "check": check}
    done = subprocess.run(["python3", "-c", case["runner"]], input=json.dumps(asked).encode(), capture_output=True)
    return json.loads(done.stdout) if done.stdout else {"broken": done.stderr.decode("utf-8", "replace")}

theirs, own = upstream(), [ours(check) for check in case["checks"]]
differ = any(one["result"] != other.get("result") for one, other in zip(theirs, own))
print(json.dumps({"upstream": theirs, "ours": own, "again": upstream() if differ else theirs}, default=str))
"""


def words_of(task):
    """The words of each check's command below the home, by path."""
    found = collections.defaultdict(list)
    for check in task["verification"]:
        words = shlex.split(check.get("command", ""))
        for path in words:
            if path.startswith(HOME + "/"):
                found[path] += words
    return found


def make_state(state, task, clone, root):
    home = root / "home"
    for entry in task["env"].get("files", []):
        local = clone / "tasks" / task["id"] / "env" / entry["filename"]
        target = pathlib.Path(entry["sandbox_path"])
        if not local.is_file() or not target.is_relative_to(HOME) or state == "empty":
            continue
        place = home / target.relative_to(HOME)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = local.read_bytes()
        if state == "edited":
            data = data.replace(b"0", b"1").replace(b"false", b"true") + b"\n" if b"\0" not in data else data[: len(data) // 2]
        place.write_bytes(data)
    if state == "made":
        named = words_of(task)
        for path, words in named.items():
            place = home / pathlib.Path(path).relative_to(HOME)
            is_folder = any(other.startswith(path.rstrip("/") + "/") for other in named)
            in_file = any(parent.is_file() for parent in place.parents)
            if not (place.exists() or is_folder or in_file):
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("\n".join(words))


def graded(state, task, clone):
    app = task["app"]
    verifier = clone / "verifiers" / app / f"{app}.py"
    path = f"{HOME}/verifiers/{app}.py"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("home/verifiers", "tmp"):
            (root / name).mkdir(parents=True)
        shutil.copy(verifier, root / "home/verifiers")
        make_state(state, task, clone, root)
        checks = [check for check in task["verification"] if check.get("judge") != "llm"]
        case = {"clone": str(clone), "app": app, "checks": checks, "source": verifier.read_text(), "path": path,
                "runner": RUNNER.read_text()}
        command = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/home", "--bind",
                   root / "home", HOME, "--bind", root / "tmp", "/tmp", "--ro-bind", clone, clone, "--unshare-net", "--unshare-pid",
                   "--clearenv", "--setenv", "HOME", HOME, "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv",
                   "LANG", "C.UTF-8", "--chdir", HOME, "python3", "-c", DRIVER]
        done = subprocess.run(command, input=json.dumps(case).encode(), capture_output=True)
    if done.returncode:
        sys.exit(f"{task['id']}, {state}: {done.stderr.decode()[-400:]}")
    return json.loads(done.stdout)


def differences(found):
    """Yields the field, upstream's value and ours of each difference; a fault is one where upstream counts a failed check."""
    for theirs, ours, again in zip(found["upstream"], found["ours"], found["again"]):
        if "broken" in ours:
            yield "broken", theirs, ours
        if "fault" in ours:
            yield "fault", theirs["passed"], ours["fault"]
            continue
        for field in ("passed", "actual", "result"):
            one, other = theirs.get(field), ours.get(field)
            one = bool(one) if field == "passed" else one
            if isinstance(other, dict) and set(other) == {"cut", "bytes"}:
                one, other = json.dumps(one, ensure_ascii=False)[: len(other["cut"])], other["cut"]
            # What upstream itself says otherwise the second time, such as a time, is no difference.
            if one != other and theirs.get(field) == again.get(field):
                yield field, one, other


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clone", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--app", action="append")
    parser.add_argument("--tasks", type=int, help="the most tasks of each program")
    given = parser.parse_args()
    tasks, count = [], collections.Counter()
    for path in sorted(given.clone.glob("tasks/*/task.json")):
        task = json.loads(path.read_text())
        count[task["app"]] += 1
        if (not given.app or task["app"] in given.app) and count[task["app"]] <= (given.tasks or sys.maxsize):
            tasks.append(task)
    states, checks, passed = 0, 0, 0
    faults, other, untouched = collections.Counter(), [], []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = [(state, task) for task in tasks for state in STATES]
        for (state, task), found in zip(cases, pool.map(lambda case: graded(*case, given.clone), cases)):
            states += 1
            if sys.stderr.isatty():
                print(f"\r{states} of {len(cases)}", end="", file=sys.stderr)
            checks += len(found["upstream"])
            held = sum(bool(one["passed"]) for one in found["upstream"])
            passed += held
            if state == "start" and held == len(task["verification"]):
                untouched.append(task["id"])
            for field, theirs, ours in differences(found):
                if field == "fault" and not theirs:
                    faults[ours] += 1
                else:
                    other.append(f"{task['id']}, {state}: {field}: {str(theirs)[:300]} upstream, {str(ours)[:300]} here")
    print(f"{len(tasks)} tasks, {states} states, {checks} checks, of which {passed} pass: {len(other)} differ")
    print(f"{len(untouched)} tasks pass as they start: {', '.join(untouched) or 'none'}")
    print(f"{sum(faults.values())} faults of this machine, which upstream counts as failed:")
    for fault, number in faults.most_common():
        print(f"  {number} {fault}")
    for line in other[:40]:
        print(line)
    sys.exit(bool(other))


main()
