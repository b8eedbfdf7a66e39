#!/usr/bin/env python3
"""Measures how much of each request a server with a prefix cache has already read, for every profile.

  scripts/bench/prefix_cache.py SERVER [PROFILE ...]     SERVER: http://HOST:PORT of a llama.cpp server

A proxy stands between the program and the server. It writes each request as one prompt (ChatML; a picture is a run of
words of its own), has the server read it, and notes llama.cpp's own counters: tokens taken from the cache, and all of the
prompt. To the program it answers by one act in the profile's action format, so that a real task goes on for TURNS turns.

llama.cpp gives a model no more context than it was trained on (SmolLM2: 8,192): TURNS and RUN_OPTIONS keep within that.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("APPRENTICE", str(ROOT / "target/debug/apprentice"))
TASK = os.environ.get("TASK", str(ROOT / "tasks/starter"))
# Seconds that the attempt of one profile may take.
DEADLINE = 900
TURNS = int(os.environ.get("TURNS", "8"))
# Words that a picture counts as: few, as small models are trained on some 8,000 tokens, and llama.cpp gives no more.
PICTURE_WORDS = 40


def act(action_format, turn):
    """One act that does no harm, in an action format."""
    x, y = 300 + 20 * turn, 300
    if action_format == "tools":
        call = {"name": "computer", "arguments": json.dumps({"action": "mouse_move", "coordinate": [x, y]})}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{turn}", "type": "function", "function": call}]}
    text = {
        "json": json.dumps({"thought": "I look.", "tool": "computer", "arguments": {"action": "mouse_move", "coordinate": [x, y]}}),
        "qwen": 'Action: look.\n<tool_call>\n{"name": "computer_use", "arguments": {"action": "mouse_move", "coordinate": [%d, %d]}}\n</tool_call>' % (x, y),
        "pyautogui": f"## Thought\nI look.\n\n## Action\nMove.\n\n## Code\n```python\npyautogui.moveTo(x={x}, y={y})\n```",
        "named": json.dumps({"scroll": ["down", "up"][turn % 2]}),
        "boxes": f"Thought: I look.\nAction: click(start_box='({x},{y})')",
    }[action_format]
    return {"role": "assistant", "content": text}


def text_of(content):
    if isinstance(content, str) or content is None:
        return content or ""
    parts = []
    for part in content:
        if part.get("type") == "text":
            parts.append(part["text"])
        else:
            digest = hashlib.sha256(json.dumps(part).encode()).hexdigest()
            parts.append(" ".join(digest[i % 60 : i % 60 + 4] for i in range(PICTURE_WORDS)))
    return "\n".join(parts)


def prompt_of(request):
    """The request as one prompt: tools first, as templates put them."""
    parts = [f"<|im_start|>tools\n{json.dumps(request['tools'])}<|im_end|>"] if request.get("tools") else []
    for message in request["messages"]:
        calls = json.dumps(message["tool_calls"]) if message.get("tool_calls") else ""
        parts.append(f"<|im_start|>{message['role']}\n{text_of(message.get('content'))}{calls}<|im_end|>")
    return "\n".join(parts) + "\n<|im_start|>assistant\n"


class Proxy(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        state = self.server.state
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = {"prompt": prompt_of(request), "n_predict": 1, "cache_prompt": True}
        asked = urllib.request.Request(state["server"] + "/completion", json.dumps(body).encode(), {"content-type": "application/json"})
        timings = json.load(urllib.request.urlopen(asked, timeout=600))["timings"]
        state["counts"].append((timings["cache_n"], timings["cache_n"] + timings["prompt_n"]))
        message = act(state["format"], len(state["counts"]))
        usage = {"prompt_tokens": timings["cache_n"] + timings["prompt_n"], "completion_tokens": 20}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer({"id": "r", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


def measure(server, profile):
    text = (ROOT / f"crates/models/src/compat/profiles/{profile}.toml").read_text()
    action_format = next(line.split('"')[1] for line in text.splitlines() if line.startswith("dialect"))
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    proxy.state = {"server": server, "format": action_format, "counts": []}
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        command = [PROGRAM, "run", TASK, "--model", "compat/m", "--profile", profile, "--max-steps", str(TURNS),
                   "--base-url", f"http://127.0.0.1:{proxy.server_address[1]}/v1", "--out", f"{place}/run"]
        command += os.environ.get("RUN_OPTIONS", "--task mousepad-add-line --seeds 1").split()
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env={**os.environ, "APPRENTICE_ATTEMPTS": "1"})
    proxy.shutdown()
    counts = proxy.state["counts"]
    if len(counts) < 4:
        sys.exit(f"{profile}: {len(counts)} requests\n{done.stdout}{done.stderr}")
    return counts


def main():
    server, names = sys.argv[1], sys.argv[2:]
    names = names or sorted(path.stem for path in (ROOT / "crates/models/src/compat/profiles").glob("*.toml"))
    print("profile           turns  prompt tokens  kept of the last prompt  from the cache")
    for name in names:
        counts = measure(server, name)
        pairs = list(zip(counts, counts[1:]))
        kept = sum(min(later[0], earlier[1]) for earlier, later in pairs) / sum(earlier[1] for earlier, _ in pairs)
        cached = sum(later[0] for _, later in pairs) / sum(later[1] for _, later in pairs)
        print(f"{name:16} {len(counts):6} {counts[-1][1]:14} {kept:23.1%} {cached:15.1%}", flush=True)


if __name__ == "__main__":
    main()
