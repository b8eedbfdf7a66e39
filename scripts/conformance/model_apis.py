"""Validates recorded requests and replies by the types of the vendors' own SDKs, extra fields forbidden.

    conformance.py FOLDER

FOLDER holds files named `<provider>.<what>.<n>.request.json`, `….reply.json`, and `….events.json` for a stream. Fields that a vendor documents and
its SDK does not know stand in ALLOWED, each with its source.
"""

import base64
import copy
import http.server
import json
import pathlib
import re
import sys
import threading

import anthropic
import openai
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as AnthropicBeta
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Anthropic
from anthropic.types.message_create_params import MessageCreateParamsStreaming as AnthropicStream
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from anthropic.types.messages.batch_create_params import BatchCreateParams as AnthropicBatch
from botocore.eventstream import EventStreamBuffer
from google import genai
from google.auth.credentials import Credentials
from google.genai._gaos.lib.compat_errors import BadRequestError as GoogleRefused
from google.genai._gaos.types.interactions.createmodelinteraction import CreateModelInteractionParam as Gemini
from google.genai._gaos.types.interactions.interaction import Interaction
from google.genai._gaos.types.interactions.interactionsseevent import InteractionSSEEvent
from google.genai.types import HttpOptions
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types import Batch
from openai.types.batch_create_params import BatchCreateParams as OpenAiBatch
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Chat
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming as ChatStream
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming as Responses
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming as ResponsesStream
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

# (provider, field, where it stands): documented by the vendor, unknown to the SDK.
ALLOWED = {
    # https://developers.openai.com/api/docs/guides/tools-computer-use shows `detail: "original"` on screenshots.
    ("openai", "detail"): {"type": "computer_screenshot"},
}
# Below these names anything may stand: schemas of ours, and what a model wrote. Google's SDK takes any form of answer.
FREE = {"input_schema", "schema", "parameters", "arguments", "response_format"}
# Headers that say who asks, and for which API.
KEYS = ("authorization", "api-key", "x-api-key", "anthropic-version")
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


def anthropic_stream(events):
    snapshot, inputs = None, {}
    for event in events:
        # The SDK drops pings before it reads them.
        if event["type"] != "ping":
            event = TypeAdapter(RawMessageStreamEvent).validate_python(event)
            snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=inputs)
    return snapshot.to_dict(mode="json")


def chat_stream(events):
    state = ChatCompletionStreamState()
    for event in events:
        state.handle_chunk(ChatCompletionChunk.model_validate(event))
    return state.current_completion_snapshot.to_dict(mode="json")


def openai_stream(events):
    read = [TypeAdapter(ResponseStreamEvent).validate_python(event) for event in events]
    return read[-1].response.to_dict(mode="json")


def gemini_stream(events):
    for event in events:
        read = TypeAdapter(InteractionSSEEvent).validate_python(event)
        # The SDK takes events that it does not know, and marks them.
        if getattr(read, "is_unknown", False) or getattr(getattr(read, "delta", None), "is_unknown", False):
            raise ValueError(f"the SDK knows no such event: {event}")
    return None


def ask(port):
    """What each vendor's own client sends for the requests that the platforms' tests keep, by their names."""
    base, said, of_azure = f"http://127.0.0.1:{port}", [{"role": "user", "content": "x"}], "2026-10-01-preview"
    key = "planted-key-7731"
    azure = openai.AzureOpenAI(azure_endpoint=base, api_key=key, api_version=of_azure, max_retries=0)
    by_token = openai.AzureOpenAI(azure_endpoint=base, azure_ad_token=key, api_version=of_azure, max_retries=0)
    plain = openai.OpenAI(base_url=f"{base}/openai/v1", api_key=key, default_headers={"api-key": key}, max_retries=0)
    vertex = anthropic.AnthropicVertex(
        region="us-east5", project_id="proj", access_token=key, base_url=f"{base}/v1", max_retries=0)
    bedrock = anthropic.AnthropicBedrock(aws_region="us-east-1", api_key=key, base_url=base, max_retries=0)
    gemini = genai.Client(vertexai=True, project="proj", location="us-east5", credentials=Token(key),
                          http_options=HttpOptions(base_url=base))
    message = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": said}
    return {
        "azure": lambda: azure.responses.create(model="gpt-6.1-sol", input="x", stream=True),
        "azure-v1": lambda: plain.responses.create(model="gpt-6.1-sol", input="x"),
        "azure-token": lambda: by_token.responses.create(model="gpt-6.1-sol", input="x"),
        "azure-chat": lambda: azure.chat.completions.create(model="m", messages=said),
        "vertex": lambda: vertex.messages.create(**message),
        "vertex-stream": lambda: vertex.messages.create(**message, stream=True),
        "vertex-gemini": lambda: gemini.interactions.create(model="gemini-3.8-flash", input="x"),
        "bedrock": lambda: bedrock.messages.create(**message),
        "bedrock-stream": lambda: bedrock.messages.create(**message, stream=True),
    }


class Token(Credentials):
    """A token that is valid for ever."""

    expired, valid = False, True

    def __init__(self, token):
        super().__init__()
        self.token = token

    def refresh(self, _):
        pass


