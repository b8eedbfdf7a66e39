"""Runs tasks of OpenComputer solved and untouched, and prints whether their checks tell the two apart.
Run by `scripts/conformance/opencomputer-solutions`.

A solution is acts in the program ("acts", steps as in a task's `solution`), work by the program's own command line or scripting
("program"), or the file or setting that a person's work would leave ("files"). The latter two are Python that runs in the world, when
the program is ready, as the last step of the setup; the program's save shortcut and the checks follow as in any attempt.
"""

import argparse
import base64
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

FOLDER = pathlib.Path("scripts/conformance/opencomputer_solutions")
MEANS = ("acts", "program", "files")
# A program that has just shown its window still loads its file.
OPENED_S = 1.5
# What each script may use.
SHARED = r'''
import json, os, pathlib, re, shutil, subprocess, time, zipfile
HOME = pathlib.Path("/home/user")
DOCUMENTS = HOME / "Documents"

def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL)

def end(*programs):
    """Ends a program, as a person does who leaves without saving."""
    for program in programs:
        subprocess.run(["pkill", "-x", program[:15]])
    for _ in range(100):
        if all(subprocess.run(["pgrep", "-x", program[:15]], stdout=subprocess.DEVNULL).returncode for program in programs):
            return
        time.sleep(0.1)
    for program in programs:
        subprocess.run(["pkill", "-9", "-x", program[:15]])
'''
SCRIPT, SAID = "/tmp/.solution.py", "/tmp/.solution.log"
# The code 127 ends a setup at once, with the last line that a script wrote; any other would be tried again until a deadline.
LINE = f"python3 {SCRIPT} >{SAID} 2>&1 || {{ tail -n 1 {SAID} >&2; exit 127; }}"


def solutions(apps, tasks):
    """The wanted solutions: by task, its program, its means, its script or its acts."""
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text())
        if faulty := set(data.get("faulty", {})) & set(data["tasks"]):
            sys.exit(f"{path}: {', '.join(sorted(faulty))}: what no work passes has no solution")
        for task, one in data["tasks"].items():
            means = one.get("means", data.get("means"))
            if means not in MEANS or (means == "acts") != ("acts" in one):
                sys.exit(f"{path}: {task}: its means are one of {', '.join(MEANS)}, and acts stand as `acts`")
            script = SHARED + data.get("shared", "") + one.get("python", "")
            if (not apps or path.stem in apps) and (not tasks or task in tasks):
                found[task] = {"app": path.stem, "means": means, "script": script, "acts": one.get("acts")}
    return found


def write_suite(suite, to, wanted, solved):
    """Writes the wanted tasks of a suite, solved or as they are."""
    apps = collections.defaultdict(list)
    for app, names in json.loads((suite / "suite.json").read_text()).items():
        for name in names:
            if name not in wanted:
                continue
            apps[app].append(name)
            task = json.loads((suite / "examples" / app / f"{name}.json").read_text())
            if solved and wanted[name]["means"] == "acts":
                task["apprentice"]["solution"] = wanted[name]["acts"]
            elif solved:
                # A suite reads double braces as placeholders, which Base64 has not.
                packed = base64.b64encode(wanted[name]["script"].encode()).decode()
                line = f"echo {packed} | base64 -d >{SCRIPT}; {LINE}"
                task["config"] += [{"type": "sleep", "parameters": {"seconds": OPENED_S}},
                                   {"type": "execute", "parameters": {"command": ["bash", "-c", line]}}]
            place = to / "examples" / app / f"{name}.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(task))
    (to / "suite.json").write_text(json.dumps(apps))
    shutil.copytree(suite / "files", to / "files", copy_function=os.link)
    return {name for names in apps.values() for name in names}


