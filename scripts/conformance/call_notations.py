"""Gives each text of a list to every parser of calls in SGLang's package. A parser that reads a call of the tool `computer`
in one of them must read the click that our reader reads.

    call_notations.py SGLANG TEXTS
"""

import importlib
import inspect
import json
import logging
import pathlib
import sys
import types
from dataclasses import dataclass, field
from unittest.mock import MagicMock

# Read the arguments or the blanks around a value as they stand, where ours, as most others, takes them apart.
KNOWN = {"MiMoDetector", "Spark25Detector"}
CLICK = {"action": "left_click", "ref": "n2"}
# What the parsers import and do not use when they parse.
UNUSED = ["xgrammar", "xgrammar.structural_tag", "msgspec", "sglang.srt.environ", "sglang.srt.entrypoints"]
OPENAI = "sglang.srt.entrypoints.openai"


@dataclass
class Function:
    name: str
    parameters: dict = field(default_factory=dict)
    strict: bool = False
    description: str = ""


@dataclass
class Tool:
    function: Function
    type: str = "function"
    defer_loading: bool = False


class Stand(types.ModuleType):
    """Stands for a module."""

    __path__: list = []

    def __getattr__(self, name):
        return MagicMock()


def parsers(folder: pathlib.Path) -> dict:
    for name in ("sglang", "sglang.srt", "sglang.srt.function_call"):
        package = types.ModuleType(name)
        package.__path__ = [str(folder.joinpath(*name.split(".")))]
        sys.modules[name] = package
    for name in [*UNUSED, OPENAI, f"{OPENAI}.protocol", f"{OPENAI}.encoding_dsv41"]:
        sys.modules[name] = Stand(name)
    protocol = sys.modules[f"{OPENAI}.protocol"]
    protocol.Tool, protocol.Function = Tool, Function
    home = "sglang.srt.function_call"
    base = importlib.import_module(f"{home}.base_format_detector").BaseFormatDetector
    found = {}
    for path in sorted(folder.joinpath(*home.split(".")).glob("*.py")):
        module = importlib.import_module(f"{home}.{path.stem}")
        for name, one in vars(module).items():
            if inspect.isclass(one) and issubclass(one, base) and one is not base and one.__module__ == module.__name__:
                found[name] = one
    return found


def reads(parser, text: str, tools: list) -> list:
    try:
        detector = parser()
        calls = detector.detect_and_parse(text, tools).calls if detector.has_tool_call(text) else []
    except Exception:  # a parser may fail at another's notation
        return []
    return [call.parameters for call in calls if call.name == "computer"]


def arguments(text: str):
    """The arguments, also where they are encoded twice."""
    value = json.loads(text)
    return json.loads(value) if isinstance(value, str) else value


def main(folder: str, texts: str) -> int:
    logging.disable(logging.CRITICAL)
    properties = {name: {"type": "string"} for name in CLICK}
    tools = [Tool(Function("computer", {"type": "object", "required": ["action"], "properties": properties}))]
    known = parsers(pathlib.Path(folder))
    texts = json.loads(pathlib.Path(texts).read_text())
    readers, read, otherwise = set(), 0, []
    for text in texts:
        by = 0
        for name, parser in known.items():
            found = reads(parser, text, tools)
            if len(found) == 1 and arguments(found[0]) == CLICK:
                readers.add(name)
                by += 1
            elif found and name not in KNOWN and json.loads(found[0]):
                otherwise.append(f"{name}: {text!r}: {found}")
        read += by > 0
    print(f"{read} of {len(texts)} notations are read alike by {len(readers)} of {len(known)} parsers")
    print("read none:", ", ".join(sorted(set(known) - readers)) or "-")
    for one in otherwise:
        print("READ OTHERWISE", one)
    return 1 if otherwise else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
