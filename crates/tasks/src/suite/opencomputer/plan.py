"""Prints, as JSON, how OpenComputer's own evaluation code would prepare and start each of its tasks.

    plan.py CLONE

It runs the session of that code for each task against a sandbox that only records what it is asked to do. Nothing that the
code says about a program is repeated here. A clone of another form ends it with code 3 and the reason.
"""

import contextlib
import io
import json
import os
import re
import sys
import time
from pathlib import Path

CLONE = Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(CLONE))
# What a ready check may look for in the output of its commands, with the condition of a setup step that says the same.
ANSWERS = [("1", {"returncode": 0}), ("OK", {"stdout": "OK"}), ("[", {"stdout": "["})]
SYSTEM = ("/usr/bin/", "/bin/", "/usr/local/bin/")


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(3)


class Clock:
    """Time that passes only while something waits, so that a check that never holds ends at once."""

    now = 1_700_000_000.0

    @classmethod
    def sleep(cls, seconds=0.0):
        cls.now += max(seconds, 0.01)

    @classmethod
    def time(cls):
        cls.now += 0.01
        return cls.now


def load():
    """Imports the parts of the evaluation code that are used here, or says which is missing."""
    try:
        from computer_env.backends.base import CommandExitException
        from evaluation.apps import launcher_contract, registry, utils
        from evaluation.runtime import run_config, sandbox_session
    except Exception as error:
        refuse(f"evaluation: it cannot be imported: {type(error).__name__}: {error}")
    wanted = [
        (sandbox_session, ["setup_sandbox_session", "create_env", "upload_verifier", "upload_task_env_files", "launch_app",
                           "wait_for_app_window_ready"]),
        (utils, ["_normalized_window_tokens", "WINDOW_MIN_VISIBLE_WIDTH", "WINDOW_MIN_VISIBLE_HEIGHT", "build_command"]),
        (registry, ["get_app_spec"]),
        (run_config, ["DISPLAY_WIDTH", "DISPLAY_HEIGHT", "DEFAULT_MAX_ITERATIONS"]),
        (launcher_contract, ["WRAPPER_SPECS"]),
    ]
    for module, names in wanted:
        for name in names:
            if not hasattr(module, name):
                refuse(f"{Path(module.__file__).relative_to(CLONE)}: it has no {name}")
    return CommandExitException, launcher_contract, registry, utils, run_config, sandbox_session


ENDED, contract, registry, utils, config, session = load()
time.sleep, time.time = Clock.sleep, Clock.time


class Output:
    """A command's output. Whoever reads it decides by what a plan cannot know."""

    def __init__(self, sandbox, text):
        self.sandbox, self.text, self.stderr, self.exit_code = sandbox, text, "", 0

    @property
    def stdout(self):
        if not self.sandbox.checking:
            self.sandbox.asked = True
        return self.text


class Sandbox:
    """Records what the session asks for. `fails` is the number of a command that fails, `answer` what ready checks get."""

    def __init__(self, answer, fails=None):
        self.answer, self.fails = answer, fails
        self.steps, self.runs, self.checks = [], 0, []
        self.checking = self.asked = False
        self.commands = self.files = self.stream = self

    def start(self, **_):
        pass

    def get_url(self, **_):
        return ""

    def kill(self):
        pass

    def run(self, command, timeout=None, background=False, **_):
        if self.checking:
            if command not in self.checks:
                self.checks.append(command)
            return Output(self, self.answer)
        self.steps.append({"do": "launch" if background else "run", "command": command})
        if not background:
            self.steps[-1]["number"] = self.runs
            self.runs += 1
            if self.fails == self.steps[-1]["number"]:
                raise ENDED(command, 1)
        return Output(self, "")

    def write(self, path, data):
        if isinstance(data, bytes):
            data = data.decode()
        self.steps.append({"do": "write", "path": path, "text": data})

    def remove(self, path):
        self.steps.append({"do": "run", "command": f"rm -f -- '{path}'"})

    def read(self, path, **_):
        self.asked = True
        return ""


def task_files(sandbox, task):
    """The task's files, in place of the session's own upload, which reads them into memory."""
    folder = CLONE / "tasks" / task["id"] / "env"
    entries = (task.get("env") or {}).get("files") or []
    for entry in entries:
        if not (folder / entry["filename"]).resolve().is_relative_to(folder):
            raise LookupError(f"its start file {entry['filename']} is outside its folder")
    missing = [entry["filename"] for entry in entries if not (folder / entry["filename"]).is_file()]
    for entry in entries:
        if entry["filename"] not in missing:
            local = (folder / entry["filename"]).relative_to(CLONE)
            sandbox.steps.append({"do": "file", "local": str(local), "path": entry["sandbox_path"]})
    if not missing:
        return
    script = folder / "create_env.py"
    if not script.is_file():
        raise LookupError(f"its start file {missing[0]} is missing")
    sandbox.steps.append({"do": "file", "local": str(script.relative_to(CLONE)), "path": "/tmp/create_env.py"})
    sandbox.steps.append({"do": "run", "command": "python3 /tmp/create_env.py"})
    made = [entry["sandbox_path"] for entry in entries if entry["filename"] in missing]
    sandbox.steps += [{"do": "run", "command": f"test -e '{path}'"} for path in made]


