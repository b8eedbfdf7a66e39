#!/usr/bin/env bash
# A number in the `info` of one environment decides what the numbers of all others are cut to, in Gymnasium's vector environments.
#
# Expected: the entry of `infos` holds what each environment returned, as it does for texts and lists; or a type that does not fit
#   raises. Which environment stands first in the list changes nothing but the order.
# What happens: the array of a key has the Python type of the first environment's value. Scores 1 and 0.5 arrive as [1, 0], scores 0.5
#   and 1 as [0.5, 1.0]; True and 3 as [True, True]. Nothing is raised or logged, and the mask `_score` calls all of them given. An
#   environment that returns 1 for a task solved and a fraction for one half solved is counted as 0, by its place in the list. A None
#   in a later place raises TypeError, and in the first place is kept.
# Version: gymnasium 1.4.0 (PyPI), SyncVectorEnv and AsyncVectorEnv alike. Source: gymnasium/vector/vector_env.py,
#   `VectorEnv._add_info`: `np.zeros(self.num_envs, dtype=type(value))` of the first value, then `array[env_num] = value`.
# Seen on 2026-11-30.
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


class Scored(gym.Env):
    """Tells its score in the info of a step."""

    observation_space = action_space = spaces.Discrete(2)

    def __init__(self, score):
        self.score = score

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {"score": self.score}


def told(kind, scores):
    envs = kind([lambda score=score: Scored(score) for score in scores])
    envs.reset(seed=1)
    *_, infos = envs.step([0, 0])
    envs.close()
    return infos["score"].tolist(), infos["_score"].tolist()


if __name__ == "__main__":
    expected = {(1, 0.5): [1, 0], (0.5, 1): [0.5, 1.0], (True, 3): [True, True]}
    same = True
    for scores, seen in expected.items():
        for kind in (SyncVectorEnv, AsyncVectorEnv):
            found, mask = told(kind, scores)
            print(f"{kind.__name__}: environments return {list(scores)}, infos have {found}")
            same &= (found, mask) == (seen, [True, True])
    if same:
        print("as found: the first environment's type is that of all")
    else:
        sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py"
