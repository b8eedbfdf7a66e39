"""Two workspaces with a folder each."""
import sys

name, target = sys.argv[1:]
with open(target, "w") as file:
    file.write('{"folders": [{"path": "project%s"}]}\n' % name.removeprefix("workspace")[0])
