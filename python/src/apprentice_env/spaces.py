"""The spaces that Gymnasium lacks: any text, and actions as dictionaries."""

from __future__ import annotations

import json
from typing import Any

import numpy
from gymnasium import spaces
from gymnasium.spaces.utils import flatten
from gymnasium.vector.utils import concatenate
from gymnasium.vector.utils.shared_memory import read_from_shared_memory

#: One more than the last code point of Unicode; Gymnasium's padding of a text.
END = 0x110000
#: Longest outline of the server, in characters.
TEXT_CHARACTERS = 100_000


class _Unicode:
    """All characters, as the alphabet of a text: `spaces.Text` would list each of them."""

    def __len__(self) -> int:
        return END

    def __contains__(self, character: object) -> bool:
        return isinstance(character, str) and len(character) == 1

    def __getitem__(self, index: int) -> str:
        return chr(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unicode)

    def __hash__(self) -> int:
        return END


class AnyText(spaces.Text):
    """Any text of Unicode up to a length. It is a `Text`, so that vector environments can share it between processes."""

    def __init__(self, max_length: int = TEXT_CHARACTERS, seed: int | None = None):
        super().__init__(max_length, min_length=0, charset="a", seed=seed)
        self._char_set = self._char_list = _Unicode()

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if mask is not None or probability is not None:
            raise ValueError("this space samples by no mask")
        return "".join(chr(int(code)) for code in self.np_random.integers(32, 127, min(12, self.max_length)))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def character_index(self, char: str) -> numpy.int32:
        return numpy.int32(ord(char))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"


# Gymnasium goes through a text character by character; for 100,000 of them in each step that is too slow.
@flatten.register(AnyText)
def _flatten_text(space: AnyText, x: str) -> numpy.ndarray:
    codes = numpy.frombuffer(x.encode("utf-32-le", "surrogatepass"), numpy.int32)
    filled = numpy.full(space.max_length, END, numpy.int32)
    filled[: len(codes)] = codes
    return filled


# The texts of a batch are an array of objects, as Gymnasium makes it of the texts in `infos`: a mask picks from it. (A tuple, which
# `Text` gets, has no masks, and reads as a structure of its own.)
@concatenate.register(AnyText)
def _concatenate_texts(space: AnyText, items: Any, out: Any) -> numpy.ndarray:
    return _texts(list(items))


class _SharedTexts:
    """The texts that now stand in shared memory. `AsyncVectorEnv` reads an observation once, when it is made, and trusts that what it
    read is a view (gymnasium 1.4.0): a text of `spaces.Text` stays as it was then. This one is a view, and its copy is an array."""

    def __init__(self, rows: numpy.ndarray):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self.__array__()[index]

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        return _texts([row[row < END].tobytes().decode("utf-32-le", "surrogatepass") for row in self._rows])

    def __deepcopy__(self, memo: Any) -> numpy.ndarray:
        return self.__array__()


@read_from_shared_memory.register(AnyText)
def _read_text(space: AnyText, shared_memory: Any, n: int = 1) -> _SharedTexts:
    return _SharedTexts(numpy.frombuffer(shared_memory.get_obj(), numpy.int32).reshape((n, space.max_length)))


def _texts(listed: list[str]) -> numpy.ndarray:
    texts = numpy.empty(len(listed), object)
    texts[:] = listed
    return texts


class Actions(spaces.Space):
    """One action as a dictionary, several as a list, an object of `/step`, all of it as JSON in a text, or the end of the episode
    as `DONE`, `FAIL` or `{"answer": …}`.

    `sample` clicks somewhere on the screen."""

    def __init__(self, width: int, height: int, seed: int | None = None):
        self._width, self._height = width, height
        super().__init__(None, None, seed)

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        x, y = int(self.np_random.integers(self._width)), int(self.np_random.integers(self._height))
        return {"do": "click", "at": {"point": {"x": x, "y": y}}}

    def contains(self, x: Any) -> bool:
        try:
            step_of(x)
        except ValueError:
            return False
        return True

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Actions) and (self._width, self._height) == (other._width, other._height)

    def __repr__(self) -> str:
        return f"Actions({self._width}, {self._height})"


#: The keys of a step as the server takes it.
STEP_KEYS = {"actions", "answer", "gave_up", "done"}


def step_of(action: Any) -> dict[str, Any]:
    """Turns an action into the body of a step.

    Raises `ValueError` for what is none."""
    if isinstance(action, str):
        if action in ENDINGS:
            return dict(ENDINGS[action])
        try:
            action = json.loads(action)
        except ValueError:
            raise ValueError(f"a text is DONE, FAIL, or an action as JSON, not {action[:100]!r}") from None
        if isinstance(action, str):
            return step_of(action) if action in ENDINGS else step_of(None)
    if isinstance(action, (list, tuple)):
        wrong = [one for one in action if not (isinstance(one, dict) and "do" in one)]
        if wrong:
            raise ValueError(f"each action of a list is a dictionary with `do`, not {wrong[0]!r}")
        return {"actions": list(action)}
    if not isinstance(action, dict):
        raise ValueError(f'an action is a dictionary such as {{"do": "click", "at": {{"ref": "n3"}}}}, not {action!r}')
    if "do" in action:
        return {"actions": [action]}
    unknown = set(action) - STEP_KEYS
    if unknown or not action:
        raise ValueError(f"an action has `do`, or some of {', '.join(sorted(STEP_KEYS))}; this has {sorted(action)}")
    return dict(action)


ENDINGS: dict[str, dict[str, Any]] = {"DONE": {"done": True}, "FAIL": {"gave_up": True}}
