"""A model's server that knows a few starter tasks by the keyboard. It speaks Messages, Responses, Chat and
Interactions, in the vendors' own words, in one piece or as a stream, and does a whole task in its first turn. Under the
name of a student it speaks that student's own form instead, one action a turn, and clicks into the middle of what it sees
first. Asked what an attempt showed, or what of that belongs into a skillbook, it answers as scribe.py does.

    upstream.py PORT_FILE

It listens on a free port of the loopback and writes it into PORT_FILE.
"""

import base64
import http.server
import json
import pathlib
import re
import struct
import sys

import scribe
from scribe import texts

SKILLS = (
    (r'Type the line "(.*?)" at the end of',
     lambda line: [("key", "ctrl+End"), ("type", line), ("key", "ctrl+s")]),
    (r"The file (\S+) has many lines\. .* hold the word (\S+), and write .* into (\S+)\.",
     lambda file, word, answer: [("type", f"grep -c {word} {file} > {answer}\n")]),
    (r"keep what the terminal shows now\. Save its contents to the file (\S+)\.",
     lambda file: [("type", f"cat ~/.profile-shown > {file}\n")]),
    (r"write all the contents of the window to (\S+)\.",
     lambda file: [("type", f"cat ~/.profile-shown > {file}\n")]),
    # The browser shows its window before its page.
    (r'Type (.*?) into the field "Full name" of this page',
     lambda name: [("wait", 5), ("key", "Tab"), ("type", name), ("key", "Tab"), ("key", "Return")]),
)


def deeds(conversation):
    """What the task that a conversation names takes: keys and text."""
    for text in texts(conversation):
        for pattern, skill in SKILLS:
            if found := re.search(pattern, text):
                return skill(*found.groups())
    return []


def middle(conversation):
    """The middle of the last picture, in its pixels."""
    pictures = [text for text in texts(conversation) if text.startswith("data:image/png;base64,")]
    head = base64.b64decode(pictures[-1].split(",", 1)[1][:64])
    width, height = struct.unpack(">II", head[16:24])
    return width // 2, height // 2


def qwen(deed, value, _):
    arguments = {"click": {"action": "left_click", "coordinate": [500, 500]},
                 "key": {"action": "key", "keys": value.lower().split("+") if deed == "key" else None},
                 "type": {"action": "type", "text": value},
                 "end": {"action": "terminate", "status": "success"}}[deed]
    call = json.dumps({"name": "computer_use", "arguments": arguments})
    return f"Action: {deed}.\n<tool_call>\n{call}\n</tool_call>"


def boxes(deed, value, at):
    quoted = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    words = {"click": f"click(start_box='({at[0]},{at[1]})')",
             "key": f"hotkey(key='{str(value).lower().replace('+', ' ')}')",
             "type": f"type(content='{quoted}')",
             "end": "finished(content='')"}[deed]
    return f"Thought: I {deed}.\nAction: {words}"


def pyautogui(deed, value, at):
    keys = ", ".join(repr(key.lower()) for key in str(value).split("+"))
    code = {"click": f"pyautogui.click(x={at[0]}, y={at[1]})", "key": f"pyautogui.hotkey({keys})",
            "type": f"pyautogui.write({value!r})", "end": "computer.terminate(status='success')"}[deed]
    return f"## Thought\nI {deed}.\n\n## Action\nI {deed}.\n\n## Code\n```python\n{code}\n```"


def objects(deed, value, at):
    arguments = {"click": {"action": "left_click", "coordinate": list(at)}, "key": {"action": "key", "text": value},
                 "type": {"action": "type", "text": value}, "end": {"finish": "done"}}[deed]
    tool = "finish" if deed == "end" else "computer"
    return json.dumps({"thought": f"I {deed}.", "tool": tool, "arguments": arguments})


