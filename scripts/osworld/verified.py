"""Lists what the Verified release of OSWorld changed, task by task: `verified.py OLD REVISION NEW REVISION`, where OLD and
NEW are clones that hold the task files of both. Prints a Markdown table; no text of a task stands in it."""

import io
import json
import re
import subprocess
import sys
import tarfile

FOLDER = "evaluation_examples/examples/"


def tasks(clone, revision):
    listed = subprocess.run(["git", "-C", clone, "archive", revision, FOLDER], capture_output=True, check=True).stdout
    found = {}
    with tarfile.open(fileobj=io.BytesIO(listed)) as archive:
        for member in archive.getmembers():
            place = re.fullmatch(FOLDER + r"([a-z_]+)/([0-9a-f-]+[a-zA-Z0-9_-]*)\.json", member.name)
            if place:
                found[place[1], place[2]] = json.load(archive.extractfile(member))
    return found


def plain(value):
    """A value without the addresses of files, which all moved, and without what an editor changes."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in sorted(value.items())}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str):
        return re.sub(r"https?://(drive\.google\.com|drive\.usercontent\.google\.com|huggingface\.co)\S*", "FILE", value).strip()
    return value


def names(value):
    return value if isinstance(value, list) else [value]


def changes(old, new):
    told, before, after = [], old["evaluator"], new["evaluator"]
    one, other = before.get("func"), after.get("func")
    if one != other:
        if other == "infeasible":
            told.append("cannot be done any more")
        elif one == "infeasible":
            told.append("can be done now")
        else:
            told.append(f"metric {', '.join(map(str, names(one)))} → {', '.join(map(str, names(other)))}")
    for field, words in (("conj", "how metrics join"), ("result", "what is read"), ("expected", "what is expected"),
                         ("options", "options"), ("postconfig", "steps before the check")):
        if plain(before.get(field)) != plain(after.get(field)):
            told.append(words)
    if plain(old.get("config")) != plain(new.get("config")):
        told.append("setup")
    if plain(old.get("instruction")) != plain(new.get("instruction")):
        told.append("instruction")
    return told


def main():
    old, new = tasks(*sys.argv[1:3]), tasks(*sys.argv[3:5])
    both = sorted(old.keys() & new.keys())
    rows, same = [], 0
    for app, task in both:
        told = changes(old[app, task], new[app, task])
        same += not told
        if told:
            rows.append(f"| {app} | {task} | {'; '.join(told)} |")
    print(f"Tasks in both: {len(both)}; changed: {len(rows)}; the same but for addresses of files: {same}; "
          f"only in the newer: {len(new.keys() - old.keys())}.")
    print("\n| application | task | changed |\n|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
