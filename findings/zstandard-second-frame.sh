#!/usr/bin/env bash
# Of five ways to unpack a file with one Python library, two return the first of its frames and drop the rest without an error.
#
# Expected: logs that are packed in parts, as writers that append or work in parallel leave them, are several Zstandard frames in a row, which
#   RFC 8878 defines as one stream: every way of one library returns all lines, or none does.
# What happens: `ZstdDecompressor().decompress` and `.read_to_iter` end after the first frame, and say nothing of the bytes that follow;
#   `stream_reader`, `copy_stream` and `zstandard.open` return all frames. With three frames of 1,000 lines, two thirds of a log are lost by
#   the shortest call. `stream_reader(read_across_frames=False)` is documented to stop, and does not here.
# Version: zstandard 0.25.0 (PyPI).
# Source: RFC 8878, 3 ("frames ... independent ... the result is the concatenation"); python-zstandard docs, "ZstdDecompressor" (`decompress`:
#   "allow_extra_data", which is on by default).
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check zstandard==0.25.0
cat > "$place/look.py" <<'PY'
import io
import json
import sys

import zstandard

LINES, PARTS = 1000, 3
part = "".join(json.dumps({"step": step, "text": "x" * 40}) + "\n" for step in range(LINES)).encode()
packed = zstandard.ZstdCompressor().compress(part) * PARTS
path = sys.argv[1] + "/log.jsonl.zst"
with open(path, "wb") as file:
    file.write(packed)


def copied():
    out = io.BytesIO()
    zstandard.ZstdDecompressor().copy_stream(io.BytesIO(packed), out)
    return out.getvalue()


def opened():
    with zstandard.open(path, "rb") as file:
        return file.read()


ways = {
    "decompress": lambda: zstandard.ZstdDecompressor().decompress(packed, max_output_size=len(part) * PARTS),
    "read_to_iter": lambda: b"".join(zstandard.ZstdDecompressor().read_to_iter(io.BytesIO(packed))),
    "stream_reader": lambda: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)).read(),
    "stream_reader, not across": lambda: zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=False).read(),
    "copy_stream": copied,
    "zstandard.open": opened,
}
seen = {way: read().count(b"\n") for way, read in ways.items()}
for way, lines in seen.items():
    print(f"{way:28} {lines} of {LINES * PARTS} lines")
whole = LINES * PARTS
expected = {way: LINES if way in ("decompress", "read_to_iter") else whole for way in ways}
if seen != expected:
    sys.exit(f"no longer as described: {seen}")
PY
"$place/venv/bin/python" "$place/look.py" "$place"
