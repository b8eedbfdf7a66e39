"""Makes the table of `scripts/bench/worlds` from its rows: the medians, and the ratios to the programs that were measured beside.

usage: table.py --write FILE | --check FILE | --keep FILE   < rows"""
import json
import os
import platform
import subprocess
import sys

# What is measured, our row, the row that it is compared with, that program's name, and the least ratio wanted.
ROWS = [
    ("a picture of 1920 by 1080 as PNG", "picture", "mss", "mss and its PNG", 6),
    ("the same", "picture", "osworld-picture", "OSWorld's server", 30),
    ("a click into a text on a desktop, settled and seen", "click", "osworld-click", "OSWorld's server", 5),
    ("a step in a browser that changes the page: click, picture, tree", "step-small", "browsergym-step-small", "BrowserGym's `step`", 7),
    ("the same in `chromium-headless-shell`, here and there", "step-headless-shell", "browsergym-step-headless-shell", "BrowserGym's `step`", 10),
    ("a step in Chromium on a page of 500 table rows", "step-big", "browsergym-step-big", "BrowserGym's `step`", 40),
    ("a fresh browser with a page, seen", "fresh-browser", "browsergym-reset-small", "BrowserGym's `reset`", 10),
    ("the same in `chromium-headless-shell`, here and there", "fresh-headless-shell", "browsergym-reset-headless-shell", "BrowserGym's `reset`", 10),
    ("a fresh Chromium, started while the trial before waited 4 s", "fresh-browser-ahead", "browsergym-reset-small", "BrowserGym's `reset`", 10),
    ("a page in a fresh context (`browser_reuse`)", "episode-context-chromium", "browsergym-reset-small", "BrowserGym's `reset`", 12),
    ("the same in `chromium-headless-shell`, here and there", "episode-context-chromium-headless-shell", "browsergym-reset-headless-shell",
     "BrowserGym's `reset`", 12),
    ("the tree of Calc, hidden menus included", "tree", "pyatspi", "pyatspi", 20),
    ("the tree of Calc in the view after a key", "tree-again", "pyatspi", "pyatspi", 20),
]
BELOW = 0.5


def ratios(rows):
    for what, ours, theirs, peer, goal in ROWS:
        if ours in rows and theirs in rows:
            yield what, rows[ours], rows[theirs], peer, goal, rows[theirs]["median"] / rows[ours]["median"]


def key(what, peer):
    return f"{what} / {peer}"


def least(rows):
    """Ratios of the least times: in few rounds beside other work, the median is that of the work."""
    return {key(what, peer): theirs["least"] / ours["least"] for what, ours, theirs, peer, _, _ in ratios(rows)}


def check(path, rows):
    with open(path) as file:
        known = json.load(file)
    found = least(rows)
    for name, before in known.items():
        print(f"{name}: {found[name]:.1f}×, kept {before}×" if name in found else f"{name}: not measured")
    fallen = [name for name, before in known.items() if found.get(name, 0) < before * BELOW]
    if fallen:
        sys.exit("fallen by half: " + "; ".join(fallen))


def viewing(rows):
    """What `scripts/bench/viewing.py` measured, in words."""
    lines = []
    if "watching-wall" in rows:
        wall, processor, pairs = rows["watching-wall"], rows["watching-processor"], rows["watching-wall"]["count"]
        watched = rows["run-watched-wall"]
        lines.append(f"- Watching costs a run {(wall['median'] - 1) * 100:+.1f} % of its time ({(wall['least'] - 1) * 100:+.1f} to "
                     f"{(wall['most'] - 1) * 100:+.1f}) and {(processor['median'] - 1) * 100:+.1f} % of its processor time (wanted: below 3): "
                     f"medians of {pairs} pairs of six tasks in a browser, a page that took {watched['states']} states and "
                     f"{watched['pictures']} pictures.")
    if "first-page" in rows:
        first, memory = rows["first-page"], rows["first-page-memory"]
        lines.append(f"- The viewer's first page of {first['steps']} steps and {first['bytes'] / 1e9:.1f} GB answers to a key in "
                     f"Chromium after {first['median']:.0f} ms ({first['least']:.0f}-{first['most']:.0f}; wanted: 1000), "
                     f"{first['median'] / rows['plain-page']['median']:.1f} times as late as the same table as a plain file, and takes "
                     f"{memory['median']:.0f} MB there (wanted: 300) beside the {memory['browser']:.0f} MB of the empty browser.")
    return lines


def episodes(rows):
    """What `scripts/bench/miniwob_episodes.py` measured, in words."""
    lines = []
    for browser in ("chromium", "chromium-headless-shell"):
        if f"episodes-{browser}" not in rows or f"browsergym-episodes-{browser}" not in rows:
            lines.append(f"- Not measured in this run: MiniWoB++ episodes a minute in {browser}.")
            continue
        ours, theirs = rows[f"episodes-{browser}"], rows[f"browsergym-episodes-{browser}"]
        each = {name: ", ".join(f"{count} at once {rate}" for count, rate in row["all"].items()) for name, row in (("ours", ours), ("theirs", theirs))}
        lines.append(f"- MiniWoB++ episodes a minute, each in a fresh {browser}, a click on the page's button: {ours['median']:.0f} whole trials with "
                     f"their traces here ({each['ours']}), {ours['megabytes']:.0f} MB each (PSS; wanted: 150); {theirs['median']:.0f} with BrowserGym "
                     f"({each['theirs']}), {theirs['megabytes']:.0f} MB each: {ours['median'] / theirs['median']:.1f}× (wanted: 10×).")
    return lines


