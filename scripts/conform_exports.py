"""Exports a sample run and one that the program made itself, and opens both with the programs that the formats are for."""

import base64
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM, SAMPLE, WORK, GUIDE = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
BIN = Path(sys.executable).parent
FORMATS = ["osworld", "csv", "openai", "sharegpt", "parquet", "atif", "inspect", "otel"]
# What the sample run says, and the program that recorded it did not know as a key (`tests/it/sample.rs`).
SECRET = "a-key-that-only-the-exporter-knows"


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
        sys.path.insert(0, checkout)
        import show_result

        for model in kind.iterdir():
            found = show_result.get_result(space.name, model.name, kind.name, str(folder))
            assert found, model
    return {app: sum(one) / len(one) for app, one in scores.items()}


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
    assert found
    for path in found:
        dumped = json.loads(run(BIN / "inspect", "log", "dump", path))
        assert dumped["samples"] and dumped["results"]["scores"][0]["name"] == "checks"
        header = json.loads(run(BIN / "inspect", "log", "dump", "--header-only", path))
        assert header["eval"]["model"] == dumped["eval"]["model"] and not header.get("samples")
    run(BIN / "inspect", "log", "convert", "--to", "eval", "--output-dir", WORK / f"eval-{folder.parent.name}", found[0])
    from inspect_ai.log import read_eval_log

    log = read_eval_log(str(next((WORK / f"eval-{folder.parent.name}").glob("*.eval"))))
    assert log.version == 2 and log.samples[0].messages


def otel(folder):
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    ids, parents, traces = set(), set(), set()
    for line in lines(folder / "traces.jsonl"):
        # OTLP in JSON has ids in hexadecimal, and the messages of protobuf have them in Base64.
        for resource in line["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for name, length in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
                        if name in span:
                            number = bytes.fromhex(span[name])
                            assert len(number) == length
                            span[name] = base64.b64encode(number).decode()
        data = json_format.ParseDict(line, TracesData())
        for span in data.resource_spans[0].scope_spans[0].spans:
            assert span.span_id not in ids and span.start_time_unix_nano <= span.end_time_unix_nano
            ids.add(span.span_id)
            traces.add(span.trace_id)
            parents |= {span.parent_span_id} - {b""}
    assert len(traces) == 1 and parents <= ids, "one trace, and every parent is there"


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
        otel(WORK / name / "otel")
    guide(made, WORK / "own")
    assert not (WORK.parent / "evil").exists() and not (WORK / "evil").exists()
    print("every export was opened by the other side")


main()
