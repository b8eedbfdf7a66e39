#!/usr/bin/env bash
# libtmux and tmux type a text without its last semicolon, and one that begins with a dash not at all.
#
# Expected: `send_keys(text, literal=True)`, tmux's `send-keys -l`, types what it is given: the manual says of -l that names of
#   keys are not looked up. Agents in terminals type their commands so.
# What happens: an argument that ends with a semicolon ends a command for tmux, wherever it came from: "echo a;" arrives as
#   "echo a", "x;;" as "x;", and ";" as nothing. A backslash before it is taken away instead. libtmux passes the text as it is,
#   without `--`: of "-n" nothing arrives, and no error is raised. A command of two lines that ends with ";" or a `find … \;`
#   is another command then.
# Version: libtmux 0.62.0 (PyPI), tmux 3.3a (Debian 12). Source: libtmux/pane.py, `send_keys`; tmux cmd-parse.y,
#   `cmd_parse_from_arguments`.
# Seen on 2026-11-30.
set -euo pipefail
command -v tmux >/dev/null || { echo "tmux is not installed: apt-get install tmux"; exit 2; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check libtmux==0.62.0
cat > "$place/look.py" <<'PY'
import sys
import time

import libtmux

CASES = [
    ("echo a", "echo a"),
    ("echo a;", "echo a"),
    ("x;;", "x;"),
    (";", ""),
    ("find . -exec ls {} \\;", "find . -exec ls {} ;"),
    ("-n", ""),
    ("C-c", "C-c"),
]


def typed(server, number, text):
    """What a program in a terminal reads when this is typed, and Enter."""
    session = server.new_session(f"s{number}", window_command="sh -c 'stty -echo; echo ready; cat -A'", x=80, y=24)
    pane = session.active_window.active_pane
    end = time.monotonic() + 20

    def lines():
        return [line for line in pane.capture_pane() if line]

    while "ready" not in lines() and time.monotonic() < end:
        time.sleep(0.02)
    pane.send_keys(text, enter=False, literal=True)
    pane.send_keys("|", enter=True, literal=True)
    while not (lines()[-1:] or [""])[0].endswith("|$") and time.monotonic() < end:
        time.sleep(0.02)
    return lines()[-1].removesuffix("|$")


server = libtmux.Server(socket_path=sys.argv[1], config_file="/dev/null")
same = True
try:
    for number, (text, before) in enumerate(CASES):
        read = typed(server, number, text)
        print(f"typed {text!r:26} read {read!r}")
        same = same and read == before
finally:
    server.kill()
if same:
    print("as found: the last semicolon is lost, and a text that begins with a dash")
else:
    sys.exit("this has changed")
PY
tmux -V
"$place/venv/bin/python" "$place/look.py" "$place/socket"