class Recorder(http.server.BaseHTTPRequestHandler):
    """Keeps the latest request and refuses it."""

    heard = None

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        type(self).heard = {"path": self.path, "headers": headers, "body": body}
        self.send_response(400)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def platforms(folder):
    """Compares our requests to other platforms with those of the vendors' clients; returns how many differ."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wrong = 0
    asking = ask(server.server_port)
    for name, call in asking.items():
        try:
            call()
        except (anthropic.APIStatusError, openai.APIStatusError, GoogleRefused):
            pass
        ours, theirs = json.loads((folder / f"{name}.platform.json").read_text()), Recorder.heard
        # OpenAI's client for Azure's newest addresses adds its own header for keys.
        of = [header for header in KEYS if not (name == "azure-v1" and header == "authorization")]
        pick = lambda heard: {header: heard["headers"].get(header) for header in of}
        fields = lambda heard: {field: heard["body"].get(field) for field in ("model", "stream", "anthropic_version")}
        same = (ours["path"], pick(ours), fields(ours)) == (theirs["path"], pick(theirs), fields(theirs))
        if not same:
            wrong += 1
            print(f"{name}: we send {ours['path']} {pick(ours)} {fields(ours)},")
            print(f"    the vendor's client {theirs['path']} {pick(theirs)} {fields(theirs)}")
    print(f"platforms  request  {len(asking) - wrong} are addressed as the SDKs do")
    server.shutdown()
    return wrong


def entry(body):
    """One line of the file that an OpenAI batch is made of."""
    given = {name: body[name] for name in ("custom_id", "method", "url")}
    if set(body) != {*given, "body"} or given["method"] != "POST" or given["url"] != "/v1/responses":
        raise ValueError(f"not a line of a batch: {given}")
    strict(Responses)(body["body"])


def batches(folder):
    """Validates batches: what creates them, how they are described, and their answers; returns how many are wrong."""
    kinds = {
        ("anthropic", "batchrequest"): strict(AnthropicBatch),
        ("anthropic", "batchreply"): MessageBatch.model_validate,
        ("anthropic", "batchline"): MessageBatchIndividualResponse.model_validate,
        ("openai", "batchrequest"): strict(OpenAiBatch),
        ("openai", "batchentry"): entry,
        ("openai", "batchreply"): Batch.model_validate,
    }
    seen, wrong = set(), 0
    for path in sorted(folder.glob("*.batch.*.json")):
        kind = (path.name.split(".")[0], path.name.split(".")[-2])
        try:
            kinds[kind](json.loads(path.read_text()))
            seen.add(kind)
        except ValidationError as error:
            wrong += 1
            print(f"{path.name} is not as the SDK has it:\n{deepest(error)}")
    missing = [" ".join(kind) for kind in kinds if kind not in seen]
    print(f"batches    {len(seen)} of {len(kinds)} kinds are as the SDKs have them {missing or ''}")
    return wrong + len(missing)


def frames(folder):
    """Has botocore read the frames that the tests of Bedrock's streams write; returns how many differ."""
    reader = EventStreamBuffer()
    reader.add_data((folder / "bedrock.frames").read_bytes())
    told = [json.loads(base64.b64decode(json.loads(frame.payload)["bytes"])) for frame in reader]
    right = told == json.loads((folder / "bedrock.frames.events").read_text())
    print(f"bedrock    {len(told)} frames are {'as botocore has them' if right else 'read otherwise by botocore'}")
    return 0 if right else 1


def unlike(told, whole, place=""):
    """Where the reply that the SDK puts together differs from the whole one. What only the SDK adds does not count."""
    if isinstance(whole, dict) and isinstance(told, dict):
        for name, value in whole.items():
            if value is not None:
                yield from unlike(told.get(name), value, f"{place}.{name}")
    elif isinstance(whole, list) and isinstance(told, list) and len(told) == len(whole):
        for number, (one, other) in enumerate(zip(told, whole)):
            yield from unlike(one, other, f"{place}.{number}")
    elif told != whole and place not in (".object", ".parsed"):
        yield f"{place}: {told!r} instead of {whole!r}"


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
    streams = {
        "anthropic": anthropic_stream,
        "openai": openai_stream,
        "compat": chat_stream,
        "gemini": gemini_stream,
    }
    streamed = {
        "anthropic": strict(AnthropicStream),
        "openai": strict(ResponsesStream),
        "compat": strict(ChatStream),
        "gemini": strict(Gemini),
    }
    counted, wrong = {}, 0
    wrong += platforms(pathlib.Path(folder)) + batches(pathlib.Path(folder)) + frames(pathlib.Path(folder))
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        if path.name.endswith(".platform.json") or ".batch." in path.name:
            continue
        provider, what = path.name.split(".")[0], path.name.split(".")[-2]
        body = json.loads(path.read_text())
        if what == "events":
            whole = json.loads(path.with_name(path.name.replace(".events.", ".reply.")).read_text())
            told = streams[provider](body)
            for difference in unlike(told, whole) if told is not None else ():
                wrong += 1
                print(f"{path.name}: the SDK puts it together otherwise: {difference}")
            counted[provider, what] = counted.get((provider, what), 0) + 1
            continue
        validate = replies.get(provider) if what == "reply" else requests[provider]
        if what == "request" and provider == "anthropic":
            tools = [tool.get("type", "") for tool in body.get("tools", [])]
            beta = "context_management" in body or any(kind.startswith("computer_2025") for kind in tools)
            validate = requests["anthropic-beta" if beta else "anthropic"]
        if what == "request" and body.get("stream"):
            validate = streamed[provider]
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
    missing = [f"{what} of {name}" for name in replies for what in ("request", "events") if (name, what) not in counted]
    if missing:
        print(f"nothing valid: {', '.join(missing)}")
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
