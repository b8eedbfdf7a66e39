"""The environments over real worlds: needs the program, and for desktops and browsers mousepad and Chromium."""

import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from apprentice_env import BrowserEnv, DesktopEnv, SceneEnv, Server, ServerError, World, WorldError
from apprentice_env.tools import listed
from apprentice_env.trl import environment

from .served import PAGES, SCENES, STARTER, needs_program

CLICK = {"do": "click", "at": {"ref": "n2"}}


@needs_program
class Scenes(unittest.TestCase):
    def test_gymnasium_checks_them(self):
        env = gymnasium.make("apprentice/Scene-v0", suite=SCENES, task="tick-box", render_mode="rgb_array")
        try:
            check_env(env.unwrapped)
        finally:
            env.close()

    def test_vector_environments(self):
        def make():
            return SceneEnv(SCENES, "tick-box", max_steps=3)

        for kind in (SyncVectorEnv, AsyncVectorEnv):
            envs = kind([make, make])
            try:
                first, _ = envs.reset(seed=[1, 2])
                again, _ = envs.reset(seed=[1, 2])
                self.assertEqual(first["outline"].tolist(), again["outline"].tolist())
                self.assertNotEqual(first["title"][0], first["title"][1])
                for _ in range(3):
                    seen, _, _, cut, _ = envs.step((CLICK, CLICK))
                self.assertEqual(cut.tolist(), [True, True])
                self.assertIn("focused, checked]", seen["outline"][0])
            finally:
                envs.close()

    def test_the_tasks_own_solution_has_the_reward_1(self):
        made = environment(SCENES)()
        seen = made.reset(task="write-name", seed=0)
        self.assertIn("Write Ada", seen)
        made.click("n2"), made.type_text("Ada"), made.click("#n3"), made.done()
        self.assertEqual(made.get_reward(), 1.0)

    def test_a_reward_at_each_step_adds_up_to_the_score(self):
        env = SceneEnv(SCENES, "write-name", reward="step")
        self.addCleanup(env.close)
        env.reset(seed=0)
        acts = [CLICK, {"do": "type", "text": "Ada"}, {"do": "click", "at": {"ref": "n3"}}, "DONE"]
        self.assertEqual([env.step(act)[1] for act in acts], [0.0, 0.0, 1.0, 0.0])

    def test_a_world_that_broke_has_no_reward_anywhere(self):
        with tempfile.TemporaryDirectory() as suite:
            for at in ("act", "open"):
                broken = json.loads((Path(SCENES) / "examples/form/write-name.json").read_text())
                broken["id"] = broken["apprentice"]["template"] = at
                broken["apprentice"]["scene"]["faults"] = [{"at": at, "fault": "lost"}]
                written = Path(suite) / "examples/form" / f"{at}.json"
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(json.dumps(broken))
            (Path(suite) / "suite.json").write_text(json.dumps({"form": ["act", "open"]}))
            env = SceneEnv(suite, "act", screen=(640, 480))
            env.reset()
            with self.assertRaises(WorldError):
                env.step(CLICK)
            env.reset()
            env.close()
            with self.assertRaises(WorldError):
                SceneEnv(suite, "open", screen=(640, 480)).reset()
            made = environment(suite)()
            for task in ("act", "open"):
                made.reset(task=task, seed=0)
                made.click("n2")
                self.assertIsNone(made.get_reward(), task)

    def test_forks_and_groups(self):
        server = Server.of(SCENES)
        with server.open("tick-box", 3) as one:
            one.step(CLICK)
            with one.fork(1) as other:
                self.assertTrue(other.forked_from["same_screen"])
                self.assertEqual(listed(other.observation), listed(one.observation))
        group = server.open_group(3, "tick-box", 4)
        self.assertEqual(len({listed(one.observation) for one in group}), 1)
        for one in group:
            one.close()

    def test_a_killed_process_takes_its_servers_along(self):
        script = (
            "import sys, time, apprentice_env\n"
            "session = apprentice_env.Server.of(sys.argv[1]).open('tick-box', 0)\n"
            "world = apprentice_env.World('--screen', '640x480')\n"
            "def make(): return apprentice_env.SceneEnv(sys.argv[1], 'tick-box')\n"
            "from gymnasium.vector import AsyncVectorEnv\n"
            "envs = AsyncVectorEnv([make, make])\n"
            "envs.reset(seed=[1, 2])\n"
            "print(session.server.pid, world.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", script, SCENES], stdout=subprocess.PIPE, text=True)
        servers = process.stdout.readline().split()
        self.assertEqual([_state(server) in "RS" for server in servers], [True, True])
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        end = time.monotonic() + 20
        while any(_state(server) != "Z" for server in servers):
            self.assertLess(time.monotonic(), end, "a server lives on")
            time.sleep(0.05)


