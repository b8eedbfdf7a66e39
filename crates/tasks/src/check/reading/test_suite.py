# Loads a test suite, calls its function, and prints the score behind a mark. The function's own output goes to errors.
import importlib.util
import os
import sys

name, function, mark = sys.argv[1:4]
sys.argv = [name]
sys.path.insert(0, os.getcwd())
told, sys.stdout = sys.stdout, sys.stderr


def run():
    try:
        spec = importlib.util.spec_from_file_location("suite_of_the_task", os.path.abspath(name))
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        test = getattr(module, function)
        if not callable(test):
            return 0.0, f"{function} is no function"
        result = test()
    except Exception as error:
        return 0.0, f"{type(error).__name__}: {error}"
    if isinstance(result, (bool, int, float)):
        return max(0.0, min(1.0, float(result))), f"{function}() returned {result!r}"
    return float(bool(result)), f"{function}() returned {result!r}"


score, said = run()
said = " ".join(said.split())[:500]
told.write(f"\n{mark}:{score!r} {said}\n")
told.flush()
