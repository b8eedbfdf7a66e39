"""OpenEnv's client for worlds of Apprentice."""

from __future__ import annotations

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult

from ..errors import WorldError
from ..server import OPEN_SECONDS
from .models import ApprenticeAction, ApprenticeObservation, ApprenticeState


class ApprenticeEnv(EnvClient[ApprenticeAction, ApprenticeObservation, ApprenticeState]):
    """A session of `apprentice serve --suite … --sessions …`, or of this package's own server.

        with ApprenticeEnv(base_url="http://127.0.0.1:5000").sync() as env:
            result = env.reset(task="mousepad-sign", seed=3)
            result = env.step(ApprenticeAction(actions=[{"do": "key", "chord": "ctrl+s"}], done=True))

    `reset` takes `task`, `seed`, `episode_id`, `max_steps`, `max_seconds`, `reward`, `screenshot` and `outline`; another name is an
    error. A world that broke raises `WorldError`: it has no reward."""

    def __init__(self, base_url: str | None = None, **settings: Any):
        # A world may wait for a place, and then starts programs; theirs gives up after 60 s.
        settings.setdefault("message_timeout_s", float(OPEN_SECONDS))
        super().__init__(base_url, **settings)

    async def _send_and_receive(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return await super()._send_and_receive(message)
        except RuntimeError as error:
            if "void: " in str(error):
                raise WorldError(str(error), "void") from None
            raise

    def _step_payload(self, action: ApprenticeAction | dict[str, Any]) -> dict[str, Any]:
        return action.body() if isinstance(action, ApprenticeAction) else dict(action)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[ApprenticeObservation]:
        done, reward, metadata = payload["done"], payload["reward"], payload.get("metadata") or {}
        seen = {**payload["observation"], "done": done, "reward": reward, "metadata": metadata}
        return StepResult(ApprenticeObservation.model_validate(seen), reward, done, metadata)

    def _parse_state(self, payload: dict[str, Any]) -> ApprenticeState:
        return ApprenticeState.model_validate(payload)
