#!/usr/bin/env bash
# A server made with MCP's Python SDK reads the text of an optional parameter as JSON: "null" is no text, and "[]" is refused.
#
# Expected: a parameter `text: str | None` takes any text, and its schema says so (`anyOf` string, null).
# What happens: unless the annotation is `str` alone, a text that is JSON is decoded before it is checked. "null" arrives as None,
#   so that the tool takes its default; lists and objects are refused as no string; in `str | list[str]` the text "[]" arrives as
#   an empty list. Numbers, booleans and quoted strings stay texts. A client that types what stands in a file, or fills a field with
#   JSON, cannot do it by such a tool, and has kept to the schema.
# Version: mcp 2.3.0 (PyPI). Source: mcp/server/mcpserver/utilities/func_metadata.py, `FuncMetadata.pre_parse_json`.
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
cat > "$place/look.py" <<'PY'
import asyncio
import logging
import sys

from mcp import Client
from mcp.server.mcpserver import MCPServer

logging.disable(logging.CRITICAL)
server = MCPServer("typing")


@server.tool()
def plain(text: str) -> str:
    return repr(text)


@server.tool()
def optional(text: str | None = "nothing") -> str:
    return repr(text)


@server.tool()
def either(text: str | list[str]) -> str:
    return repr(text)


TEXTS = ["null", "[]", '{"a": 1}', "true", "12", '"q"']
BEFORE = {
    "plain": [repr(text) for text in TEXTS],
    "optional": ["None", "refused", "refused", "'true'", "'12'", repr('"q"')],
    "either": ["refused", "[]", "refused", "'true'", "'12'", repr('"q"')],
}


async def main():
    same = True
    async with Client(server) as client:
        for tool, before in BEFORE.items():
            arrived = []
            for text in TEXTS:
                result = await client.call_tool(tool, {"text": text})
                arrived.append("refused" if result.is_error else result.content[0].text)
                print(f"{tool:9} text {text!r:11} {arrived[-1]}")
            same = same and arrived == before
    if same:
        print("as found: what is JSON does not arrive as the text that was sent")
    else:
        sys.exit("this has changed")


asyncio.run(main())
PY
"$place/venv/bin/python" "$place/look.py"
