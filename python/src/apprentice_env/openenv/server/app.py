"""The app that OpenEnv's tools start. `apprentice serve --suite … --sessions …` speaks the same protocol without Python.

Variables: APPRENTICE_SUITE, the suite's folder; APPRENTICE_SESSIONS, the most worlds at once (64)."""

from __future__ import annotations

import argparse
import os
from functools import cache

from openenv.core.env_server.http_server import create_app

from apprentice_env.openenv.models import ApprenticeAction, ApprenticeObservation, ApprenticeState
from apprentice_env.openenv.server.environment import ApprenticeEnvironment
from apprentice_env.server import SESSIONS, Server


def sessions() -> int:
    """The most worlds at once."""
    return int(os.environ.get("APPRENTICE_SESSIONS", SESSIONS))


@cache
def pool() -> Server:
    """The pool of this process; the first environment starts it."""
    suite = os.environ.get("APPRENTICE_SUITE")
    if not suite:
        raise RuntimeError("set APPRENTICE_SUITE to the folder of a suite")
    # One more, for those whom OpenEnv asks nothing but a schema.
    return Server(suite, sessions=sessions() + 1)


app = create_app(
    lambda: ApprenticeEnvironment(pool()),
    ApprenticeAction,
    ApprenticeObservation,
    env_name="apprentice",
    max_concurrent_envs=sessions(),
    state_cls=ApprenticeState,
)


def main() -> None:
    """Serves the app."""
    import uvicorn

    reading = argparse.ArgumentParser(description="Serves worlds by OpenEnv's protocol.")
    reading.add_argument("--host", default="127.0.0.1")
    reading.add_argument("--port", type=int, default=8000)
    given = reading.parse_args()
    # A picture in base 64 is larger than the megabyte that uvicorn allows a message.
    uvicorn.run(app, host=given.host, port=given.port, ws_max_size=64 << 20)


if __name__ == "__main__":
    main()
