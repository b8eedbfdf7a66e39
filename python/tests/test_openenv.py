"""The client and the environment package of OpenEnv. Needs openenv (0.10.0); the client is tried with the program."""

import importlib.util
import unittest

from apprentice_env import Server, ServerError, WorldError

from .served import SCENES, FakePool, needs_program

needs_openenv = unittest.skipUnless(importlib.util.find_spec("openenv"), "openenv is not installed")
CLICK = {"do": "click", "at": {"ref": "n2"}}


@needs_openenv
class Package(unittest.TestCase):
    def setUp(self):
        from apprentice_env.openenv import ApprenticeAction
        from apprentice_env.openenv.server.environment import ApprenticeEnvironment

        pool = FakePool()
        self.addCleanup(pool.close)
        self.action, self.env = ApprenticeAction, ApprenticeEnvironment(Server(url=pool.url))
        self.addCleanup(self.env.close)

    def test_an_episode(self):
        seen = self.env.reset(seed=0, episode_id="mine", task="tick-box")
        self.assertEqual((seen.instruction, seen.done, seen.reward), ("Tick Apples.", False, None))
        self.assertEqual(self.env.state.model_dump(), {"episode_id": "mine", "step_count": 0, "task": "tick-box", "seed": 0})
        seen = self.env.step(self.action(actions=[CLICK], done=True))
        self.assertEqual((seen.done, seen.reward, seen.metadata["verdict"]["verdict"]), (True, 1.0, "pass"))
        self.assertEqual(self.env.state.step_count, 1)

    def test_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, "sed"):
            self.env.reset(sed=1)
        with self.assertRaises(ValueError):
            self.env.step(self.action(done=True))
        self.env.reset()
        with self.assertRaises(ValueError):
            self.env.step(self.action())
        with self.assertRaises(ServerError):
            self.env.step(self.action(actions=[{"at": 1}]))
        with self.assertRaisesRegex(RuntimeError, "void: "):
            self.env.step(self.action(actions=[{"do": "script", "source": "break"}]))

    def test_their_validator_passes(self):
        from pathlib import Path

        from openenv.validation import Level, load_policy, run_validation

        import apprentice_env.openenv

        report = run_validation(
            Path(apprentice_env.openenv.__file__).parent, max_level=Level.STATIC, policy=load_policy("v1")
        )
        self.assertEqual(report.verdict.value.lower(), "pass")


@needs_openenv
@needs_program
class Client(unittest.TestCase):
    def test_an_episode(self):
        from apprentice_env.openenv import ApprenticeAction, ApprenticeEnv

        server = Server(SCENES, sessions=2)
        self.addCleanup(server.close)
        with ApprenticeEnv(base_url=server.url).sync() as env:
            first = env.reset(task="write-name", seed=0)
            self.assertIn("Write Ada", first.observation.instruction)
            acts = [CLICK, {"do": "type", "text": "Ada"}, {"do": "click", "at": {"ref": "n3"}}]
            result = env.step(ApprenticeAction(actions=acts))
            self.assertEqual((result.done, len(result.observation.reports)), (False, 3))
            result = env.step(ApprenticeAction(done=True))
            self.assertEqual((result.done, result.reward, result.metadata["terminated"]), (True, 1.0, True))
            self.assertEqual((env.state().task, env.state().step_count), ("write-name", 2))
            for wrong in ({"sed": 1}, {"task": "no"}):
                with self.assertRaises(RuntimeError) as raised:
                    env.reset(**wrong)
                self.assertNotIsInstance(raised.exception, WorldError)
