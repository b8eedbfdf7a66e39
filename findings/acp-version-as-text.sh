#!/usr/bin/env bash
# The version in `initialize` of the Agent Client Protocol, sent as text.
#
# Expected: `protocolVersion` is a whole number from 0 to 65535; a text, as the Model Context Protocol has it there ("2025-06-18"), is
#           refused as invalid parameters, so that a client of the wrong protocol learns it at the first message.
# Happens:  the Python SDK hands a text that is no number, and 1.5, to the agent's handler as the version 1, without a word:
#           `"2025-06-18"` and `"none"` are 1, `"7"` is 7, and the session begins; 70000 is refused. An agent that compares versions
#           compares a number that nobody sent. It is meant so: a comment says that some clients send dates, and that the Rust SDK reads
#           those as 0 - which its newest schema (1.20.0) refuses by a test of its own, as the TypeScript SDK 2.4.0 does (-32602). So the
#           same first message is answered in different ways by SDKs of one protocol.
# Source:   acp/schema.py of the package, a validator before the field of `InitializeRequest`; src/version.rs of the Rust crate
#           agent-client-protocol-schema 1.20.0.
# Versions: agent-client-protocol 0.12.1 (PyPI), seen 2026-11-29.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check agent-client-protocol==0.12.1
cat >"$folder/look.py" <<'PYTHON'
import pydantic
from acp.schema import InitializeRequest

seen = {}
for sent in (1, 7, "7", "2025-06-18", "none", 1.5, 70000):
    try:
        seen[sent] = InitializeRequest.model_validate({"protocolVersion": sent}).protocol_version
    except pydantic.ValidationError as error:
        seen[sent] = "refused: " + error.errors()[0]["msg"]
    print(repr(sent), "->", seen[sent])
expected = {1: 1, 7: 7, "7": 7, "2025-06-18": 1, "none": 1, 1.5: 1}
if any(seen[sent] != value for sent, value in expected.items()) or not str(seen[70000]).startswith("refused"):
    raise SystemExit("this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
