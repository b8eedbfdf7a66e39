#!/usr/bin/env bash
# Inspect's scorer `exact()` counts an answer right that differs from the target by its sign, or by all of its punctuation.
#
# Expected: `exact()` normalises the text, as its documentation has it, and knows numbers: "5" equals "5.0". A temperature of
#   -5 is another answer than 5, and "C++" another than "C".
# What happens: texts are cut at hyphens before anything else is done, so a minus is gone when the number is looked at, and the
#   parts of a date or a range become numbers of their own; of what is no number all ASCII punctuation is removed. "-5" is
#   CORRECT for "5", "C++" for "C", "/a/b" for "ab". "1.5" for "15" is not, as that is a number. `match(location="exact")`
#   keeps the sign only with numeric=True.
# Version: inspect_ai 0.3.285 (PyPI). Source: inspect_ai/scorer/_classification.py, `_tokenize` and `_remove_punc`: the check
#   for a finite number, which would keep "-5", is made on the tokens that are left.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check inspect_ai==0.3.285
cat > "$place/look.py" <<'PY'
import asyncio
import sys

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Target, exact, match
from inspect_ai.solver import TaskState

PAIRS = {("5.0", "5"): "C", ("-5", "5"): "C", ("C++", "C"): "C", ("/a/b", "ab"): "C", ("1.5", "15"): "I"}


def state(answer):
    output = ModelOutput.from_content("none/none", answer)
    return TaskState(model="none/none", sample_id=1, epoch=1, input="?", messages=[], output=output)


async def main():
    found = {}
    for answer, target in PAIRS:
        score = await exact()(state(answer), Target(target))
        number = await match(location="exact", numeric=True)(state(answer), Target(target))
        found[answer, target] = score.value
        print(f"answer {answer!r:6} target {target!r:5} exact(): {score.value}   match exact, numeric: {number.value}")
    if found == PAIRS:
        print("as found: a sign, an operator and a path's strokes are no difference")
    else:
        sys.exit("this has changed")


asyncio.run(main())
PY
"$place/venv/bin/python" "$place/look.py"
