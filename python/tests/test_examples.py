"""The examples of the guide run, and do what it says of them."""

import contextlib
import importlib.util
import io
import unittest
from pathlib import Path

from .served import SCENES, needs_program

EXAMPLES = Path(__file__).parents[2] / "examples"


@needs_program
class PolicyGradient(unittest.TestCase):
    def test_the_reward_moves(self):
        spec = importlib.util.spec_from_file_location("policy_gradient", EXAMPLES / "policy_gradient.py")
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        example.UPDATES = 25
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            last = example.main(SCENES)
        self.assertEqual(told.getvalue().count("of 32 attempts"), 25, told.getvalue())
        # One box of three is ticked by chance.
        self.assertGreater(last, 0.75, told.getvalue())


if __name__ == "__main__":
    unittest.main()
