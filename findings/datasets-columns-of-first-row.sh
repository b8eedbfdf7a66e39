#!/usr/bin/env bash
# The rows of a list or a generator have the columns of the first row in `datasets`, and those of a file have all.
#
# Expected: the same rows make the same table, however they come in; what a later row has more is a column with None before, as within
#   a dictionary, or raises.
# What happens: of {"task": "a"} and {"task": "b", "seed": 3}, `from_list` and `from_generator` keep `task` alone, without a word;
#   a JSON Lines file of these rows has `seed` as None and 3, and the list in the other order has it, too. One level below, it is the other
#   way round: the arguments of a tool call get all names of all other tools with None, so that a chat template writes {"x": 1, "text":
#   null} for a call that was {"x": 1}, and a model is trained on that. `from_list` says in its docstring that the first row decides;
#   `from_generator` does not. A trainer draws rows whose seed is optional from a world that nobody named.
# Version: datasets 5.2.0 (PyPI). Source: the docstring of `Dataset.from_list` in datasets/arrow_dataset.py.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0
cat > "$place/look.py" <<'PY'
import json
import sys

from datasets import Dataset, disable_progress_bars, load_dataset

disable_progress_bars()
place = sys.argv[1]
rows = [{"task": "a"}, {"task": "b", "seed": 3}]
with open(f"{place}/rows.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)


def drawn():
    yield from rows


found = {
    "from_list": Dataset.from_list(rows),
    "from_generator": Dataset.from_generator(drawn, cache_dir=place),
    "the same rows from a file": load_dataset("json", data_files=f"{place}/rows.jsonl", split="train", cache_dir=place),
    "from_list, the other order": Dataset.from_list(rows[::-1]),
}
found = {name: data[:] for name, data in found.items()}
calls = [{"name": "click", "arguments": {"x": 1}}, {"name": "type", "arguments": {"text": "a"}}]
found["calls"] = Dataset.from_list([{"call": call} for call in calls])[0]["call"]["arguments"]
for name, columns in found.items():
    print(f"{name}: {columns}")
expected = [
    {"task": ["a", "b"]},
    {"task": ["a", "b"]},
    {"task": ["a", "b"], "seed": [None, 3]},
    {"task": ["b", "a"], "seed": [3, None]},
    {"x": 1, "text": None},
]
if list(found.values()) == expected:
    print("as found: a column that the first row lacks is gone, a name that a dictionary lacks is there")
else:
    sys.exit("this has changed")
PY
HF_HOME=$place/home HF_HUB_OFFLINE=1 "$place/venv/bin/python" "$place/look.py" "$place"
