#!/usr/bin/env bash
# `pattern` in a JSON schema: anchored in one engine of constrained decoding, not in the other.
#
# Expected: JSON Schema says that a pattern is not anchored (draft 2020-12, Validation 6.3.3): "xaby" satisfies {"pattern": "ab"}, and
#           every validator agrees. So a schema that validates answers is the schema that constrains them.
# Happens:  outlines-core 0.2.14 takes the pattern as the whole string: a model that is held by it can answer "ab" and nothing
#           else. llguidance 1.9.1 follows the standard. With `^` and `$` both agree, so write both.
# Source:   JSON Schema Validation 2020-12, section 6.3.3; seen in the regex that outlines-core prints.
# Versions: outlines-core 0.2.14, llguidance 1.9.1, jsonschema 4.26.0 or newer (PyPI), seen 2026-11-28.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check outlines-core==0.2.14 llguidance==1.9.1 jsonschema
"$folder/venv/bin/python" - <<'PYTHON'
import json, re
import jsonschema
from llguidance import LLMatcher, LLTokenizer
from outlines_core.json_schema import build_regex_from_schema

tokenizer = LLTokenizer("byte")
def answers(pattern, text):
    schema, quoted = {"type": "string", "pattern": pattern}, json.dumps(text)
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    tokens = tokenizer.tokenize_str(quoted)
    return (
        jsonschema.Draft202012Validator(schema).is_valid(text),
        matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting(),
        re.fullmatch(build_regex_from_schema(json.dumps(schema)), quoted) is not None,
    )

seen = {}
for pattern, text in [("ab", "ab"), ("ab", "xaby"), ("^ab$", "ab"), ("^ab$", "xaby")]:
    seen[pattern, text] = answers(pattern, text)
    print("pattern %-6r text %-7r valid: %-5s llguidance: %-5s outlines-core: %s" % (pattern, text, *seen[pattern, text]))
assert seen["ab", "ab"] == seen["^ab$", "ab"] == (True, True, True), "the behaviour has changed"
assert seen["^ab$", "xaby"] == (False, False, False), "the behaviour has changed"
assert seen["ab", "xaby"] == (True, True, False), "the behaviour has changed"
PYTHON