def computer_13(deed, value, at):
    action = {"click": {"action_type": "CLICK", "x": at[0], "y": at[1]},
              "key": {"action_type": "HOTKEY", "keys": str(value).lower().split("+")},
              "type": {"action_type": "TYPING", "text": value}, "end": {"action_type": "DONE"}}[deed]
    return f"I {deed}.\n```json\n{json.dumps(action)}\n```"


STUDENTS = {"qwen3-vl": qwen, "ui-tars-1.5": boxes, "opencua": pyautogui, "holo1.5": objects, "flat": computer_13}


def messages(body):
    written = scribe.turn(body["messages"])
    if isinstance(written, str):
        content = [{"type": "text", "text": written}]
    elif written:
        content = [{"type": "tool_use", "id": f"toolu_s{len(body['messages'])}{number}", "name": name, "input": given}
                   for number, (name, given) in enumerate(written)]
    elif any(message["role"] == "assistant" for message in body["messages"]):
        content = [{"type": "tool_use", "id": "toolu_9", "name": "finish", "input": {"finish": "done"}}]
    else:
        content = [{"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"}] + [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "toolset_name": "computer",
             "input": {"duration": text} if name == "wait" else {"text": text}}
            for number, (name, text) in enumerate(deeds(body["messages"]))
        ]
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": "end_turn" if isinstance(written, str) else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 50,
                      "cache_creation_input_tokens": 0}}


def responses(body):
    written = scribe.turn(body["input"])
    if isinstance(written, str):
        output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                   "content": [{"type": "output_text", "text": written, "annotations": []}]}]
    elif written:
        output = [{"type": "function_call", "id": f"fc_{number}", "call_id": f"call_s{len(body['input'])}{number}",
                   "name": name, "status": "completed", "arguments": json.dumps(given)}
                  for number, (name, given) in enumerate(written)]
    elif any(item.get("type") == "computer_call" for item in body["input"]):
        output = [{"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "finish",
                   "status": "completed", "arguments": '{"finish": "done"}'}]
    else:
        actions = []
        for name, text in deeds(body["input"]):
            # Nobody can say how long it is to wait here.
            actions += {"wait": lambda: [{"type": "wait"}] * text, "type": lambda: [{"type": "type", "text": text}],
                        "key": lambda: [{"type": "keypress", "keys": text.upper().split("+")}]}[name]()
        output = [{"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed",
                   "pending_safety_checks": [], "actions": actions}]
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"],
            "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools", []),
            "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1.0,
            "top_p": 1.0,
            "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 50}, "output_tokens": 10,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110}}


def chat(body):
    if form := STUDENTS.get(body["model"]):
        return completion(body, {"content": said(body, form)}, "stop")
    written = scribe.turn(body["messages"])
    if isinstance(written, str):
        return completion(body, {"content": written}, "stop")
    if written:
        steps = written
    elif any(message["role"] == "assistant" for message in body["messages"]):
        steps = [("finish", {"finish": "done"})]
    else:
        steps = [("computer", {"action": name, "duration" if name == "wait" else "text": text})
                 for name, text in deeds(body["messages"])]
    turn = len(body["messages"])
    calls = [{"id": f"call_{turn}_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
             for number, (name, given) in enumerate(steps)]
    return completion(body, {"content": None, "tool_calls": calls}, "tool_calls")


def said(body, form):
    """What a student says in its turn: a click, then one deed after the other, then that it is done."""
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    steps = [("click", None), *deeds(body["messages"]), ("end", None)]
    deed, value = steps[min(turn, len(steps) - 1)]
    return form(deed, value, middle(body["messages"]))


def completion(body, message, reason):
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}],
            "usage": {"prompt_tokens": 3000, "completion_tokens": 10, "total_tokens": 3010}}


