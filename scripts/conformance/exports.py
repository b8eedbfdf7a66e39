"""Exports a sample run and one that the program made itself, and opens both with the programs that the formats are for."""

import base64
import csv
import gzip
import http.server
import importlib.util
import json
import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM, SAMPLE, WORK, GUIDE = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
BIN = Path(sys.executable).parent
FORMATS = ["osworld", "csv", "openai", "sharegpt", "parquet", "atif", "inspect", "otel"]
# What the sample run says, and the program that recorded it did not know as a key (`tests/it/sample.rs`).
SECRET = "a-key-that-only-the-exporter-knows"
# Seconds that one wait for the collector may take.
DEADLINE = 60
# The applications that some versions of OSWorld's show_result.py cannot do without.
OSWORLD_APPS = ["chrome", "gimp", "libreoffice_calc", "libreoffice_impress", "libreoffice_writer", "thunderbird", "vlc", "vs_code"]


def run(*command, code=0, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == code, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def own_run():
    """Runs the rule-based explorer on two tasks in a world in memory."""
    entry = lambda name: {"role": "menuitem", "name": name, "click": [{"set": {"done": name}}]}
    care = {"role": "menuitem", "name": "Care", "items": [entry("Prune"), entry("Water")]}
    page = {"title": "=Garden <image>", "controls": [{"role": "menu", "name": "Beds", "items": [care]}]}
    scene = {"start": "main", "state": {"done": None}, "pages": {"main": page}}
    suite = WORK / "garden"
    (suite / "examples/beds").mkdir(parents=True)
    for name, text, wanted in [("prune", "Prune the roses.", "Prune"), ("water", "Water the beds.", "Water")]:
        expect = [{"key": ["values", "done"], "method": "eq", "ref": wanted}]
        task = {
            "id": name,
            "instruction": text,
            "evaluator": {
                "func": "check_json",
                "result": {"type": "vm_file", "path": "/state.json", "dest": "state.json"},
                "expected": {"type": "rule", "rules": {"expect": expect}},
            },
            "apprentice": {"environment": "scene", "template": name, "scene": scene},
        }
        (suite / f"examples/beds/{name}.json").write_text(json.dumps(task))
    (suite / "suite.json").write_text(json.dumps({"beds": ["prune", "water"]}))
    out = run(PROGRAM, "collect", suite, "--model", "builtin/explorer", "--out", WORK / "collected", "--json", cwd=WORK)
    manifest = json.loads(out)
    assert (manifest["schema"], manifest["exported"]) == ("apprentice.export/1", 2), manifest
    [made] = (WORK / "runs").iterdir()
    return made, suite


def images_open(folder):
    from PIL import Image

    count = 0
    for path in folder.rglob("*.png"):
        with Image.open(path) as image:
            image.load()
            count += 1
    return count


def osworld(folder):
    """What OSWorld's show_result.py does: the mean of result.txt by application, over the tasks that have one."""
    [space] = [path for path in folder.iterdir() if path.is_dir()]
    [kind] = space.iterdir()
    scores = {}
    for model in kind.iterdir():
        assert json.loads((model / "args.json").read_text())["action_space"] == space.name
        for app in (path for path in model.iterdir() if path.is_dir()):
            for task in app.iterdir():
                status = json.loads((task / "status.json").read_text())
                if (task / "result.txt").exists():
                    scores.setdefault(app.name, []).append(float((task / "result.txt").read_text()))
                else:
                    assert status["verdict"] == "void", task
                for line in lines(task / "traj.jsonl"):
                    picture = line.get("screenshot_file")
                    assert picture is None or (task / picture).is_file(), line
    assert scores, folder
    checkout = os.environ.get("APPRENTICE_OSWORLD")
    if checkout and (Path(checkout) / "show_result.py").is_file():
        as_osworld_reads(Path(checkout), folder)
    else:
        print("not read by OSWorld's show_result.py: APPRENTICE_OSWORLD names no checkout that has it")
    return {app: sum(one) / len(one) for app, one in scores.items()}


def as_osworld_reads(checkout, folder):
    """OSWorld's own script finds the same scores. It wants results of eight applications, which are added to a copy of the tree."""
    sys.path.insert(0, str(checkout))
    import show_result

    copy = WORK / "osworld-copies" / folder.parent.name
    shutil.copytree(folder, copy)
    for model in copy.glob("*/*/*/"):
        done = next(model.glob("*/*/result.txt"), None)
        if done is None:
            continue
        for app in OSWORLD_APPS:
            shutil.copytree(done.parent, model / app / "added")
        kind = model.parent
        own = sorted(float(path.read_text()) for path in model.glob("*/*/result.txt"))
        found = show_result.get_result(kind.parent.name, model.name, kind.name, str(copy))
        assert sorted(found) == own, (model, found, own)
        print("read by OSWorld's show_result.py:", model.name, len(found))


def tables(folder):
    import pandas

    trials = pandas.read_csv(folder / "trials.csv")
    steps = pandas.read_csv(folder / "steps.csv")
    assert len(trials) == len(lines(folder / "index.jsonl"))
    for path in (folder / "trials.csv", folder / "steps.csv"):
        with path.open(newline="") as file:
            for row in csv.reader(file):
                assert not any(cell[:1] in ("=", "+", "@", "\t", "\r") for cell in row), row
    for name in ("picture_before", "picture_after"):
        for picture in steps[name].dropna():
            assert (folder / picture).is_file(), picture
    clicks = steps[steps["action"] == "click"]
    assert len(clicks) and clicks["x"].notna().all(), "each click has its point"


def openai(folder):
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
    from pydantic import TypeAdapter

    messages = TypeAdapter(list[ChatCompletionMessageParam])
    tools = TypeAdapter(list[ChatCompletionToolParam])
    for path in folder.glob("*.jsonl"):
        for line in lines(path) if path.name != "index.jsonl" else []:
            parsed = messages.validate_python(line["messages"])
            # Some fields are lazy iterators; going through them validates them.
            for message in parsed:
                for field in ("content", "tool_calls"):
                    value = message.get(field)
                    list(value) if value is not None and not isinstance(value, str) else None
            tools.validate_python(line["tools"])
            roles = [message["role"] for message in line["messages"]]
            assert roles[:2] == ["system", "user"] and roles[-1] == "assistant", roles
            open_calls = set()
            for message in line["messages"]:
                for call in message.get("tool_calls", []):
                    json.loads(call["function"]["arguments"])
                    open_calls.add(call["id"])
                if message["role"] == "tool":
                    open_calls.remove(message["tool_call_id"])
                for part in message["content"] if isinstance(message["content"], list) else []:
                    if part["type"] == "image_url":
                        assert (folder / part["image_url"]["url"]).is_file(), part


def sharegpt(folder):
    for path in folder.glob("*.jsonl"):
        for line in lines(path) if path.name != "index.jsonl" else []:
            sides = [turn["from"] for turn in line["conversations"]]
            assert sides == ["human", "gpt"] * (len(sides) // 2), sides
            marks = sum(turn["value"].count("<image>") for turn in line["conversations"])
            assert marks == len(line["images"]) and line["system"], line
            assert all((folder / image).is_file() for image in line["images"])


def data_set(folder):
    from datasets import load_dataset

    loaded = load_dataset(str(folder))
    count = sum(len(part) for part in loaded.values())
    assert count == len(lines(folder / "index.jsonl")), loaded
    return sorted(loaded)


def parquet(folder, lines_folder):
    """The tables hold what the lines of the same run hold, and pictures that open, read by Arrow and by two data set readers."""
    import io

    import polars
    import pyarrow.parquet
    from datasets import Image, load_dataset
    from PIL import Image as Picture

    loaded = load_dataset(str(folder))
    assert sum(len(part) for part in loaded.values()) == len(lines(folder / "index.jsonl"))
    count = 0
    for path in folder.glob("*.parquet"):
        conversations = lines(lines_folder / f"{path.stem}.jsonl")
        rows = pyarrow.parquet.read_table(path).to_pylist()
        assert [row["trial"] for row in rows] == [line["metadata"]["trial"] for line in conversations]
        assert polars.read_parquet(path).height == len(rows)
        assert SECRET not in str(rows) and SECRET.encode() not in path.read_bytes()
        for row, line in zip(rows, conversations):
            assert json.loads(row["tools"]) == line["tools"] and row["reward"] in (0.0, 1.0), row
            wanted = []
            for told, message in zip(row["messages"], line["messages"], strict=True):
                parts = message["content"]
                parts = [{"type": "text", "text": parts}] * bool(parts) if isinstance(parts, str) else parts
                wanted += [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
                plain = [("image", None) if part["type"] == "image_url" else ("text", part["text"]) for part in parts]
                assert [(part["type"], part["text"]) for part in told["content"]] == plain, (told, message)
                assert told["role"] == message["role"] and told["tool_call_id"] == message.get("tool_call_id")
                assert told["tool_calls"] == message.get("tool_calls"), (told, message)
            assert len(row["images"]) == len(wanted), row["trial"]
            for image, place in zip(row["images"], wanted):
                assert image["bytes"] == (lines_folder / place).read_bytes() and place.endswith(image["path"])
                Picture.open(io.BytesIO(image["bytes"])).load()
                count += 1
    for part in loaded.values():
        feature = part.features["images"]
        assert isinstance(getattr(feature, "feature", feature), Image), part.features
        assert all(image.size[0] > 0 for row in part for image in row["images"])
    return sorted(loaded), count


def atif(folder):
    from harbor.models.trajectories.trajectory import Trajectory

    found = list(folder.glob("trajectories/*/trajectory.json"))
    assert len(found) == len(lines(folder / "index.jsonl"))
    for path in found:
        trajectory = Trajectory.model_validate_json(path.read_text())
        for picture in re.findall(r'"path": "([^"]+)"', path.read_text()):
            place = (path.parent / picture).resolve()
            assert place.is_file() and place.is_relative_to(folder.resolve()), picture
        assert any(step.source == "agent" for step in trajectory.steps)


def inspect(folder):
    found = [path for path in folder.glob("*.json") if path.name != "manifest.json"]
    # What `inspect view --log-dir` shows.
    listed = json.loads(run(BIN / "inspect", "log", "list", "--json", "--log-dir", folder))
    assert found and {Path(log["name"]).name for log in listed} == {path.name for path in found}, listed
    for path in found:
        dumped = json.loads(run(BIN / "inspect", "log", "dump", path))
        assert dumped["samples"] and dumped["results"]["scores"][0]["name"] == "checks"
        header = json.loads(run(BIN / "inspect", "log", "dump", "--header-only", path))
        assert header["eval"]["model"] == dumped["eval"]["model"] and not header.get("samples")
    run(BIN / "inspect", "log", "convert", "--to", "eval", "--output-dir", WORK / f"eval-{folder.parent.name}", found[0])
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(next((WORK / f"eval-{folder.parent.name}").glob("*.eval"))))
    assert log.version == 2 and log.samples[0].messages


def messages_of(line):
    """A line of OTLP in JSON as a message of protobuf: the former has ids in hexadecimal, the latter in Base64."""
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    for resource in line["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name, length in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
                    if name in span:
                        number = bytes.fromhex(span[name])
                        assert len(number) == length
                        span[name] = base64.b64encode(number).decode()
    return json_format.ParseDict(line, TracesData())


def spans_of(data):
    """Each span by its id, with the resource and the scope that it stands in."""
    found = {}
    for resource in data.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert span.span_id not in found, span
                found[span.span_id] = (resource.resource, resource.schema_url, scope.scope, scope.schema_url, span)
    return found


def otel(folder):
    parents, traces, sent = set(), set(), {}
    for line in lines(folder / "traces.jsonl"):
        for number, told in spans_of(messages_of(line)).items():
            span = told[-1]
            assert number not in sent and span.start_time_unix_nano <= span.end_time_unix_nano
            sent[number] = told
            traces.add(span.trace_id)
            parents |= {span.parent_span_id} - {b""}
    assert len(traces) == 1 and parents <= set(sent), "one trace, and every parent is there"
    attributes = [attribute for *_, span in sent.values() for attribute in span.attributes]
    kinds = {one.value.string_value for one in attributes if one.key == "gen_ai.operation.name"}
    assert {"invoke_workflow", "invoke_agent", "chat"} <= kinds, kinds
    taken = collector(folder)
    assert taken == sent, "the collector passes on each span as it was sent, with its name and attributes"
    return len(taken)


def collector(folder):
    """Sends each line to a collector as it stands, and returns the spans that the collector sends on."""
    received = queue.Queue()

    class Backend(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.put((self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend) as backend:
        threading.Thread(target=backend.serve_forever, daemon=True).start()
        try:
            return passed_on(folder, backend.server_port, received)
        finally:
            backend.shutdown()


def passed_on(folder, backend, received):
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    [package] = importlib.util.find_spec("rotel").submodule_search_locations
    ports = free_ports(2)
    options = {
        "otlp-http-endpoint": f"127.0.0.1:{ports[0]}",
        "otlp-grpc-endpoint": f"127.0.0.1:{ports[1]}",
        "exporter": "otlp",
        "otlp-exporter-protocol": "http",
        "otlp-exporter-endpoint": f"http://127.0.0.1:{backend}",
        "pid-file": WORK / "collector.pid",
        "log-file": WORK / "collector.log",
    }
    command = [Path(package) / "rotel-agent", "start", *(f"--{name}={value}" for name, value in options.items())]
    told = WORK / "collector.out"
    with told.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, env={}) as agent:
        try:
            listening(agent, ports[0], told)
            awaited, found = 0, {}
            for line in (folder / "traces.jsonl").read_text().splitlines():
                awaited += accepted(ports[0], line)
            until = time.monotonic() + DEADLINE
            while len(found) < awaited:
                path, body = received.get(timeout=max(0.0, until - time.monotonic()))
                assert path == "/v1/traces", path
                more = spans_of(ExportTraceServiceRequest.FromString(body))
                assert not found.keys() & more.keys(), "no span is sent on twice"
                found |= more
            agent.terminate()
            agent.wait(DEADLINE)
        finally:
            agent.kill()
    assert received.empty(), "the collector sent on more than it was given"
    return found


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def listening(agent, port, told):
    """Returns when the collector takes connections. Between two attempts it waits for the collector's end, which is an error."""
    until = time.monotonic() + DEADLINE
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), DEADLINE).close()
        except ConnectionRefusedError:
            assert time.monotonic() < until, told.read_text()
        try:
            raise AssertionError(f"the collector ended with {agent.wait(0.05)}: {told.read_text()}")
        except subprocess.TimeoutExpired:
            pass


def accepted(port, line):
    """Sends a line to the collector, which must accept the whole of it. Returns the number of its spans."""
    address = f"http://127.0.0.1:{port}/v1/traces"
    request = urllib.request.Request(address, line.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            partial = (json.loads(answer.read() or b"{}").get("partialSuccess")) or {}
            assert answer.status == 200 and not int(partial.get("rejectedSpans", 0)) and not partial.get("errorMessage"), partial
    except urllib.error.HTTPError as error:
        raise AssertionError(f"the collector refused a line: {error} {error.read()}") from error
    return sum(len(scope["spans"]) for resource in json.loads(line)["resourceSpans"] for scope in resource["scopeSpans"])


def guide(made, exported):
    """The examples of the guide, from a run and from its exports."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert blocks, "the guide has examples"
    for block in blocks:
        print(run(sys.executable, "-c", block, made, exported).strip())


def main():
    made, suite = own_run()
    for name, folder in (("sample", SAMPLE), ("own", made)):
        for form in FORMATS:
            out = WORK / name / form
            more = ["--suite", suite] if form == "osworld" and name == "own" else []
            more += ["--void"] if form == "osworld" else []
            run(PROGRAM, "export", folder, "--format", form, "--out", out, *more, env={**os.environ, "OPENAI_API_KEY": SECRET})
            assert (out / "README.md").read_text().startswith("---\n")
            pictures = images_open(out)
            assert form in ("inspect", "otel", "parquet") or name == "own" or pictures, out
        print(name, "osworld", osworld(WORK / name / "osworld"))
        tables(WORK / name / "csv")
        openai(WORK / name / "openai")
        sharegpt(WORK / name / "sharegpt")
        print(name, "data sets", data_set(WORK / name / "openai"), data_set(WORK / name / "sharegpt"))
        print(name, "parquet", *parquet(WORK / name / "parquet", WORK / name / "openai"))
        atif(WORK / name / "atif")
        inspect(WORK / name / "inspect")
        print(name, "spans through a collector", otel(WORK / name / "otel"))
    guide(made, WORK / "own")
    assert not (WORK.parent / "evil").exists() and not (WORK / "evil").exists()
    print("every export was opened by the other side")


main()
