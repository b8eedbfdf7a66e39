"""Serves the pages of MiniWoB++ inside a world, starts the episode of one of them, and keeps how its first one ended.

    serve.py PAGE --seed=N --seconds=N

It serves the folder `html` beside this file in the background, and returns as soon as requests can be made.
"""

import http.server
import os
import sys

PORT = 8123
PLACE = os.path.dirname(os.path.abspath(__file__))
KEPT = {"/started": "started.json", "/ended": "result.json"}
HOOK = """<script>
(function () {
  var end = core.endEpisode, told = false;
  function tell(path, value) {
    fetch(path, {method: "POST", body: JSON.stringify(value), keepalive: true});
  }
  core.endEpisode = function () {
    end.apply(core, arguments);
    if (WOB_DONE_GLOBAL && !told) {
      told = true;
      tell("/ended", {done: true, reward: WOB_REWARD_GLOBAL, raw_reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON});
    }
  };
  function started() {
    if (!WOB_TASK_READY) return setTimeout(started, 50);
    tell("/started", {utterance: core.getUtterance()});
  }
  window.addEventListener("load", function () {
    setTimeout(function () {
      Math.seedrandom(%d);
      core.EPISODE_MAX_TIME = %d;
      core.startEpisodeReal();
      started();
    }, 0);
  });
})();
</script>
"""


class Pages(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.split("?")[0].lstrip("/") != self.server.page:
            return super().do_GET()
        with open(os.path.join(PLACE, "html", self.server.page), "rb") as file:
            body = file.read() + self.server.hook
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        place = os.path.join(PLACE, KEPT.get(self.path, "unknown.json"))
        if self.path in KEPT and not os.path.exists(place):
            with open(place + ".new", "wb") as file:
                file.write(body)
            os.replace(place + ".new", place)
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main(page, seed, seconds):
    os.chdir(os.path.join(PLACE, "html"))
    # It listens from here on: what is asked before somebody answers waits.
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Pages)
    server.page = page
    server.hook = (HOOK % (int(seed.split("=")[1]), 1000 * int(seconds.split("=")[1]))).encode()
    if os.fork():
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
