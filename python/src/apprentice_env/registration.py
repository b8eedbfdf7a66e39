"""Names for `gymnasium.make`."""

from __future__ import annotations

import gymnasium

#: The environments by the name that `gymnasium.make` takes; the package registers them when it is imported, and Gymnasium imports it itself
#: for `gymnasium.make("apprentice_env:apprentice/Desktop-v0", …)`.
IDS = {
    "apprentice/Desktop-v0": "apprentice_env.env:DesktopEnv",
    "apprentice/Browser-v0": "apprentice_env.browser:BrowserEnv",
    "apprentice/Scene-v0": "apprentice_env.env:SceneEnv",
}


def register_envs() -> None:
    """Registers the environments, once."""
    for name, entry_point in IDS.items():
        if name not in gymnasium.registry:
            # A desktop's clock and pointer blink: what is shown may differ where what happens does not.
            unsteady = not name.startswith("apprentice/Scene")
            gymnasium.register(name, entry_point=entry_point, nondeterministic=unsteady)
