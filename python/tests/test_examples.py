"""The examples of the guide run, and do what it says of them."""

import ast
import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

from apprentice_env import Server

from .served import SCENES, needs_program

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    """An example as a module; those that it stands on are found beside it."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(EXAMPLES))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(EXAMPLES))
    return module


@needs_program
class PolicyGradient(unittest.TestCase):
    def test_the_reward_moves(self):
        loop = example("policy_gradient")
        loop.UPDATES = 25
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            last = loop.main(SCENES)
        self.assertEqual(told.getvalue().count("of 32 attempts"), 25, told.getvalue())
        # One box of three is ticked by chance.
        self.assertGreater(last, 0.75, told.getvalue())


class Things(unittest.TestCase):
    """The suite that the language model learns on."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.suite = example("things_suite")
        self.folder = self.suite.write_suite(Path(folder.name))

    def test_what_is_held_out_is_never_trained_on(self):
        parts = {"train": set(), "held-out": set()}
        for path in self.folder.glob("examples/things/*.json"):
            own = json.loads(path.read_text())["apprentice"]
            parts[own["template"]] |= {thing["name"] for thing in own["vary"]["things"]["of"]}
        self.assertEqual((len(parts["train"]), len(parts["held-out"])), (36, 12))
        self.assertFalse(parts["train"] & parts["held-out"])

    @needs_program
    def test_one_box_of_each_page_is_right(self):
        with Server(self.folder, sessions=self.suite.PLACES) as server:
            for task in server.tasks():
                place = int(task[-1])
                rewards = []
                for session, box in zip(server.open_group(self.suite.PLACES, task, 7, screenshot=False), range(self.suite.PLACES)):
                    # The window is the first element, the boxes follow.
                    rewards.append(session.step({"do": "click", "at": {"ref": f"n{box + 2}"}}, done=True)["reward"])
                    session.close()
                self.assertEqual(rewards, [float(box == place) for box in range(self.suite.PLACES)], task)


class LanguageModel(unittest.TestCase):
    def test_its_files_can_be_read(self):
        for name in ("small_llama", "policy_gradient_llm"):
            self.assertTrue(ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text())), name)

    @unittest.skipUnless(importlib.util.find_spec("jax"), "jax is not installed")
    def test_its_arithmetic_holds(self):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            example("policy_gradient_llm").main(["--check"])
        self.assertIn("the arithmetic holds", told.getvalue())


if __name__ == "__main__":
    unittest.main()
