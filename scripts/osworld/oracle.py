"""Makes cases for the metrics of OSWorld's checks, scores each with the Python function and with this program,
and prints how far they agree. Run by `scripts/osworld/oracle`."""

import contextlib
import importlib
import importlib.abc
import importlib.util
import io
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# Libraries that the metrics compared here do not touch.
ABSENT = {"borb", "pdfplumber", "PyPDF2", "easyocr", "acoustid"}
TOLERANCE = 1e-6
# Sounds are decoded and resampled by other builds of the same libraries, in single precision.
TOLERANCES = {"compare_audios": 1e-3}
# Cases wanted for a metric that OSWorld's tasks use at least twice, and for the others.
WANTED, FEW = 20, 5
# Seconds for which Python is kept busy with the cases of one metric.
LONG = 0.4


class Absent(types.ModuleType):
    """Stands for a library that is not installed: importing it works, using it does not."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


def load_metrics():
    sys.meta_path.insert(0, Finder())
    root = os.path.dirname(importlib.util.find_spec("desktop_env").origin)
    # The packages' own files pull in whole environments.
    for name, path in (("desktop_env", root), ("desktop_env.evaluators", os.path.join(root, "evaluators"))):
        package = types.ModuleType(name)
        package.__path__ = [path]
        sys.modules[name] = package
    with contextlib.redirect_stdout(io.StringIO()):
        metrics = importlib.import_module("desktop_env.evaluators.metrics")
    # Upstream waits before it opens a broken picture again.
    time.sleep = lambda seconds: None
    import tldextract

    # Public suffixes as the library carries them; no network.
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    return metrics


def score_python(metrics, case):
    arguments = [case["result"]] + ([case["expected"]] if "expected" in case else [])
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            score = getattr(metrics, case["func"])(*json.loads(json.dumps(arguments)), **case.get("options", {}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    if score is None:
        return "None"
    return float(score)


def questions(cases):
    return "".join(json.dumps(case) + "\n" for case in cases)


def score_ours(program, cases, compat):
    command = [program, "tasks", "metric", "--stdin", "--osworld-compat", compat]
    done = subprocess.run(command, input=questions(cases), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the program failed: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def agree(python, ours):
    if isinstance(python, str):
        return "score" not in ours
    return "score" in ours and abs(python - ours["score"]) <= TOLERANCES.get(ours["func"], TOLERANCE)


def main():
    program, arguments = sys.argv[1], sys.argv[2:]
    # How many times as many random cases as the lane of the tests has.
    scale = next((int(arguments[at + 1]) for at, word in enumerate(arguments) if word == "--scale"), 1)
    families = {arguments[at + 1] for at, word in enumerate(arguments) if word == "--family"}
    only = {arguments[at + 1] for at, word in enumerate(arguments) if word == "--only"}
    metrics = load_metrics()
    from cases import make
    from maker import NONE

    with tempfile.TemporaryDirectory() as folder:
        made_cases = make(folder, scale, families)
        cases, places = [], []
        for family, members in made_cases.items():
            for name, (often, made) in members.items():
                if only and name not in only:
                    continue
                for result, expected, options in made:
                    case = {"func": name, "result": result, "options": options}
                    if expected is not NONE:
                        case["expected"] = expected
                    cases.append(case)
                    places.append((family, name, often))
        python = [score_python(metrics, case) for case in cases]
        exact = score_ours(program, cases, "exact")
        if "--bench" in arguments:
            bench(metrics, program, places, cases)
    sys.exit(report(places, cases, python, exact))


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def bench(metrics, program, places, cases):
    """Prints how many times as fast this program is: over all cases, and for each metric without the program's start.
    Both are asked in turn, and medians are taken, since the machine may be busy."""

    questions_file = tempfile.NamedTemporaryFile("w+")

    def write(some):
        questions_file.seek(0)
        questions_file.truncate()
        questions_file.write(questions(some))
        questions_file.flush()
        return questions_file.name

    def run(asked):
        with open(asked) as lines:
            command = [program, "tasks", "metric", "--stdin", "--osworld-compat", "exact"]
            subprocess.run(command, stdin=lines, stdout=subprocess.DEVNULL, check=True)

    def pairs(some, count):
        # Writing the questions down is neither's work; reading them, and writing the answers, is this program's.
        asked = write(some)
        both = [(timed(lambda: [score_python(metrics, case) for case in some]), timed(lambda: run(asked))) for _ in range(count)]
        return [statistics.median(side) for side in zip(*both)]

    start = statistics.median(timed(lambda: run(write([]))) for _ in range(21))
    place = os.path.dirname(os.path.abspath(__file__))
    load = [sys.executable, "-c", "import oracle; oracle.load_metrics()"]
    loading = statistics.median(timed(lambda: subprocess.run(load, cwd=place, check=True)) for _ in range(5))
    theirs, ours = pairs(cases, 3)
    print(f"{len(cases)} cases: Python {theirs:.2f} s in a warm process that took {loading:.2f} s to load its libraries, "
          f"ours {ours:.2f} s with its start of {1e3 * start:.0f} ms (load {os.getloadavg()[0]:.1f})")
    print(f"{(theirs + loading) / ours:.1f} times as fast by whole processes, {theirs / ours:.1f} times against a warm one, "
          f"{(loading + theirs / len(cases)) / (start + ours / len(cases)):.1f} times for one check alone")
    rows = []
    for name in dict.fromkeys(name for _, name, _ in places):
        some = [case for place, case in zip(places, cases) if place[1] == name]
        # So many that the start is no part of what is measured.
        once = timed(lambda: [score_python(metrics, case) for case in some])
        many = some * max(1, min(20_000 // len(some), int(LONG / once)))
        theirs, ours = pairs(many, 3)
        rows.append((theirs / max(ours - start, 1e-4), name, 1e6 * theirs / len(many), 1e6 * max(ours - start, 0) / len(many)))
    print(f"{'metric':<44}{'Python us':>11}{'ours us':>11}{'ratio':>8}")
    for ratio, name, theirs, ours in sorted(rows):
        print(f"{name:<44}{theirs:>11.0f}{ours:>11.0f}{ratio:>8.1f}")
    print(f"median over metrics: {statistics.median(row[0] for row in rows):.1f}; {sum(row[0] >= 50 for row in rows)} of {len(rows)} reach 50")


def report(places, cases, python, exact):
    rows, wrong, lacking, mended = {}, [], [], {}
    for place, case, theirs, ours in zip(places, cases, python, exact):
        family, name, often = place
        row = rows.setdefault(family, {}).setdefault(name, {"often": often, "cases": 0, "agree": 0, "seen": set()})
        row["cases"] += 1
        if isinstance(theirs, float):
            row["seen"].add("positive" if theirs > 0 else "zero")
        if agree(theirs, ours):
            row["agree"] += 1
        else:
            wrong.append((name, case, theirs, ours))
        if "other_reading" in ours:
            mended[name] = mended.get(name, 0) + 1
    failed = bool(wrong)
    for family, members in rows.items():
        total = sum(row["cases"] for row in members.values())
        same = sum(row["agree"] for row in members.values())
        print(f"{family:<10} {len(members):>3} metrics {total:>5} cases {same:>5} agree")
        for name, row in members.items():
            if row["cases"] < (WANTED if row["often"] else FEW):
                print(f"  {name}: only {row['cases']} cases")
                failed = True
            if row["seen"] != {"positive", "zero"}:
                lacking.append(f"{name} ({', '.join(sorted(row['seen'])) or 'errors'})")
    print(f"without both a positive and a zero score: {', '.join(lacking) or 'none'}")
    print(f"scored otherwise by the mended reading: {', '.join(f'{name} {count}' for name, count in mended.items()) or 'none'}")
    for name, case, theirs, ours in wrong[:40]:
        print(f"DIFFERS {name}: Python {theirs!r}, ours {json.dumps(ours)[:300]}\n  {json.dumps(case)[:500]}")
    print(f"{len(cases)} cases, {len(wrong)} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    main()
