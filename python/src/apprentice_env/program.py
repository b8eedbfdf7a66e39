"""Finds the program, starts it, and reads the address at which it serves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

from .errors import ServerError

#: How long a server may take to end once its input has ended, and once it was interrupted.
ASKED_SECONDS = 5
END_SECONDS = 30


def program() -> str:
    """Returns the path of the program: the variable APPRENTICE, the one beside this Python, or the one on the PATH."""
    named = os.environ.get("APPRENTICE")
    if named:
        return named
    # A wheel with the program puts it beside the interpreter, which is not on the PATH unless the environment is active.
    beside = Path(sys.executable).parent / "apprentice"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("apprentice")
    if found is None:
        raise ServerError(
            "the program apprentice was found neither in the variable APPRENTICE, nor beside this Python, nor on the PATH",
            "no_program",
        )
    return found


class Process:
    """A running `apprentice serve` of this process. It ends with it, also where this process is killed: the server
    reads its input, whose end closes then."""

    def __init__(self, *options: str):
        command = [program(), "serve", "--port", "0", "--json", "--until-stdin-ends", *options]
        self._owner = os.getpid()
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # An interrupt of the terminal is for the trainer, which then ends the server.
            start_new_session=True,
        )
        said = self._first_object()
        if said is None:
            code = self._child.wait()
            self._close_pipes()
            raise ServerError(f"apprentice serve ended with code {code}; its message stands above", "not_started")
        self.began: dict[str, Any] = said
        _running.add(self)

    def _first_object(self) -> dict[str, Any] | None:
        text = ""
        for line in self._child.stdout:
            text += line
            try:
                return json.loads(text)
            except ValueError:
                continue
        return None

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._child.pid

    @property
    def is_ours(self) -> bool:
        """Whether this process started it, and not one that this process was forked from."""
        return os.getpid() == self._owner

    @property
    def has_ended(self) -> bool:
        """Whether the server is gone. A process that was forked cannot know, and says no."""
        return self.is_ours and self._child.poll() is not None

    def close(self) -> None:
        """Ends the server, and its worlds with it. In a forked process it does nothing."""
        if not self.is_ours:
            return
        # The end of its input ends it; where something holds that open, an interrupt does.
        self._close_input()
        try:
            self._child.wait(ASKED_SECONDS)
        except subprocess.TimeoutExpired:
            self._stop()
        self._close_pipes()

    def _stop(self) -> None:
        self._child.send_signal(signal.SIGINT)
        try:
            self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _close_input(self) -> None:
        try:
            self._child.stdin.close()
        except BrokenPipeError:
            pass  # Nobody reads what was never written.

    def _close_pipes(self) -> None:
        self._child.stdout.close()
        self._close_input()


_running: weakref.WeakSet[Process] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """A forked process, such as a worker of a vector environment, does not keep its parent's servers alive: it may outlive it."""
    for process in list(_running):
        process._close_pipes()
    _running.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
