"""The environments over real cells: needs `apprentice` in the variable APPRENTICE or on the PATH, mousepad and Chromium."""

import subprocess
import unittest

import numpy

from apprentice_env import BrowserEnv, DesktopEnv, Server, ServerError


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
        env = DesktopEnv(suite="tasks/starter", task="mousepad-windows-lines")
        try:
            _, info = env.reset()
            self.assertTrue(info["instruction"])
            _, reward, terminated, _, info = env.step("DONE")
            self.assertEqual((reward, terminated, info["judged"]["verdict"]), (0.0, True, "fail"))
        finally:
            env.close()

    def test_what_is_wrong_is_said_and_the_world_goes_on(self):
        env = DesktopEnv(screen=(640, 480))
        try:
            env.reset()
            for wrong in ({"do": "fly"}, {"do": "click"}, {"do": "type", "text": "a", "at": 1}):
                with self.assertRaises(ServerError):
                    env.step(wrong)
            *_, info = env.step({"do": "click", "at": {"ref": "n99999"}})
            self.assertEqual(info["reports"][0]["delivery"]["delivery"], "refused")
            with self.assertRaises(ServerError) as raised:
                env.server.ask("/judge", {})
            self.assertIn("no task", str(raised.exception))
            observation, *_ = env.step([])
            self.assertEqual(observation["screenshot"].shape, (480, 640, 3))
        finally:
            env.close()
        self.assertIsNone(subprocess.run(["pgrep", "-f", env.server.url], capture_output=True).stdout.strip() or None)

    def test_a_missing_task_is_told_before_anything_starts(self):
        with self.assertRaises(ServerError):
            Server("--suite", "tasks/starter", "--task", "no-such-task")


PAGE = (
    "data:text/html,<title>Form</title><label>Name <input id=a></label>"
    "<select aria-label=Size><option>Small<option>Large</select>"
    "<button onclick=\"document.title=document.querySelector('input').value\">Save</button>"
)


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
            size = self.bid(observation, 'combobox "Size"')
            action = f'fill("{name}", "Ann")\nselect_option("{size}", "Large")\nclick("{save}")'
            observation, _, terminated, _, _ = env.step(action)
            self.assertEqual(observation["last_action_error"], "")
            self.assertFalse(terminated)
            self.assertEqual(env.server.ask("/observe")["title"], "Ann")
            for wrong in ("fly()", "click(1, 2, 3, 4)", "import os", "click(open('/etc/passwd'))", ""):
                observation, *_ = env.step(wrong)
                self.assertTrue(observation["last_action_error"], wrong)
            observation, *_ = env.step('click("n99999")')
            self.assertTrue(observation["last_action_error"])
            observation, *_ = env.step('goto("about:blank")')
            self.assertEqual(observation["url"], "about:blank")
            *_, terminated, _, _ = env.step('send_msg_to_user("done")')
            self.assertTrue(terminated)
        finally:
            env.close()


if __name__ == "__main__":
    numpy.set_printoptions(threshold=10)
    unittest.main()