def run(program, suite, names, model, jobs, runs):
    """Runs tasks, and returns the rows of the attempts that count, by task."""
    if not names:
        return {}
    before = set(runs.glob("*/trials.jsonl"))
    words = [program, "--jobs", jobs, "run", suite, "--model", model, "--out", runs]
    words += [word for name in sorted(names) for word in ("--task", name)]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env={**os.environ, "APPRENTICE_ATTEMPTS": "1"})
    made = set(runs.glob("*/trials.jsonl")) - before
    if len(made) != 1:
        sys.exit(f"{program} run: {done.stdout}{done.stderr}")
    path = made.pop()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["task"]: {**row, "why": why(row, path.parent)} for row in rows}


def why(row, run):
    """What the attempt's trace says of its end."""
    said = []
    for line in (run / row["trace"] / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "judged" and row["verdict"] != "pass":
            said.append(event["data"].get("explanation", ""))
        if event["kind"] == "stopped" and event["data"].get("void"):
            said.append(f"{event['data']['void']}: {event['data']['detail']}")
    return "; ".join(said)[:400]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("clone", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--app", action="append", default=[])
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument("--only", choices=["solved", "nothing"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path, help="write each task's outcomes to this file")
    parser.add_argument("--keep", type=pathlib.Path, help="keep suites and runs in this new folder")
    given = parser.parse_args()
    program = pathlib.Path(os.environ.get("APPRENTICE", "target/debug/apprentice")).resolve()
    wanted = solutions(given.app, given.task)
    with tempfile.TemporaryDirectory() as temporary:
        root = given.keep.resolve() if given.keep else pathlib.Path(temporary)
        runs = root / "runs"
        runs.mkdir(parents=True)
        subprocess.run([program, "tasks", "add", "opencomputer", "--from", given.clone, "--to", root / "all"], check=True,
                       stdout=subprocess.DEVNULL)
        outcomes = collections.defaultdict(dict)
        for kind in ("solved", "nothing"):
            if given.only not in (None, kind):
                continue
            names = write_suite(root / "all", root / kind, wanted, kind == "solved")
            if lacking := set(wanted) - names:
                print(f"not in this clone: {', '.join(sorted(lacking))}")
            acts = {name for name in names if kind == "solved" and wanted[name]["means"] == "acts"}
            rows = run(program, root / kind, names - acts, "baseline/noop", given.jobs, runs)
            rows |= run(program, root / kind, acts, "baseline/solution", given.jobs, runs)
            for name in names:
                row = rows.get(name, {})
                outcomes[name][kind] = {"verdict": row.get("verdict", "not run"), "why": row.get("why", ""), "wall_s": row.get("wall_s")}
    report(wanted, outcomes, given)


def report(wanted, outcomes, given):
    right = {"solved": "pass", "nothing": "fail"}
    count = collections.defaultdict(collections.Counter)
    other = []
    for name, found in sorted(outcomes.items()):
        app, means = wanted[name]["app"], wanted[name]["means"]
        for kind, one in found.items():
            is_right = one["verdict"] == right[kind]
            count[app][kind] += is_right
            if kind == "solved":
                count[app][means] += is_right
            if not is_right:
                other.append(f"{name}, {kind}: {one['verdict']}: {one['why']}")
        count[app]["tasks"] += 1
    columns = ("tasks", "solved", "nothing", *MEANS)
    print(f"{'program':22}" + "".join(f"{column:>9}" for column in columns))
    for app, numbers in sorted(count.items()):
        print(f"{app:22}" + "".join(f"{numbers[column]:9}" for column in columns))
    total = sum(count.values(), collections.Counter())
    print(f"{len(count):3} programs{'':10}" + "".join(f"{total[column]:9}" for column in columns))
    print("solved: the check passes with the solution; nothing: it fails without; then the solved ones by their means")
    for line in other:
        print(line)
    if given.json:
        given.json.write_text(json.dumps({name: {**wanted[name], **found, "script": None} for name, found in outcomes.items()}, indent=1))
    sys.exit(bool(other))


if __name__ == "__main__":
    main()
