"""Validates recorded requests and replies by the types of the vendors' own SDKs, extra fields forbidden.

    conformance.py FOLDER

FOLDER holds files named `<provider>.<what>.<n>.request.json` and `….reply.json`. Fields that a vendor documents and
its SDK does not know stand in ALLOWED, each with its source.
"""

import copy
import json
import pathlib
import re
import sys

import anthropic
import openai
from anthropic.types import Message
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as AnthropicBeta
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Anthropic
from google import genai
from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteractionParam as Gemini
from google.genai._gaos.types.interactions.interaction import Interaction
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Chat
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Responses
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

# (provider, field, where it stands): documented by the vendor, unknown to the SDK.
ALLOWED = {
    # https://developers.openai.com/api/docs/guides/tools-computer-use shows `detail: "original"` on screenshots.
    ("openai", "detail"): {"type": "computer_screenshot"},
}
# Below these names anything may stand: schemas of ours, and what a model wrote. Google's SDK takes any form of answer.
FREE = {"input_schema", "schema", "parameters", "arguments", "response_format"}
# The SDK spells this field with an underscore in Python and without one on the wire.
SPELLED = {("gemini", "schema"): "schema_"}


def tighten(schema):
    """Forbids extra fields and lenient readings everywhere below a core schema."""
    if isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "typed-dict" and "extras_schema" not in schema:
            schema["extra_behavior"] = "forbid"
        if kind == "model":
            # A type of replies among those of requests: it would take any object, whatever this schema says.
            kept = {name: schema[name] for name in ("cls", "ref") if name in schema}
            schema.clear()
            schema.update(kept, type="is-instance")
            return
        if kind == "generator":
            schema["type"] = "list"
        for value in list(schema.values()):
            tighten(value)
    elif isinstance(schema, (list, tuple)):
        for value in schema:
            tighten(value)


def strict(kind):
    # In a list, so that types of files, which no JSON can hold, are let be instead of refused.
    adapter = TypeAdapter(list[kind], config=ConfigDict(arbitrary_types_allowed=True))
    schema = copy.deepcopy(adapter.core_schema)
    tighten(schema)
    validator = SchemaValidator(schema)
    return lambda body: validator.validate_python([body])


def adapted(provider, value):
    """The body without fields that are allowed, and with fields spelled as the SDK has them."""
    if isinstance(value, list):
        return [adapted(provider, item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, inner in value.items():
        where = ALLOWED.get((provider, name))
        if where is not None and all(value.get(key) == word for key, word in where.items()):
            continue
        kept[SPELLED.get((provider, name), name)] = adapted(provider, inner)
    return kept


def places(value, place=()):
    """Where the objects of a body stand, but those in which anything may stand."""
    if isinstance(value, dict):
        if value.get("role") == "assistant" or value.get("type") == "tool_use":
            return
        yield place
        inner = [(name, one) for name, one in value.items() if name not in FREE]
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from places(one, (*place, name))


def lets_pass(validate, body):
    """The places of a valid body at which the validator lets a field pass that does not exist: there are to be none."""
    for place in places(body):
        wrong = copy.deepcopy(body)
        spot = wrong
        for name in place:
            spot = spot[name]
        spot["no_such_field"] = 1
        try:
            validate(wrong)
        except ValidationError:
            continue
        yield ".".join(map(str, place))


def member(block):
    """The SDK's type of what a toolset's member is given: blocks themselves are read leniently."""
    words = "".join(word.capitalize() for word in [block["toolset_name"], *block["name"].split("_"), "input"])
    return getattr(anthropic.types, words)


def message(body):
    for block in body["content"]:
        if block.get("toolset_name"):
            member(block).model_validate(block["input"], extra="forbid")
    Message.model_validate(body)


def deepest(error):
    """The most particular complaints of a long list that unions make."""
    errors = sorted(error.errors(include_url=False, include_input=False), key=lambda one: -len(one["loc"]))
    places = [re.sub(r"union\[[^\]]*\]", "union", ".".join(map(str, one["loc"]))) for one in errors]
    return "\n".join(f"    {place}: {one['msg']}" for place, one in list(zip(places, errors))[:4])


def main(folder):
    requests = {
        "anthropic": strict(Anthropic),
        "anthropic-beta": strict(AnthropicBeta),
        "openai": strict(Responses),
        "compat": strict(Chat),
        "gemini": strict(Gemini),
    }
    replies = {
        "anthropic": message,
        "openai": Response.model_validate,
        "compat": ChatCompletion.model_validate,
        "gemini": Interaction.model_validate,
    }
    counted, wrong = {}, 0
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        provider, what = path.name.split(".")[0], path.name.split(".")[-2]
        body = json.loads(path.read_text())
        validate = replies.get(provider) if what == "reply" else requests[provider]
        if what == "request" and provider == "anthropic":
            tools = [tool.get("type", "") for tool in body.get("tools", [])]
            beta = "context_management" in body or any(kind.startswith("computer_2025") for kind in tools)
            validate = requests["anthropic-beta" if beta else "anthropic"]
        try:
            body = adapted(provider, body) if what == "request" else body
            validate(body)
            for place in lets_pass(validate, body) if what == "request" else ():
                wrong += 1
                print(f"{path.name}: at {place or 'the top'} the check itself lets anything pass")
            counted[provider, what] = counted.get((provider, what), 0) + 1
        except ValidationError as error:
            wrong += 1
            print(f"{path.name} is not as the SDK has it:\n{deepest(error)}")
    print(f"anthropic {anthropic.__version__}, openai {openai.__version__}, google-genai {genai.__version__}")
    for (provider, what), number in sorted(counted.items()):
        print(f"{provider:10} {what:8} {number:3} are as the SDK has them")
    missing = [name for name in replies if (name, "request") not in counted]
    if missing:
        print(f"no valid request of: {', '.join(missing)}")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
