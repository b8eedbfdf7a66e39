"""What the package promises of any pool, over a fake one: Gymnasium's contract, and TRL's. Needs no program."""

import importlib.util
import inspect
import pickle
import unittest
import warnings

import gymnasium
import numpy
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import apprentice_env
from apprentice_env import SceneEnv, Server, ServerError, WorldError
from apprentice_env.spaces import Actions, AnyText
from apprentice_env.tools import Acts, BrowserActs, public, schemas
from apprentice_env.trl import environment, rows

from .served import FakePool

CLICK = {"do": "click", "at": {"ref": "n2"}}
BREAK = {"do": "script", "source": "break"}


class OverFakePool(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pool = FakePool()
        cls.addClassCleanup(cls.pool.close)

    def make(self, **settings):
        env = SceneEnv(self.pool.url, "tick-box", **{"max_steps": 3, **settings})
        self.addCleanup(env.close)
        return env


class Spaces(unittest.TestCase):
    def test_they_are_equal_and_can_be_pickled(self):
        for space, other in ((AnyText(9), AnyText(8)), (Actions(3, 2), Actions(2, 3))):
            self.assertEqual(pickle.loads(pickle.dumps(space)), space)
            self.assertNotEqual(space, other)
            self.assertTrue(space.contains(space.sample()))

    def test_what_is_an_action(self):
        space = Actions(640, 480)
        for right in (
            CLICK,
            [CLICK, CLICK],
            [],
            "DONE",
            "FAIL",
            '"DONE"',
            '{"do": "wait", "ms": 1}',
            {"answer": "a"},
            {"actions": [], "done": True},
        ):
            self.assertTrue(space.contains(right), right)
        for wrong in ("done", "click('a')", 1, None, {}, [{"at": 1}], {"do2": 1}, {"answer": "a", "reason": "b"}):
            self.assertFalse(space.contains(wrong), wrong)


class Gymnasium(OverFakePool):
    def test_check_env(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            env = gymnasium.make("apprentice/Scene-v0", suite=self.pool.url, task="tick-box", render_mode="rgb_array")
            self.addCleanup(env.close)
            check_env(env.unwrapped)

    def test_seed_and_options_decide_the_world(self):
        env = self.make()
        for seed in (1, 4, 7, 2**40 + 1):
            _, info = env.reset(seed=seed)
            self.assertEqual(info["seed"], seed % 3)
        _, info = env.reset(options={"task": "tick-box", "seed": 2})
        self.assertEqual((info["seed"], info["instruction"]), (2, "Tick Plums."))
        with self.assertRaises(ServerError):
            env.reset(options={"seed": 3})
        for wrong in ({"task": "no"}, {"sed": 1}):
            with self.assertRaises((ValueError, ServerError)):
                env.reset(options=wrong)
        drawn = [[env.reset(seed=5)[1]["seed"], *(env.reset()[1]["seed"] for _ in range(5))] for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertGreater(len(set(drawn[0])), 1)
        fixed = self.make(seed=1)
        self.assertEqual({fixed.reset()[1]["seed"] for _ in range(4)}, {1})

    def test_an_episode(self):
        env = self.make()
        env.reset(options={"seed": 0})
        _, reward, terminated, truncated, info = env.step(CLICK)
        self.assertEqual((reward, terminated, truncated), (0.0, False, False))
        *_, info = env.step({"do": "click", "at": {"ref": "n9"}})
        self.assertEqual(info["reports"][0]["delivery"]["delivery"], "refused")
        _, reward, terminated, truncated, info = env.step("DONE")
        self.assertEqual((reward, terminated, truncated, info["judged"]["verdict"]), (1.0, True, False, "pass"))
        self.assertIs(type(terminated), bool)
        with self.assertRaises(ServerError):
            env.step(CLICK)
        env.reset()
        for _ in range(3):
            _, reward, terminated, truncated, _ = env.step({"do": "wait", "ms": 0})
        self.assertEqual((reward, terminated, truncated), (0.0, False, True))

    def test_a_world_that_broke_raises_and_has_no_reward(self):
        env = self.make()
        env.reset(seed=0)
        with self.assertRaises(WorldError):
            env.step(BREAK)
        observation, _ = env.reset(seed=0)
        self.assertTrue(env.observation_space.contains(observation))

    def test_without_pictures(self):
        env = self.make(screenshot=False)
        self.assertEqual(set(env.reset(seed=0)[0]), {"outline", "title"})
        with self.assertRaises(ValueError):
            self.make(screenshot=False, render_mode="rgb_array")

    def test_a_smaller_screen_keeps_its_coordinates(self):
        observation, _ = self.make(screen=(70, 50)).reset(seed=2)
        self.assertEqual(observation["screenshot"].shape, (50, 70, 3))
        self.assertEqual(observation["screenshot"][0, 0].tolist(), [2, 0, 0])
        with self.assertRaisesRegex(ValueError, r"screen=\(64, 48\)"):
            self.make(screen=(60, 48)).reset(seed=2)

    def test_vector_environments(self):
        for kind in (SyncVectorEnv, AsyncVectorEnv):
            for mode in AutoresetMode:
                with self.subTest(kind=kind.__name__, mode=mode.name):
                    self.vector(kind([self.make, self.make], autoreset_mode=mode), mode)

    def vector(self, envs, mode):
        try:
            seen, infos = envs.reset(seed=[1, 2])
            self.assertEqual(seen["title"].tolist(), ["Order 1", "Order 2"])
            for count in range(3):
                seen, rewards, ended, cut, infos = envs.step((CLICK, CLICK))
            self.assertEqual((rewards.tolist(), cut.tolist()), ([0.0, 0.0], [True, True]))
            last = infos["final_obs"][0] if mode == AutoresetMode.SAME_STEP else {key: one[0] for key, one in seen.items()}
            self.assertIn('"Apples" checked', last["outline"])
            self.assertEqual(last["title"], "Order 1")
            if mode == AutoresetMode.NEXT_STEP:
                seen, rewards, *_ = envs.step((CLICK, CLICK))
                self.assertNotIn("checked", seen["outline"][0])
            if mode == AutoresetMode.DISABLED:
                seen, _ = envs.reset(options={"reset_mask": numpy.array([True, True])})
                self.assertNotIn("checked", seen["outline"][1])
        finally:
            envs.close()


class Sessions(OverFakePool):
    def test_a_group_has_one_world_many_times(self):
        group = Server(url=self.pool.url).open_group(4, "tick-box", 1)
        self.assertEqual({one.instruction for one in group}, {"Tick Pears."})
        self.assertEqual(len({one.id for one in group}), 4)
        group[0].step(CLICK)
        self.assertNotEqual(group[0].observation["outline"], group[1].observation["outline"])
        for one in group:
            one.close()
            one.close()

    def test_codes_reach_the_caller(self):
        server = Server(url=self.pool.url)
        for code, given in {"unknown_task": ("no", 0), "seed_out_of_range": ("tick-box", 3)}.items():
            with self.assertRaises(ServerError) as raised:
                server.open(*given)
            self.assertEqual(raised.exception.code, code)
        with self.assertRaisesRegex(ServerError, "sed"):
            server.open("tick-box", 0, sed=1)
        with self.assertRaises(WorldError):
            Server(url="http://127.0.0.1:1").open("tick-box")
        self.assertEqual(pickle.loads(pickle.dumps(server)).tasks(), server.tasks())


class Trl(OverFakePool):
    def test_only_acts_are_tools(self):
        kind = environment(self.pool.url)
        self.assertEqual(set(public(kind)), set(public(Acts)))
        self.assertEqual([one["function"]["name"] for one in schemas(Acts)], list(public(Acts)))
        for one in schemas(Acts):
            self.assertTrue(one["function"]["description"])

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_the_tools_are_read_as_trl_reads_them(self):
        from transformers.utils import get_json_schema

        made = environment(self.pool.url, browser=True)()
        ours = {one["function"]["name"]: one["function"] for one in schemas(BrowserActs)}
        for name, _ in inspect.getmembers(type(made), predicate=inspect.isfunction):
            if name.startswith("_") or name in ("reset", "get_reward"):
                continue
            theirs = get_json_schema(getattr(made, name))["function"]
            self.assertEqual(theirs["description"], ours[name]["description"])
            for argument, told in theirs["parameters"]["properties"].items():
                mine = ours[name]["parameters"]["properties"][argument]
                self.assertEqual((told["type"], told["description"]), (mine["type"], mine["description"]))

    def test_a_rollout(self):
        made = environment(self.pool.url, max_steps=5)()
        row = rows(self.pool.url, seeds=range(9))[1]
        self.assertEqual(len(rows(self.pool.url, seeds=range(9))), 3)
        text = made.reset(**row, reference="a column of somebody's")
        self.assertIn("Tick Pears.", text)
        self.assertIn('"Pears"', made.click("#n3"))
        self.assertIn("Refused: there is no element", made.click("n9"))
        self.assertIn("ended", made.done())
        self.assertIn("nothing was done", made.click("n3"))
        self.assertEqual(made.get_reward(), 1.0)
        made.reset(task="tick-box", seed=0)
        self.assertEqual(made.get_reward(), 0.0)

    def test_void_is_none_and_wrong_rows_are_errors(self):
        made = environment(self.pool.url)()
        made.reset(task="tick-box", seed=0)
        made._perform({"actions": [BREAK]})
        self.assertIsNone(made.get_reward())
        self.assertIn("broke", made.click("n2"))
        for wrong in ({"task": "no"}, {"seed": "1"}, {"seed": -1}, {"seed": 3}, {"seed": 1.5}):
            with self.assertRaises(ValueError, msg=wrong):
                made.reset(**{"task": "tick-box", **wrong})
        self.assertIn("Tick", made.reset(task="tick-box", seed=1.0))

    def test_pictures_are_blocks(self):
        made = environment(self.pool.url, screenshot=True)()
        blocks = made.reset(task="tick-box", seed=0)
        self.assertEqual([one["type"] for one in blocks], ["text", "image"])
        self.assertEqual(blocks[1]["image"].size, (64, 48))


class Names(unittest.TestCase):
    def test_the_package_names_what_it_has(self):
        for name in apprentice_env.__all__:
            self.assertTrue(hasattr(apprentice_env, name), name)
