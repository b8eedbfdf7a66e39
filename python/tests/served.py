"""What the tests stand on: the fake pool, and whether the program is here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
SCENES = str(HERE / "scenes")
PAGES = str(HERE / "pages")
STARTER = str(HERE.parent.parent / "tasks" / "starter")

has_program = bool(os.environ.get("APPRENTICE") or shutil.which("apprentice"))
needs_program = unittest.skipUnless(has_program, "the program is neither in APPRENTICE nor on the PATH")


class FakePool:
    """A fake pool for a test case; `url` is its address, which takes the place of a suite."""

    def __init__(self):
        command = [sys.executable, str(HERE / "fake_pool.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self._process.stdout.readline())["url"]

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()
