# Lets a check's Python import what lies beside its script, or in its folder, after all that is installed. Python itself would
# look there first, and take a file of the agent's for one of its own modules (PYTHONSAFEPATH, since Python 3.11).
import os
import sys

if getattr(sys.flags, "safe_path", False) and not sys.flags.isolated:
    program = sys.argv[0] if sys.argv else ""
    sys.path.append(os.path.dirname(os.path.realpath(program)) if os.path.isfile(program) else "")
