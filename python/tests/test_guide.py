"""The quick starts of docs/training.md, as they stand there: needs the program, mousepad and Chromium."""

import contextlib
import importlib.util
import io
import re
import unittest

from apprentice_env import Server
from apprentice_env.server import SESSIONS

from .served import HERE, STARTER, needs_program

GUIDE = HERE.parent.parent / "docs" / "training.md"


def carried_out(words, **replaced):
    """Runs the block with these words, and returns its names."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    (block,) = [block for block in blocks if words in block]
    for old, new in {"tasks/starter": STARTER, **replaced}.items():
        block = block.replace(old, new)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block, "docs/training.md", "exec"), names)  # noqa: S102 - it is our own page
    return names


@needs_program
class Guide(unittest.TestCase):
    def test_gymnasium(self):
        names = carried_out("gymnasium.make(")
        self.assertEqual((names["reward"], names["terminated"]), (1.0, True))

    def test_browsergym(self):
        names = carried_out("BrowserEnv(url=")
        names["env"].close()
        self.assertEqual(names["observation"]["last_action_error"], "")

    @unittest.skipUnless(importlib.util.find_spec("openenv"), "openenv is not installed")
    def test_openenv(self):
        server = Server(STARTER, sessions=2)
        self.addCleanup(server.close)
        names = carried_out("ApprenticeEnv(base_url=", **{"http://127.0.0.1:8000": server.url})
        self.assertEqual((names["result"].reward, names["result"].done), (1.0, True))

    def test_numbers(self):
        self.assertIn(f"at most {SESSIONS}\n", GUIDE.read_text())
