#!/usr/bin/env bash
# A tool of MCP's Python SDK that returns NaN succeeds at the server and is refused by the SDK's own client.
#
# Expected: a tool declared as `-> float` may return any float; or the server reports that JSON cannot carry this one, as an
#   error of the tool that a model can read.
# What happens: the server writes the declared schema `number` and, for NaN or infinity, the value `null` beside it. Nothing is
#   wrong there: is_error is false, and a text block beside it reads "NaN". The client then holds the result against the
#   schema and raises RuntimeError, outside of the tool's result, so that an agent's loop ends where the tool worked: a loss
#   that is not a number, or the mean of no rows. Declared as `-> float | None` the same value arrives, as None.
# Version: mcp 2.3.0 (PyPI). Source: mcp/server/mcpserver (structured results are dumped by pydantic in JSON mode, which makes
#   null of what is not finite) and mcp/client/session.py (results are validated against the tool's output schema).
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
cat > "$place/look.py" <<'PY'
import asyncio
import math
import sys

from mcp import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("figures")


@server.tool()
def half() -> float:
    return 0.5


@server.tool()
def mean_of_nothing() -> float:
    return math.nan


@server.tool()
def mean_or_none() -> float | None:
    return math.nan


async def main():
    found = {}
    async with Client(server) as client:
        for name in ("half", "mean_of_nothing", "mean_or_none"):
            try:
                result = await client.call_tool(name, {})
                found[name] = result.structured_content
            except RuntimeError as error:
                found[name] = "RuntimeError"
                print(name, "raises", str(error).splitlines()[0])
            else:
                print(name, "returns", result.structured_content, [block.text for block in result.content])
    if found == {"half": {"result": 0.5}, "mean_of_nothing": "RuntimeError", "mean_or_none": {"result": None}}:
        print("as found: the client refuses what the server sent")
    else:
        sys.exit("this has changed")


asyncio.run(main())
PY
"$place/venv/bin/python" "$place/look.py"