def interactions(body):
    written = scribe.turn(body["input"])
    if isinstance(written, str):
        return interaction(body, "completed", [{"type": "model_output", "content": [{"type": "text", "text": written}]}])
    if written:
        calls = written
    elif any(step.get("type") == "function_result" for step in body["input"]):
        calls = [("finish", {"finish": "done"})]
    else:
        given = {"wait": lambda text: ("wait", {"seconds": text}), "type": lambda text: ("type", {"text": text}),
                 "key": lambda text: ("hotkey", {"keys": text.lower().split("+")})}
        calls = [given[name](text) for name, text in deeds(body["input"])]
    turn = len(body["input"])
    steps = [{"type": "function_call", "id": f"f{turn}_{number}", "name": name, "arguments": given}
             for number, (name, given) in enumerate(calls)]
    return interaction(body, "requires_action", steps)


def interaction(body, status, steps):
    return {"id": "i1", "status": status, "model": body["model"], "steps": steps,
            "usage": {"total_input_tokens": 100, "total_output_tokens": 10}}


def parts(text, size=7):
    return [text[start:start + size] for start in range(0, len(text), size)]


def streamed_messages(whole):
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        field, delta, name, empty = {"text": ("text", "text_delta", "text", ""),
                                     "thinking": ("thinking", "thinking_delta", "thinking", ""),
                                     "tool_use": ("input", "input_json_delta", "partial_json", {})}[kind]
        said = json.dumps(block[field]) if kind == "tool_use" else block[field]
        begun = {**block, field: empty, **({"signature": ""} if kind == "thinking" else {})}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        deltas = [{"type": delta, name: part} for part in parts(said)]
        if kind == "thinking":
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        for one in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": one}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
           "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def streamed_responses(whole):
    events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}]
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index}
        events.append({"type": "response.output_item.added", "item": item, **place})
        for content, part in enumerate(item.get("content", [])):
            events += [{"type": "response.output_text.delta", "item_id": item["id"], "content_index": content, "delta": said,
                        "logprobs": [], **place} for said in parts(part["text"])]
        events.append({"type": "response.output_item.done", "item": item, **place})
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def streamed_chat(whole):
    def chunk(delta, finish=None, usage=None):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {**whole, "object": "chat.completion.chunk", "choices": choices, "usage": usage}
    message = whole["choices"][0]["message"]
    yield chunk({"role": "assistant", "content": ""})
    for said in parts(message.get("content") or ""):
        yield chunk({"content": said})
    for index, call in enumerate(message.get("tool_calls", [])):
        yield chunk({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
        for said in parts(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": said}}]})
    yield chunk({}, whole["choices"][0]["finish_reason"])
    yield chunk(None, usage=whole["usage"])


def streamed_interactions(whole):
    bare = {name: value for name, value in whole.items() if name not in ("steps", "usage")}
    yield {"event_type": "interaction.created", "interaction": {**bare, "status": "in_progress"}}
    for index, step in enumerate(whole["steps"]):
        call = step["type"] == "function_call"
        begun = {**step, "arguments": {}} if call else {"type": step["type"]}
        yield {"event_type": "step.start", "index": index, "step": begun}
        said = json.dumps(step["arguments"]) if call else step["content"][0]["text"]
        for part in parts(said):
            delta = {"type": "arguments_delta", "arguments": part} if call else {"type": "text", "text": part}
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    yield {"event_type": "interaction.completed", "interaction": {**bare, "usage": whole["usage"]}}


STREAMED = {"messages": streamed_messages, "responses": streamed_responses, "completions": streamed_chat,
            "interactions": streamed_interactions}


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kinds = {"messages": messages, "responses": responses, "completions": chat, "interactions": interactions}
        kind = self.path.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
        whole = kinds[kind](body)
        if body.get("stream"):
            lines = []
            for event in STREAMED[kind](whole):
                name = event.get("type") or event.get("event_type")
                lines.append((f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n")
            answer = "".join(lines + (["data: [DONE]\n\n"] if kind == "completions" else [])).encode()
        else:
            answer = json.dumps(whole).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if body.get("stream") else "application/json")
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
