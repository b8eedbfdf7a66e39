"""The acts of an agent as functions with types and docstrings: what trainers turn into tools."""

from __future__ import annotations

import inspect
import typing
from typing import Any

#: What an agent is told beside its task.
SYSTEM_PROMPT = (
    "You work in a program that you see as a list of elements, one a line, each with a reference such as #n7. Act with the tools; "
    "after each act you get the list as it is then. When the task is done, call done; if it asks a question, call answer; if it "
    "cannot be done, call give_up."
)
#: What is told of an act after the end.
ENDED = "The episode has ended: nothing was done."


class Acts:
    """The acts in any world. Every public function here is a tool and nothing else may be: `_perform` carries one out, and returns what
    the agent is told."""

    def _perform(self, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    def click(self, element: str, button: str = "left", count: int = 1) -> str:
        """Clicks an element.

        Args:
            element: The element's reference in the list, such as n7.
            button: left, middle or right.
            count: 1 for a click, 2 for a double click, 3 for a triple click.
        """
        return self._perform({"actions": [{"do": "click", "at": _at(element), "button": button, "count": count}]})

    def click_at(self, x: int, y: int, button: str = "left", count: int = 1) -> str:
        """Clicks a point of the screen.

        Args:
            x: Pixels from the left.
            y: Pixels from the top.
            button: left, middle or right.
            count: 1 for a click, 2 for a double click, 3 for a triple click.
        """
        at = {"point": {"x": x, "y": y}}
        return self._perform({"actions": [{"do": "click", "at": at, "button": button, "count": count}]})

    def type_text(self, text: str) -> str:
        """Types text into the element that has the focus. A line break is the Enter key.

        Args:
            text: The text.
        """
        return self._perform({"actions": [{"do": "type", "text": text}]})

    def press(self, keys: str) -> str:
        """Presses a key, or several together.

        Args:
            keys: The keys, such as enter, escape or ctrl+s.
        """
        return self._perform({"actions": [{"do": "key", "chord": keys}]})

    def scroll(self, down: int, right: int = 0, element: str = "") -> str:
        """Scrolls by notches of the wheel.

        Args:
            down: Notches down; negative is up.
            right: Notches to the right; negative is to the left.
            element: The reference of the element to scroll; where the pointer is, if empty.
        """
        at = {"at": _at(element)} if element else {}
        return self._perform({"actions": [{"do": "scroll", "dy": down, "dx": right, **at}]})

    def select(self, element: str, option: str) -> str:
        """Chooses an option of a list.

        Args:
            element: The list's reference, such as n7.
            option: The text of the option.
        """
        return self._perform({"actions": [{"do": "select", "at": _at(element), "option": option}]})

    def wait(self, milliseconds: int) -> str:
        """Waits for something that goes on in the program.

        Args:
            milliseconds: How long, at most 60000.
        """
        return self._perform({"actions": [{"do": "wait", "ms": milliseconds}]})

    def done(self) -> str:
        """Says that the task is done. This ends the episode."""
        return self._perform({"done": True})

    def answer(self, text: str) -> str:
        """Answers a task that asks a question. This ends the episode.

        Args:
            text: The answer, and nothing else.
        """
        return self._perform({"answer": text})

    def give_up(self) -> str:
        """Says that the task cannot be done. This ends the episode."""
        return self._perform({"gave_up": True})


class BrowserActs(Acts):
    """The acts in a browser."""

    def fill(self, element: str, value: str) -> str:
        """Sets the value of a field of a form.

        Args:
            element: The field's reference, such as n7.
            value: The value.
        """
        return self._perform({"actions": [{"do": "fill", "at": _at(element), "value": value}]})

    def go_to(self, url: str) -> str:
        """Opens an address in the current tab.

        Args:
            url: The address.
        """
        return self._perform({"actions": [{"do": "navigate", "url": url}]})

    def go_back(self) -> str:
        """Goes one page back in the tab's history."""
        return self._perform({"actions": [{"do": "history", "go": "back"}]})


def _at(element: str) -> dict[str, Any]:
    # Models write references as the list shows them.
    return {"ref": str(element).lstrip("#")}


def told(said: dict[str, Any]) -> str:
    """What an agent is told after a step: what was refused, what the world said, and the list of elements."""
    lines = []
    for report in said["reports"]:
        problem = report["delivery"].get("problem")
        lines += [f"Refused: {problem}"] if problem else []
        lines += [report["text"]] if report.get("text") else []
    if said["terminated"] or said["truncated"]:
        lines.append("The episode has ended." if said["terminated"] else "The limit is reached: the episode has ended.")
    else:
        lines.append(listed(said["observation"]))
    return "\n".join(lines)


def listed(observation: dict[str, Any]) -> str:
    """The list of elements, with the title of the window and an open dialog."""
    lines = [f"Window: {observation['title']}"]
    lines += [f"A dialog is open: {observation['dialog']}"] if observation.get("dialog") else []
    return "\n".join([*lines, observation["outline"] or "(no elements)"])


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schemas(acts: type[Acts]) -> list[dict[str, Any]]:
    """The tools of a class in the form of OpenAI's API, from types and docstrings."""
    return [_schema(name, function) for name, function in public(acts).items()]


def public(acts: type[Acts]) -> dict[str, Any]:
    """The tools of a class by name, in the order in which they are written."""
    named: dict[str, Any] = {}
    for kind in reversed(acts.__mro__):
        named.update({name: one for name, one in vars(kind).items() if inspect.isfunction(one) and name[0] != "_"})
    return {name: one for name, one in named.items() if name not in ("reset", "get_reward")}


def _schema(name: str, function: Any) -> dict[str, Any]:
    text, _, arguments = inspect.getdoc(function).partition("\n\nArgs:\n")
    described = dict(line.strip().split(": ", 1) for line in arguments.splitlines() if line.strip())
    types = typing.get_type_hints(function)
    properties, required = {}, []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        properties[parameter.name] = {"type": _JSON_TYPES[types[parameter.name]], "description": described[parameter.name]}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}
