#!/usr/bin/env bash
# Bounds of numbers in a JSON schema: one engine of constrained decoding enforces them, another drops them without a word.
#
# Expected: a schema that an engine accepts is enforced, or what it cannot enforce is refused. Array bounds are enforced by both,
#           so a schema of coordinates (two numbers, each from 0 to 1000) looks safe after a try with a wrong count.
# Happens:  outlines-core 0.2.14 builds the same regex with and without `minimum`, `maximum` and `multipleOf`: -3 and 99999
#           match a coordinate of 0 to 1000. No error, no warning. llguidance 1.9.1 refuses both numbers.
# Source:   the regex that outlines-core prints, and llguidance's README ("JSON schemas") with the run below.
# Versions: outlines-core 0.2.14, llguidance 1.9.1 (PyPI), seen 2026-11-28.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check outlines-core==0.2.14 llguidance==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import json, re
from llguidance import LLMatcher, LLTokenizer
from outlines_core.json_schema import build_regex_from_schema

def point(**bounds):
    return {"type": "array", "items": {"type": "integer", **bounds}, "minItems": 2, "maxItems": 2}

def outlines(schema, text):
    return re.fullmatch(build_regex_from_schema(json.dumps(schema)), text) is not None

tokenizer = LLTokenizer("byte")
def llguidance(schema, text):
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    tokens = tokenizer.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

bounded = point(minimum=0, maximum=1000)
seen = []
for text in ["[500,20]", "[500]", "[-3,20]", "[500,99999]"]:
    row = (text, outlines(bounded, text), llguidance(bounded, text))
    seen.append(row)
    print("%-12s outlines-core accepts: %-5s  llguidance accepts: %s" % row)
same = build_regex_from_schema(json.dumps(bounded)) == build_regex_from_schema(json.dumps(point()))
steps = outlines({"type": "integer", "multipleOf": 5}, "7"), llguidance({"type": "integer", "multipleOf": 5}, "7")
print("outlines-core: the same regex with and without bounds:", same)
print("7 as a multiple of 5: outlines-core %s, llguidance %s" % steps)
wanted = [("[500,20]", True, True), ("[500]", False, False), ("[-3,20]", True, False), ("[500,99999]", True, False)]
assert seen == wanted and same and steps == (True, False), "the behaviour has changed"
PYTHON