def alone(rows):
    """What nothing is measured beside, in words."""
    told = [
        ("click-thunar", "a click at a file in Thunar, settled and seen, the status bar included"),
        ("click-calc", "a click at a cell in Calc, settled and seen, the toolbars included"),
        ("type-page", "400 characters typed into a page, settled"),
    ]
    return [f"- {what[0].upper()}{what[1:]}: {rows[row]['median']:.0f} ms ({rows[row]['least']:.0f}-{rows[row]['most']:.0f}, "
            f"90 % within {rows[row]['p90']:.0f}; {rows[row]['count']} times)." for row, what in told if row in rows]


def parts(rows):
    """What a step in a browser consists of, in words."""
    lines = []
    for page in ("small", "big"):
        found = {part: rows.get(f"step-{page}-{part}") for part in ("click", "picture", "tree")}
        if None not in found.values():
            ms = {part: f"{row['median']:.0f} ms" for part, row in found.items()}
            lines.append(f"- Of the step on the {page} page, {ms['click']} pass from the click until the page is at rest. Alone, the picture takes {ms['picture']} and "
                         f"the tree {ms['tree']}; a step reads both at once.")
    return lines


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
    with open("/proc/meminfo") as file:
        memory = int(file.readline().split()[1]) >> 20
    chromium = subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout.split()
    version = next((word for word in chromium if word[:1].isdigit()), "unknown")
    return f"{os.cpu_count()} cores ({model}), {memory} GB, Linux {platform.release()}, Chromium {version}"


def table(rows):
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    lines = [
        "# Benchmarks", "",
        "`just bench` measures worlds beside the programs that they are compared with, one after the other in the same run, and",
        "writes this page. The peers are installed by pip, BrowserGym without the pauses that it makes by default. Each number is a",
        "median. Each click changes something, which is read back from the program or page: the caret of a text, a counter. A row whose",
        "act did nothing fails. `scripts/bench/worlds --short` is a lane of the tests. In a debug build it compares least times, and fails when a",
        "ratio is below half of the one that `scripts/bench/short.json` keeps. [Design](design.md#ratios-below-those-wanted) says why some",
        "ratios are lower than wanted.", "",
        f"Machine: {machine()}. Load at the end of the run: {load}. Release build.", "",
        "| what | ms here | compared with | ms there | ratio | wanted | count |", "|---|---|---|---|---|---|---|",
    ]
    for what, ours, theirs, peer, goal, ratio in ratios(rows):
        lines.append(f"| {what} | {ours['median']:.1f} ({ours['least']:.1f}-{ours['most']:.1f}) | {peer} | "
                     f"{theirs['median']:.1f} ({theirs['least']:.1f}-{theirs['most']:.1f}) | {ratio:.1f}× | {goal}× | "
                     f"{ours['count']}, {theirs['count']} |")
    lines.append("")
    if "fresh-desktop" in rows:
        lines.append(f"- A fresh desktop until its first picture: {rows['fresh-desktop']['median']:.0f} ms.")
    if "many" in rows:
        many = rows["many"]
        lines.append(f"- {many['cells']} desktop cells at once: {many['answered']} answer with a picture, "
                     f"{many['seconds']:.1f} s from the first start to the last picture, "
                     f"{many['kilobytes'] / 1024:.0f} MB each (PSS, X server and buses included).")
    lines += alone(rows)
    lines += parts(rows)
    lines += episodes(rows)
    lines += viewing(rows)
    nodes = [f"{row[6:]} {rows[row]['value']}" for row in rows if row.startswith("nodes-")]
    there = [f"{row} {rows[row]['nodes']}" for row in rows if "nodes" in rows[row] and not row.startswith("nodes-")]
    if nodes:
        lines.append(f"- Nodes read here: {', '.join(nodes)}; there: {', '.join(there)}.")
    missing = [f"{what} ({peer})" for what, ours, theirs, peer, _ in ROWS if ours not in rows or theirs not in rows]
    if missing:
        lines.append(f"- Not measured in this run: {'; '.join(missing)}.")
    shares = [(row.split("-")[1:], rows[row]) for row in rows if row.startswith("share-")]
    for (seconds, trials), row in shares:
        lines.append(f"- What is not the model's time in a step, with a model that takes {seconds} s, {trials} trials at once, in an in-memory "
                     f"world: {row['p95']:.2f} % at p95, {row['median']:.2f} % at the median of {row['steps']} steps (wanted: below 2 %).")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    rows = {row["row"]: row for row in map(json.loads, filter(str.strip, sys.stdin))}
    match sys.argv[1:]:
        case ["--check", path]:
            check(path, rows)
        case ["--keep", path]:
            with open(path, "w") as file:
                json.dump({name: round(ratio, 1) for name, ratio in least(rows).items()}, file, indent=2, ensure_ascii=False)
                file.write("\n")
        case ["--write", path]:
            text = table(rows)
            with open(path, "w") as file:
                file.write(text)
            print(text)
        case _:
            sys.exit(__doc__)
