#!/usr/bin/env bash
# Logs of Inspect (`.eval`), read by tools that read ZIP.
#
# Expected: an `.eval` file is a ZIP of JSON members, so any reader of ZIP lists and unpacks it.
# Happens:  every member, a summary of some hundred bytes too, is compressed by method 93 (Zstandard). Python's `zipfile` before 3.14
#           lists them and raises NotImplementedError at the first read; Info-ZIP's `unzip` 6.0 skips each and ends with 81. Inspect
#           itself reads them, as it brings `zipfile-zstd`, which patches `zipfile` for the process that imports it: so the same two
#           lines fail or work depending on what was imported before.
# Source:   inspect_ai/_util/compression.py; PKWARE's APPNOTE 6.3.8 (method 93); PEP 784 (Python 3.14).
# Versions: inspect-ai 0.3.285 with zipfile-zstd 0.0.4 (PyPI), Python 3.11, unzip 6.0, seen 2026-11-29.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285 zipfile-zstd==0.0.4
cd "$folder"
# Where the tokens of the mock model cannot be counted offline, the samples end in an error; a log is written all the same.
"$folder/venv/bin/python" - <<'PYTHON'
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

rivers = [Sample(input="Name a river.", target="Elbe"), Sample(input="Name a lake.", target="Como")]
eval(Task(dataset=rivers, solver=generate(), scorer=includes()), model="mockllm/model", log_dir="logs", log_format="eval", display="none")
PYTHON
cat >read.py <<'PYTHON'
import glob, sys, zipfile

if "patched" in sys.argv:
    import zipfile_zstd  # noqa: F401
archive = zipfile.ZipFile(glob.glob("logs/*.eval")[0])
methods = sorted({member.compress_type for member in archive.infolist()})
try:
    read = "%d bytes" % len(archive.read("header.json"))
except NotImplementedError as error:
    read = "%s: %s" % (type(error).__name__, error)
print("methods", methods, "| header.json:", read)
PYTHON
plain=$("$folder/venv/bin/python" read.py) patched=$("$folder/venv/bin/python" read.py patched)
printf 'zipfile          %s\nwith zipfile-zstd %s\n' "$plain" "$patched"
case "$("$folder/venv/bin/python" -c 'import sys; print(sys.version_info >= (3, 14))') $plain" in
  "False methods [93] | header.json: NotImplementedError"* | "True methods [93] | header.json: "*bytes) ;;
  *) echo "the behaviour has changed" && exit 1 ;;
esac
case "$patched" in "methods [93] | header.json: "*bytes) ;; *) echo "the behaviour has changed" && exit 1 ;; esac
if command -v unzip >/dev/null; then
  code=0 && unzip -tq logs/*.eval >unzip.txt 2>&1 || code=$?
  echo "unzip            ends with $code: $(head -n 1 unzip.txt)"
  [ "$code" -eq 81 ] || { echo "the behaviour has changed" && exit 1; }
fi
