#!/usr/bin/env bash
# Texts of an environment stay as they were at its creation, in Gymnasium's vector environment of processes.
#
# Expected: AsyncVectorEnv hands out what its environments return, whatever the kind of space: its documentation names
#   shared memory as a matter of speed, for all spaces of Gymnasium itself.
# What happens: with shared memory, which is the default, a `Text` part of an observation is the text that the buffer was
#   made with - zeros of the space's minimal length, or the first character repeated - at each reset and step. Numbers
#   beside it are right, nothing is raised and nothing is logged. With `shared_memory=False` both are right, and so is
#   SyncVectorEnv. An agent that reads the page or the question from a `Text` space trains on one constant word.
# Version: gymnasium 1.4.0 (PyPI). Source: gymnasium/vector/async_vector_env.py and gymnasium/vector/utils/shared_memory.py:
#   `read_from_shared_memory` of a Text makes Python strings, once, when the vector environment is created; later steps
#   copy into the buffer that they were made from.
# Seen on 2026-11-29.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check gymnasium==1.4.0
cat > "$place/look.py" <<'PY'
import sys

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv


class Counter(gym.Env):
    """Says in words and in a number how many steps were made."""

    observation_space = spaces.Dict({"said": spaces.Text(8, min_length=8), "number": spaces.Discrete(10)})
    action_space = spaces.Discrete(2)

    def seen(self):
        return {"said": f"step{self.steps:04}", "number": self.steps}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 1
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        return self.seen(), 0.0, False, False, {}


def run(make):
    envs = make([Counter, Counter])
    first, _ = envs.reset(seed=1)
    second, *_ = envs.step([0, 0])
    found = [(str(seen["said"][0]), int(seen["number"][0])) for seen in (first, second)]
    envs.close()
    return found


if __name__ == "__main__":
    kinds = {
        "SyncVectorEnv": SyncVectorEnv,
        "AsyncVectorEnv": AsyncVectorEnv,
        "AsyncVectorEnv, shared_memory=False": lambda envs: AsyncVectorEnv(envs, shared_memory=False),
    }
    found = {name: run(make) for name, make in kinds.items()}
    for name, seen in found.items():
        print(f"{name}: after reset {seen[0]}, after a step {seen[1]}")
    right = [("step0001", 1), ("step0002", 2)]
    told = found["AsyncVectorEnv"]
    same = found["SyncVectorEnv"] == right and found["AsyncVectorEnv, shared_memory=False"] == right
    stale = [number for _, number in told] == [1, 2] and told[0][0] == told[1][0] != "step0001"
    if same and stale:
        print("as found: the number moves, the text does not")
    else:
        sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
