"""A proxy before a model's server that keeps what a trainer needs: a file for each episode, a line for each turn.

    python examples/recording_proxy.py http://127.0.0.1:8000/v1 recorded --port 8400
    APPRENTICE_PROVIDER_COMPAT_HISTORY=grow APPRENTICE_PROVIDER_COMPAT_STREAM=false apprentice run SUITE --model compat/NAME \\
        --base-url 'http://127.0.0.1:8400/{run}/{trial}/{attempt}/v1'

`recorded/RUN/TRIAL/ATTEMPT.jsonl` then has, per turn, the messages that were new, the reply, and the reply's tokens with their
log-probabilities, as the server gives them: by `return_token_ids` (vLLM's, not tried), or by the `id` of each log-probability
(llama.cpp b10434). Train on no turn where their number is not `completion_tokens`: llama.cpp gives the tokens of one character,
such as an emoji, as one entry with the last id. A turn whose messages do not begin with those of the turn before is no
continuation of the same sequence, and says so (`continues`). The reward is the score of the row with this run, trial and attempt
in the run's `trials.jsonl`.
"""

import argparse
import json
import pathlib
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WANTED = {"logprobs": True, "return_token_ids": True}
DEADLINE = 600


class Episodes:
    """The files, and what each episode has sent so far."""

    def __init__(self, folder):
        self.folder, self.sent, self.lock = pathlib.Path(folder), {}, threading.Lock()

    def keep(self, episode, request, response):
        choice = response["choices"][0]
        logprobs = (choice.get("logprobs") or {}).get("content") or []
        with self.lock:
            before = self.sent.get(episode, [])
            messages = request["messages"]
            continues = messages[: len(before)] == before
            self.sent[episode] = messages
            line = {
                "continues": continues,
                "new": messages[len(before) :] if continues else messages,
                "reply": choice["message"],
                "prompt_token_ids": response.get("prompt_token_ids"),
                "token_ids": choice.get("token_ids") or [token.get("id") for token in logprobs],
                "logprobs": [token["logprob"] for token in logprobs],
                "completion_tokens": (response.get("usage") or {}).get("completion_tokens"),
            }
            path = self.folder.joinpath(*episode).with_suffix(".jsonl")
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")


class Proxy(BaseHTTPRequestHandler):
    server_url, episodes = "", None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.forward(None)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if request.get("stream"):
            return self.answer(400, json.dumps({"error": {"message": "set stream = false: this proxy reads whole replies"}}).encode())
        self.forward({**request, **WANTED})

    def forward(self, request):
        *episode, rest = self.path.lstrip("/").split("/", 3)
        headers = {"Content-Type": "application/json"}
        if self.headers["Authorization"]:
            headers["Authorization"] = self.headers["Authorization"]
        body = None if request is None else json.dumps(request).encode()
        url = self.server_url + "/" + rest.removeprefix("v1/")
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=DEADLINE) as answered:
                status, answer = answered.status, answered.read()
        except urllib.error.HTTPError as refused:
            status, answer = refused.code, refused.read()
        except OSError as gone:
            status, answer = 502, json.dumps({"error": {"message": f"{url}: {gone}"}}).encode()
        # What belongs to no attempt, as the question what a server serves, has `-` in these places.
        if status == 200 and request is not None and "-" not in episode:
            self.episodes.keep(tuple(episode), request, json.loads(answer))
        self.answer(status, answer)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="base URL of the model's server")
    parser.add_argument("folder", help="where episodes are kept")
    parser.add_argument("--port", type=int, default=8400)
    options = parser.parse_args()
    Proxy.server_url, Proxy.episodes = options.server.rstrip("/"), Episodes(options.folder)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Proxy)
    print(f"http://127.0.0.1:{server.server_port}/{{run}}/{{trial}}/{{attempt}}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
