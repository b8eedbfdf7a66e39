"""Runs one check of an OpenComputer task: its verifier, then the comparison, as upstream's `verify_task` does.

It reads the case as JSON from standard input and prints what came of it. What is no work of the attempt (a verifier that hangs
or breaks, a program or a module that is not installed) is a "fault", where upstream counts a failed check.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

LIMIT = 30
KEPT = 8192
# What a model judges is kept whole, or is longer than any judge gets.
KEPT_FOR_JUDGE = 65536
SHOWN = 300

# Runs the verifier's source as its main module, and reports the modules and programs that it asks for and lacks. The source and the
# report are open files without a name, so that no other program changes them.
CHILD = r"""
def begin():
    import builtins, os, shutil, sys
    source, report, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with os.fdopen(source, "rb") as file:
        text = file.read().decode()
    code = compile(text, path, "exec")
    del sys.argv[:3]
    os.set_inheritable(report, False)
    imported, which = builtins.__import__, shutil.which

    def tell(kind, name):
        os.write(report, f"{kind} {name}\n".encode("utf-8", "replace"))

    def own_import(name, globals=None, locals=None, fromlist=(), level=0):
        # A module such as `uno` puts an import of its own in this place, which finds more than this one.
        own = builtins.__import__ is own_import and globals is not None and globals.get("__name__") == "__main__"
        try:
            module = imported(name, globals, locals, fromlist, level)
        except ImportError as error:
            if own:
                tell("module", error.name or name)
            raise
        if own and fromlist:
            for one in fromlist:
                if one != "*" and not hasattr(module, one):
                    tell("module", f"{name}.{one}")
        return module

    def own_which(name, *rest, **more):
        found = which(name, *rest, **more)
        if found is None:
            tell("absent", os.fspath(name))
        return found

    def heard(event, arguments):
        if event == "subprocess.Popen":
            program, words = arguments[0], arguments[1]
            words = [words] if isinstance(words, (str, bytes)) else list(words)
            words = [os.fsdecode(word) if not isinstance(word, str) else word for word in words]
            if len(words) > 2 and words[0].endswith("sh") and words[1] == "-c":
                tell("line", words[2].replace("\n", ";"))
            else:
                tell("program", os.fsdecode(program))

    def broken(kind, error, trace):
        import linecache, traceback
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        told = traceback.TracebackException(kind, error, trace)
        ahead = [told]
        while ahead:
            one = ahead.pop()
            # As if the verifier had been started by its name.
            one.stack[:] = [frame for frame in one.stack if frame.filename != "<string>"]
            ahead += [other for other in (one.__cause__, one.__context__) if other is not None]
        sys.stderr.write("".join(told.format()))

    sys.excepthook = broken
    builtins.__import__, shutil.which = own_import, own_which
    sys.addaudithook(heard)
    import __main__
    del __main__.begin
    __main__.__file__ = path
    return code

exec(begin())
"""


def run(case):
    """Runs the verifier; returns its code (None after the limit), what it wrote, and what it asked for."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as report:
        source.write(case["source"].encode())
        source.flush()
        source.seek(0)
        files = (source.fileno(), report.fileno())
        words = [sys.executable, "-c", CHILD, *map(str, files), case["path"],
                 *shlex.split(case["command"])]
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 pass_fds=files, start_new_session=True)
        try:
            out, err = child.communicate(timeout=LIMIT)
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            code = None
        report.seek(0)
        asked = report.read().decode("utf-8", "replace").splitlines()
    return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), asked


def lacking(asked):
    """What the verifier asked for and this world lacks, in the order of asking."""
    found = []
    for line in asked:
        kind, _, name = line.partition(" ")
        if kind == "module":
            found.append(f"the Python module {name}")
        elif kind == "absent":
            found.append(f"the program {name}")
        else:
            found += [f"the program {one}" for one in ([name] if kind == "program" else first_words(name)) if is_missing(one)]
    return list(dict.fromkeys(found))


def first_words(line):
    """The words of a shell's line that stand in the place of a command."""
    try:
        words = list(shlex.shlex(line, posix=True, punctuation_chars=True))
    except ValueError:
        return []
    before = [";", *words]
    starts = [word for last, word in zip(before, words) if last in ("|", "||", "&&", ";", "&", "do", "then", "else")]
    return [word for word in starts if re.fullmatch(r"[A-Za-z0-9_./+-]+", word)]


def is_missing(program):
    known = subprocess.run(["sh", "-c", 'command -v -- "$1"', "sh", program], capture_output=True)
    return known.returncode != 0


def is_file_missing(command):
    """Whether a file that the check names is not there: then the attempt has not made it, whatever else is lacking."""
    return any(word.startswith("/") and not os.path.exists(word) for word in shlex.split(command))


def answer(code, out, err, missing):
    """Returns the verifier's answer as upstream reads it, and the fault that kept it from a better one."""
    if code is None:
        return None, f"the verifier took more than {LIMIT} s"
    try:
        data = json.loads(out)
        is_json = True
    except ValueError:
        data, is_json = {"error": err[:SHOWN]}, False
    if is_json and not isinstance(data, dict):
        return data, None
    if missing and data.get("error"):
        return data, f"{missing[0]} is not installed, which the verifier needs"
    if is_json:
        return data, None
    last = next((line for line in reversed(err.splitlines()) if line.strip()), "")
    if code < 0:
        return data, f"the verifier was ended by signal {-code}"
    if missing:
        return data, f"{missing[0]} is not installed, which the verifier needs"
    if code == 0 or not last:
        return data, f"the verifier prints no JSON: {out[:SHOWN]!r}"
    if err.startswith("usage:"):
        return data, f"the verifier does not take the command: {last}"
    return data, None


def bounded(value, kept=KEPT):
    text = json.dumps(value, ensure_ascii=False, default=str)
    size = len(text.encode("utf-8", "replace"))
    if size <= kept:
        return value
    return {"cut": text.encode("utf-8", "replace")[:kept].decode("utf-8", "ignore"), "bytes": size}


def main():
    case = json.load(sys.stdin)
    check = case["check"]
    code, out, err, asked = run(case)
    missing = [] if is_file_missing(case["command"]) else lacking(asked)
    data, fault = answer(code, out, err, missing)
    passed, found, kept = False, {"code": code}, KEPT
    if check.get("judge") == "llm":
        kept = KEPT_FOR_JUDGE
    elif code is None:
        pass
    elif "eval" in check:
        try:
            passed = eval(check["eval"], {"json": json}, {"result": data})
        except Exception as error:
            # Upstream ends here for an answer that cannot hold the error.
            if isinstance(data, dict):
                data["eval_error"] = str(error)
            else:
                fault = f"the condition cannot be asked of the verifier's answer: {error}"
    elif not isinstance(data, dict):
        fault = "the verifier prints no JSON object"
    else:
        found["actual"] = bounded(data.get(check["key"]))
        passed = data.get(check["key"]) == check["expected"]
    # What the verifier lacks is no fault where its answer is right without it.
    if passed and code is not None:
        fault = None
    found.update(passed=bool(passed), result=bounded(data, kept))
    if fault is not None:
        found.update(fault=fault, errors=err[-SHOWN:])
    # Not all of Python's values and texts are JSON's.
    text = json.dumps(plain(found), ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def plain(value):
    """The same value with numbers that JSON lacks as texts."""
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


main()