def _state(pid):
    """The state of a process; `Z`, a zombie's, for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "Z"


@needs_program
class Desktop(unittest.TestCase):
    def test_a_hundred_steps(self):
        env = DesktopEnv(app="mousepad", screen=(640, 480), max_steps=100)
        try:
            observation, _ = env.reset(seed=1)
            self.assertTrue(env.observation_space.contains(observation))
            self.assertIn("Mousepad", observation["title"])
            for at in range(1, 101):
                observation, reward, terminated, truncated, info = env.step({"do": "type", "text": "a"})
                self.assertEqual((reward, terminated, truncated), (0.0, False, at == 100))
                self.assertEqual(info["reports"], [{"delivery": {"delivery": "delivered"}}])
            self.assertIn('"' + "a" * 100 + '"', observation["outline"])
            self.assertTrue(env.action_space.contains(env.action_space.sample()))
            observation, _ = env.reset()
            self.assertNotIn("aaa", observation["outline"])
        finally:
            env.close()

    def test_a_task_is_judged(self):
        env = DesktopEnv(STARTER, "mousepad-windows-lines")
        try:
            _, info = env.reset(seed=0)
            self.assertTrue(info["instruction"])
            _, reward, terminated, _, info = env.step("DONE")
            self.assertEqual((reward, terminated, info["judged"]["verdict"]), (0.0, True, "fail"))
        finally:
            env.close()

    def test_what_is_wrong_is_said_and_the_world_goes_on(self):
        env = DesktopEnv(screen=(640, 480))
        world = env.session.world
        try:
            env.reset()
            for wrong in ({"do": "fly"}, {"do": "click"}, {"do": "type", "text": "a", "at": 1}):
                with self.assertRaises(ServerError):
                    env.step(wrong)
            *_, info = env.step({"do": "click", "at": {"ref": "n99999"}})
            self.assertEqual(info["reports"][0]["delivery"]["delivery"], "refused")
            with self.assertRaises(ServerError) as raised:
                world.ask("/judge", {})
            self.assertIn("no task", str(raised.exception))
            observation, *_ = env.step([])
            self.assertEqual(observation["screenshot"].shape, (480, 640, 3))
        finally:
            env.close()
        self.assertIsNone(subprocess.run(["pgrep", "-f", world.url], capture_output=True).stdout.strip() or None)

    def test_a_missing_task_is_told_before_anything_starts(self):
        with self.assertRaises(ServerError):
            World("--suite", STARTER, "--task", "no-such-task")
        with self.assertRaises(ValueError):
            DesktopEnv(STARTER, "no-such-task")


PAGE = (
    "data:text/html,<title>Form</title><label>Name <input id=a></label>"
    "<select aria-label=Size><option>Small<option>Large</select>"
    "<button onclick=\"document.title=document.querySelector('input').value\">Save</button>"
    "<a href='data:text/html,<title>Next</title>'>On</a>"
    "<input type=checkbox aria-label=Agreed>"
)


@needs_program
class Browser(unittest.TestCase):
    def bid(self, observation, words):
        line = next(line for line in observation["axtree_txt"].splitlines() if words in line)
        return line.rsplit("#", 1)[1].split()[0]

    def test_a_form_by_action_strings(self):
        env = BrowserEnv(url=PAGE, screen=(800, 600))
        try:
            observation, _ = env.reset()
            self.assertTrue(env.observation_space.contains(observation))
            name, save = self.bid(observation, 'textbox "Name"'), self.bid(observation, 'button "Save"')
            size, agreed = self.bid(observation, 'combobox "Size"'), self.bid(observation, 'checkbox "Agreed"')
            action = f'fill("{name}", "Ann")\nselect_option("{size}", "Large")\nclick("{save}")'
            observation, _, terminated, _, _ = env.step(action)
            self.assertEqual(observation["last_action_error"], "")
            self.assertFalse(terminated)
            self.assertEqual(env.session.observation["title"], "Ann")
            for wrong in ("fly()", "click(1, 2, 3, 4)", "import os", "click(open('/etc/passwd'))", ""):
                observation, *_ = env.step(wrong)
                self.assertTrue(observation["last_action_error"], wrong)
            observation, *_ = env.step("click('n99999')")
            self.assertEqual(observation["last_action_error"], 'ValueError: Could not find element with bid "n99999"')
            # The focus goes there, and nothing is clicked.
            observation, *_ = env.step(f"focus('{agreed}')")
            self.assertEqual(observation["last_action_error"], "")
            self.assertIn("unchecked", next(one for one in observation["axtree_txt"].splitlines() if "Agreed" in one))
            observation, *_ = env.step(f"press('{agreed}', 'Space')")
            self.assertNotIn("unchecked", next(one for one in observation["axtree_txt"].splitlines() if "Agreed" in one))
            typed = ["keyboard_press('ControlOrMeta+a')", "keyboard_type('Eve')", f"click('{save}')"]
            observation, *_ = env.step("\n".join([f"fill('{name}', 'Bob', True)", *typed]))
            self.assertEqual(env.session.observation["title"], "Eve")
            pointer = [
                "scroll(0, 200)",
                "scroll_at(50, 100, 0, 60)",
                "mouse_move(65.2, 158.5)",
                "mouse_down(300, 400)",
                "mouse_up(310, 400)",
            ]
            keys = ["keyboard_down('Shift')", "keyboard_up('Shift')", "noop(10)", "new_tab()", "tab_close()"]
            link = self.bid(observation, "link")
            elements = [
                f"hover('{save}')",
                f"drag_and_drop('{agreed}', '{save}')",
                f"focus('{link}')",
                f"press('{link}', 'Tab')",
            ]
            for right in pointer + keys + elements:
                observation, *_ = env.step(right)
                self.assertEqual(observation["last_action_error"], "", right)
            observation, *_ = env.step('goto("about:blank")')
            self.assertEqual(observation["url"], "about:blank")
            *_, terminated, _, _ = env.step('send_msg_to_user("done")')
            self.assertTrue(terminated)
        finally:
            env.close()

    def test_a_task_in_vector_environments(self):
        def make():
            return BrowserEnv(PAGES, "choose-fruit", max_steps=4, screenshot=False)

        envs = AsyncVectorEnv([make, make])
        try:
            seen, infos = envs.reset(seed=[1, 2])
            one = {key: texts[0] for key, texts in seen.items()}
            wanted = one["goal"].rsplit(" ", 1)[1].rstrip(".")
            self.assertNotEqual(one["axtree_txt"], seen["axtree_txt"][1])
            name, button = self.bid(one, 'textbox "Name"'), self.bid(one, f'button "{wanted}"')
            seen, rewards, *_ = envs.step((f"fill('{name}', 'Ada')", "noop(1)"))
            self.assertEqual(seen["last_action_error"].tolist(), ["", ""])
            envs.step((f"click('{button}')", "I cannot see it."))
            _, rewards, ended, *_ = envs.step(("send_msg_to_user('done')", "report_infeasible('no')"))
            self.assertEqual((rewards.tolist(), ended.tolist()), ([1.0, 0.0], [True, True]))
        finally:
            envs.close()


if __name__ == "__main__":
    unittest.main()