def launcher(binary, *arguments):
    """The command of a program with the arguments of its wrapper, which the image has in /usr/local/bin and a world has not."""
    name = Path(binary).name
    wrapper = next((one for one in contract.WRAPPER_SPECS if one.name == name), None)
    if wrapper is None:
        return plain_command(binary, *arguments)
    target = str(wrapper.target)
    # Elsewhere the image has unpacked what no package installs: there, the program goes by the wrapper's own name.
    program = Path(target).name if "/" not in target or target.startswith(SYSTEM) else name
    return plain_command(program, *wrapper.base_args, *arguments)


plain_command = utils.build_command
for module in [one for name, one in sys.modules.items() if name.startswith("evaluation.apps")]:
    for name in ("build_command", "build_launcher_command"):
        if hasattr(module, name):
            setattr(module, name, launcher)

windows = []


def wait_for_window(context):
    size = getattr(utils, "WINDOW_MIN_VISIBLE_SIZE_OVERRIDES", {}).get(
        context.app_spec.app_id, (utils.WINDOW_MIN_VISIBLE_WIDTH, utils.WINDOW_MIN_VISIBLE_HEIGHT)
    )
    windows.append({"tokens": utils._normalized_window_tokens(context), "size": list(size)})
    return True


def launch(context, launch_app=session.launch_app):
    launch_app(context)
    context.sandbox.checking = True


session.upload_verifier = lambda *_: None
session.upload_task_env_files = task_files
session.wait_for_app_window_ready = wait_for_window
session.launch_app = launch
for told in ("format_app_log_excerpt", "describe_windows"):
    if hasattr(session, told):
        setattr(session, told, lambda *_, **__: "")


def record(task, answer, fails=None):
    sandbox = Sandbox(answer, fails)
    session.create_env = lambda **_: sandbox
    with contextlib.redirect_stdout(io.StringIO()):
        session.setup_sandbox_session(task["app"], task)
    return sandbox


def checked(task):
    """Returns a recording with the ready check's commands and the condition under which they hold."""
    try:
        return record(task, ""), [], None
    except LookupError:
        raise
    except Exception as error:
        failure = error
    tried = Sandbox("")
    session.create_env = lambda **_: tried
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        session.setup_sandbox_session(task["app"], task)
    if not tried.checking:
        raise failure
    for answer, condition in ANSWERS:
        with contextlib.suppress(Exception):
            return record(task, answer), tried.checks, condition
    raise LookupError(f"its ready check asks for what no plan tells: {tried.checks}")


def seeds(app):
    """What the image's start script puts into the home for a program: its functions `seed_PROGRAM_profile`."""
    script = CLONE / "computer_env" / "provision" / "docker" / "entrypoint.sh"
    text = script.read_text() if script.is_file() else ""
    for found in re.finditer(r"^(seed_(\w+)_profile)\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL):
        if app.startswith(found[2]):
            yield {"do": "run", "command": f"set -euo pipefail\n{found[0]}{found[1]}"}


def plan(task):
    spec = registry.get_app_spec(task["app"])
    verifier = Path(spec.verifier_local)
    if not verifier.is_file():
        raise LookupError(f"its verifier {verifier.relative_to(CLONE)} is missing")
    windows.clear()
    sandbox, checks, condition = checked(task)
    answer = next((text for text, one in ANSWERS if one == condition), "")
    for step in sandbox.steps:
        number = step.pop("number", None)
        if number is not None:
            try:
                record(task, answer, number)
                step["may_fail"] = True
            except Exception:
                pass
    hints = {name: list(words) for name, words in (spec.save_window_hints or {}).items()}
    save = {"shortcut": spec.save_shortcut, "name": spec.save_window_name or task["app"], "app": task["app"], "hints": hints}
    return {
        "id": task["id"],
        "app": task["app"],
        "instruction": task["task"],
        "steps": [*seeds(task["app"]), *sandbox.steps],
        "ready": {"commands": checks, "until": condition} if checks else None,
        "window": windows[-1],
        "save": save if spec.save_shortcut else None,
        "verifier": str(verifier.relative_to(CLONE)),
        "verifier_path": str(spec.verifier_remote),
        "guesses": sandbox.asked,
        "checks": task["verification"],
    }


def main():
    tasks, left_out = [], []
    for path in sorted((CLONE / "tasks").glob("*/task.json")):
        try:
            task = json.loads(path.read_text())
            if not re.fullmatch(r"[A-Za-z0-9_.-]+", task["id"]):
                raise LookupError(f"its id {task['id']!r} is no plain name")
            tasks.append(plan(task))
        except Exception as error:
            why = str(error.args[0]) if isinstance(error, LookupError) and error.args else f"{type(error).__name__}: {error}"
            left_out.append({"task": path.parent.name, "why": why})
    screen = {"width": config.DISPLAY_WIDTH, "height": config.DISPLAY_HEIGHT}
    print(json.dumps({"screen": screen, "steps": config.DEFAULT_MAX_ITERATIONS, "tasks": tasks, "left_out": left_out}))


main()
