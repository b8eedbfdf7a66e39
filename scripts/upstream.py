"""A model's server that knows two tasks: to type a line at the end of the open file and save it, and to count lines in
the terminal. It speaks Messages, Responses, Chat and Interactions, in the vendors' own words, and finishes at its
second turn.

    upstream.py PORT_FILE

It listens on a free port of the loopback and writes it into PORT_FILE.
"""

import http.server
import json
import pathlib
import re
import sys

SKILLS = (
    (r'Type the line "(.*?)" at the end of',
     lambda line: [("key", "ctrl+End"), ("type", line), ("key", "ctrl+s")]),
    (r"The file (\S+) has many lines\. .* hold the word (\S+), and write .* into (\S+)\.",
     lambda file, word, answer: [("type", f"grep -c {word} {file} > {answer}\n")]),
)


def texts(value):
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(inner)


def deeds(conversation):
    """What the task that a conversation names takes: keys and text."""
    for text in texts(conversation):
        for pattern, skill in SKILLS:
            if found := re.search(pattern, text):
                return skill(*found.groups())
    return []


def messages(body):
    if any(message["role"] == "assistant" for message in body["messages"]):
        content = [{"type": "tool_use", "id": "toolu_9", "name": "finish", "input": {"finish": "done"}}]
    else:
        content = [{"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"}] + [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "toolset_name": "computer",
             "input": {"text": text}}
            for number, (name, text) in enumerate(deeds(body["messages"]))
        ]
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 50,
                      "cache_creation_input_tokens": 0}}


def responses(body):
    if any(item.get("type") == "computer_call" for item in body["input"]):
        output = [{"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "finish",
                   "status": "completed", "arguments": '{"finish": "done"}'}]
    else:
        actions = [{"type": "type", "text": text} if name == "type" else
                   {"type": "keypress", "keys": text.upper().split("+")} for name, text in deeds(body["input"])]
        output = [{"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
                   "pending_safety_checks": [], "actions": actions}]
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"],
            "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools", []),
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1.0,
            "top_p": 1.0,
            "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 50}, "output_tokens": 10,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}}


def chat(body):
    if any(message["role"] == "assistant" for message in body["messages"]):
        steps = [("finish", {"finish": "done"})]
    else:
        steps = [("computer", {"action": name, "text": text}) for name, text in deeds(body["messages"])]
    calls = [{"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
             for number, (name, given) in enumerate(steps)]
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "tool_calls",
                         "message": {"role": "assistant", "content": None, "tool_calls": calls}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}


def interactions(body):
    if any(step.get("type") == "function_result" for step in body["input"]):
        calls = [("finish", {"finish": "done"})]
    else:
        calls = [("type", {"text": text}) if name == "type" else
                 ("hotkey", {"keys": text.lower().split("+")}) for name, text in deeds(body["input"])]
    steps = [{"type": "function_call", "id": f"f{number}", "name": name, "arguments": given}
             for number, (name, given) in enumerate(calls)]
    return {"id": "i1", "status": "requires_action", "model": body["model"], "steps": steps,
            "usage": {"total_input_tokens": 100, "total_output_tokens": 10}}


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kinds = {"messages": messages, "responses": responses, "completions": chat, "interactions": interactions}
        answer = json.dumps(kinds[self.path.split("?")[0].rstrip("/").rsplit("/", 1)[-1]](body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    # Written beside and moved, so that whoever waits for the file never reads half of it.
    port = pathlib.Path(sys.argv[1])
    port.with_suffix(".new").write_text(str(server.server_port))
    port.with_suffix(".new").rename(port)
    server.serve_forever()
