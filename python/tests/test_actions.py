"""BrowserGym's action strings: their examples, their grammar, their words for what is wrong. Needs no program."""

import importlib.util
import inspect
import json
import random
import unittest

from apprentice_env import actions
from apprentice_env.actions import ActionError, calls_in, translated, why_refused

from .served import HERE

PUBLISHED = json.loads((HERE / "browsergym_examples.json").read_text())
TABS = [
    {"id": "t1", "url": "a:", "active": False},
    {"id": "t2", "url": "b:", "active": True},
    {"id": "t3", "url": "c:", "active": False},
]
VIEW = {"outline": 'window "W" #n1\n  button "Save" #a26\n  textbox "Name" [editable] #88\n', "tabs": TABS}


def steps(text):
    return [translated(call, VIEW) for call in calls_in(text)]


class Examples(unittest.TestCase):
    def test_each_example_of_each_subset_is_carried_out(self):
        examples = [one for listed in PUBLISHED["examples"].values() for one in listed]
        self.assertGreater(len(examples), 50)
        for example in examples:
            (step,) = steps(example)
            self.assertTrue({"actions", "answer", "gave_up"} & set(step), example)
            self.assertTrue(all("do" in action for action in step.get("actions", [])), example)

    def test_signatures_are_theirs(self):
        self.assertEqual(set(PUBLISHED["signatures"]), set(actions.ACTIONS))
        for name, theirs in PUBLISHED["signatures"].items():
            if name == "dblclick" or name == "keyboard_insert_text":
                continue
            names = [one.split(":")[0].split("=")[0].strip() for one in _split(theirs[1:-1])]
            ours = [one for one in list(inspect.signature(actions.ACTIONS[name]).parameters)[1:] if one != "count"]
            self.assertEqual(ours, names, name)

    def test_what_they_mean(self):
        for text, wanted in {
            "click('48', button='middle', modifiers=['Shift'])": [
                {"do": "click", "at": {"ref": "48"}, "button": "middle", "hold": "shift"}
            ],
            "fill('b534', 'Montre', True)": [
                {"do": "fill", "at": {"ref": "b534"}, "value": "Montr"},
                {"do": "type", "text": "e"},
            ],
            "press('88', 'ControlOrMeta+a')": [{"do": "click", "at": {"ref": "88"}}, {"do": "key", "chord": "ctrl+a"}],
            "press('a26', 'Meta+Shift+t')": [
                {"do": "press", "at": {"ref": "a26"}},
                {"do": "move", "to": {"point": {"x": 0, "y": 0}}},
                {"do": "release"},
                {"do": "key", "chord": "super+shift+t"},
            ],
            "keyboard_press('A')": [{"do": "key", "chord": "shift+a"}],
            "keyboard_press('Control++')": [{"do": "key", "chord": "ctrl+plus"}],
            "scroll(-50.2, -100.5)": [{"do": "scroll", "dx": -1, "dy": -1}],
            "scroll(0, 3)": [{"do": "scroll", "dx": 0, "dy": 1}],
            "tab_close()": [{"do": "tab", "tab": "close", "id": "t2"}, {"do": "tab", "tab": "switch", "id": "t3"}],
            "tab_focus(-1)": [{"do": "tab", "tab": "switch", "id": "t3"}],
            "noop(90000)": [{"do": "wait", "ms": 60000}, {"do": "wait", "ms": 30000}],
        }.items():
            self.assertEqual(steps(text), [{"actions": wanted}], text)
        self.assertEqual(steps("send_msg_to_user('1751')"), [{"answer": "1751"}])
        self.assertEqual(steps("report_infeasible('no field')"), [{"gave_up": True}])

    def test_what_is_wrong_has_their_words(self):
        for text, words in {
            "": "ValueError: Received an empty action.",
            "I would click there": "ValueError: Received an empty action.",
            "# click('a')": "ValueError: Received an empty action.",
            "check('55')": "NameError: Invalid action type 'check'.",
            "click('1')\nimport_os()": "NameError: Invalid action type 'import_os'.",
            "click(open('/etc/passwd'))": "NameError: Invalid action type 'open'.",
            "click(1)": "ValueError: expected a string, got 1",
            "click('a', colour='red')": "TypeError: click() got an unexpected keyword argument 'colour'",
            "click()": "TypeError: click() missing 1 required positional argument: 'bid'",
            "go_back(1, 2)": "TypeError: go_back() takes 0 positional arguments but 2 were given",
            "tab_focus(7)": "IndexError: list index out of range",
            "keyboard_press('Foo')": 'Error: Keyboard.press: Unknown key: "Foo"',
        }.items():
            with self.assertRaises(ActionError, msg=text) as raised:
                steps(text)
            self.assertEqual(str(raised.exception), words, text)
        for told in ("there is no element #a51", "there never was an element a51", "element #a51 is not there any more"):
            self.assertEqual(why_refused(told), 'ValueError: Could not find element with bid "a51"')

    def test_a_text_may_hold_more_than_calls(self):
        text = "I will fill it.\n```python\nfill('a12', \"it's\\n\") click('b', button='left',)  # and go\n```"
        self.assertEqual(calls_in(text), [("fill", ["a12", "it's\n"], {}), ("click", ["b"], {"button": "left"})])


@unittest.skipUnless(importlib.util.find_spec("browsergym"), "browsergym-core is not installed")
class TheirPackage(unittest.TestCase):
    def test_the_published_examples_are_those_of_the_package(self):
        from importlib.metadata import version

        from browsergym.core.action import functions
        from browsergym.core.action.highlevel import ACTION_SUBSETS, HighLevelActionSet

        if version("browsergym-core") != PUBLISHED["version"]:
            self.skipTest(f"the list is of {PUBLISHED['version']}")
        found = {}
        for subset in ACTION_SUBSETS:
            for name, action in HighLevelActionSet(subsets=[subset]).action_set.items():
                found[name] = list(action.examples)
        self.assertEqual(found, PUBLISHED["examples"])
        signatures = {name: str(inspect.signature(getattr(functions, name))) for name in found}
        self.assertEqual(signatures, PUBLISHED["signatures"])

    def test_the_grammar_is_theirs(self):
        from browsergym.core.action.parsers import NamedArgument, highlevel_action_parser

        examples = [one for listed in PUBLISHED["examples"].values() for one in listed]
        odd = [
            "click",
            '("a")',
            "# click('1')\n",
            "\n",
            " ",
            "foo.",
            "'",
            '"',
            "(",
            ")",
            "[",
            "{",
            ",",
            "=",
            "1",
            "-2.5",
            "3e4",
            ".5",
        ]
        odd += [
            "True",
            "{'a': [1,2,]}",
            "(1,)",
            "noop(button='x')",
            "noop('''tri\n'ple''')",
            '"""x"y"""',
            "noop( 1 2)",
            "Truex",
            "noop(1,)",
        ]
        drawn = random.Random(3)
        for _ in range(3000):
            text = "".join(drawn.choice(examples + odd) for _ in range(drawn.randint(1, 5)))
            theirs = []
            for name, given in sum(highlevel_action_parser.search_string(text).as_list(), []):
                named = {one.name: one.value for one in given if isinstance(one, NamedArgument)}
                theirs.append((name, [one for one in given if not isinstance(one, NamedArgument)], named))
            unknown = [name for name, _, _ in theirs if name not in actions.ACTIONS]
            try:
                self.assertEqual(calls_in(text), theirs, text)
            except ActionError as error:
                self.assertTrue(unknown or not theirs, f"{text!r}: {error}")


def _split(parameters):
    """The parameters of a signature: commas inside brackets do not separate."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]
