"""The pool's protocol over a world of three boxes, for tests that need no program: what `/sessions` answers, without worlds.

`python fake_pool.py` serves until its input ends, and prints its address as the program does."""

from __future__ import annotations

import base64
import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image

BOXES = ("Apples", "Pears", "Plums")
TASK = {"task": "tick-box", "instruction": "Tick a box.", "variations": 3, "environment": "scene"}
SCREENS = [{"width": 64, "height": 48}]


class Refused(Exception):
    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.said = status, {"status": "error", "code": code, "message": message}


class World:
    def __init__(self, given: dict):
        unknown = set(given) - {
            "task",
            "seed",
            "max_steps",
            "max_seconds",
            "reward",
            "screenshot",
            "outline",
            "count",
            "episode",
        }
        if unknown:
            raise Refused(400, "bad_request", f"unknown field `{sorted(unknown)[0]}`")
        if given.get("task", TASK["task"]) != TASK["task"]:
            raise Refused(404, "unknown_task", f"there is no task {given['task']!r}")
        self.given, self.seed = given, given.get("seed", 0)
        if not 0 <= self.seed < TASK["variations"]:
            raise Refused(400, "seed_out_of_range", f"the task has {TASK['variations']} variations, and no seed {self.seed}")
        self.ticked, self.steps, self.ended, self.judged = [], 0, False, None

    def seen(self) -> dict:
        rows = [f'checkbox "{box}"{" checked" if box in self.ticked else ""} #n{at + 2}' for at, box in enumerate(BOXES)]
        picture = io.BytesIO()
        Image.new("RGB", (64, 48), (self.seed, len(self.ticked), 0)).save(picture, "PNG")
        shown = {"screenshot": base64.b64encode(picture.getvalue()).decode(), "outline": "\n".join(rows)}
        for name in ("screenshot", "outline"):
            if self.given.get(name) is False:
                shown[name] = None
        return {**shown, "screen": SCREENS[0], "title": f"Order {self.seed}", "windows": [], "tabs": [], "dialog": None}

    def opened(self) -> dict:
        names = {"episode": self.given.get("episode", "e"), "task": TASK["task"], "seed": self.seed}
        return {**names, "instruction": f"Tick {BOXES[self.seed]}.", "observation": self.seen()}

    def verdict(self) -> dict:
        passed = self.ticked == [BOXES[self.seed]]
        told = {"verdict": "pass" if passed else "fail", "score": float(passed), "explanation": "", "checks": []}
        return told

    def step(self, given: dict) -> dict:
        if self.ended:
            raise Refused(409, "episode_ended", "the episode has ended")
        if not given or set(given) - {"actions", "answer", "gave_up", "done"}:
            raise Refused(400, "bad_request", f"a step is no {sorted(given)}")
        reports = []
        for action in given.get("actions", []):
            if "do" not in action:
                raise Refused(400, "bad_request", "action 0: missing field `do`")
            if action in ({"do": "script", "source": "break"}, {"do": "key", "chord": "break"}):
                self.ended = True
                raise Refused(500, "void", "the world broke")
            ref = action.get("at", {}).get("ref", "n2")
            if ref not in ("n2", "n3", "n4"):
                reports.append({"delivery": {"delivery": "refused", "problem": f"there is no element #{ref}"}})
                break
            if action["do"] == "click" and "ref" in action["at"]:
                self.ticked.append(BOXES[int(ref[1]) - 2])
            reports.append({"delivery": {"delivery": "delivered"}})
        self.steps += 1
        terminated = bool({"answer", "gave_up", "done"} & set(given))
        truncated = not terminated and self.steps >= self.given.get("max_steps", 100)
        self.ended = terminated or truncated
        verdict = self.verdict() if self.ended else None
        ends = {"terminated": terminated, "truncated": truncated, "step_count": self.steps, "verdict": verdict}
        return {"observation": self.seen(), "reports": reports, "reward": verdict and verdict["score"], **ends}


class Pool(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    worlds: dict[str, World] = {}
    lock = threading.Lock()

    def answer(self) -> tuple[int, object]:
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size)) if size else {}
        parts = self.path.strip("/").split("/")
        if parts == ["tasks"]:
            return 200, {"tasks": [{**TASK, "screens": SCREENS}]}
        if parts == ["sessions"]:
            return self.opened(body)
        world = self.worlds.get(parts[1])
        if world is None:
            raise Refused(404, "no_session", "the session was closed")
        if self.command == "DELETE":
            del self.worlds[parts[1]]
            return 204, None
        if parts[2] == "reset":
            self.worlds[parts[1]] = world = World({**world.given, **body})
            return 200, {"session": parts[1], **world.opened()}
        if parts[2] == "judge":
            return 200, world.verdict()
        return 200, world.step(body)

    def opened(self, body: dict) -> tuple[int, object]:
        with self.lock:
            made = [World(body) for _ in range(body.get("count", 1))]
            names = [f"s{len(self.worlds) + at}-{id(self)}" for at in range(len(made))]
            self.worlds.update(zip(names, made))
        said = [{"session": name, **world.opened()} for name, world in zip(names, made)]
        return 201, said[0] if len(said) == 1 else {"sessions": said}

    def handle_any(self) -> None:
        try:
            status, said = self.answer()
        except Refused as error:
            status, said = error.said
        data = b"" if said is None else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = handle_any

    def log_message(self, *_):
        pass


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pool)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"schema": "apprentice.serve/1", "url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
