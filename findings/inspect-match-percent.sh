#!/usr/bin/env bash
# Inspect's `match(numeric=True)` reads past a number that has a percent sign, and grades the number before it.
#
# Expected: a numeric match takes the last number of the answer. Signs of currency are left out on either side ("$5", "5€"),
#   so a percent sign should be, too, or else the answer has no number.
# What happens: "5%" is no number, and the next one to the left is taken: of "It rose from 3 to 5%." the answer is 3, which is
#   CORRECT for a target of 3 and INCORRECT for 5. With a space before the sign it is 5. A target of "5%" is not numeric: the
#   texts are then compared, and "25%" is CORRECT for it as it ends with the same letters.
# Version: inspect_ai 0.3.285 (PyPI). Source: inspect_ai/_util/text.py, `strip_numeric_punctuation`, and
#   inspect_ai/scorer/_common.py, `match_str`.
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
from inspect_ai.scorer import Target, match
from inspect_ai.solver import TaskState

CASES = [
    ("It rose from 3 to $5.", "5", ("C", "5")),
    ("It rose from 3 to 5 %", "5", ("C", "5")),
    ("It rose from 3 to 5%.", "5", ("I", "3")),
    ("It rose from 3 to 5%.", "3", ("C", "3")),
    ("25%", "5%", ("C", "25%")),
]


async def main():
    same = True
    for answer, target, before in CASES:
        output = ModelOutput.from_content("none/none", answer)
        state = TaskState(model="none/none", sample_id=1, epoch=1, input="?", messages=[], output=output)
        score = await match(numeric=True)(state, Target(target))
        print(f"{answer!r:26} target {target!r:5} {score.value}, taken as the answer: {score.answer!r}")
        same = same and (score.value, score.answer) == before
    if same:
        print("as found: the number with a percent sign is passed over")
    else:
        sys.exit("this has changed")


asyncio.run(main())
PY
"$place/venv/bin/python" "$place/look.py"
