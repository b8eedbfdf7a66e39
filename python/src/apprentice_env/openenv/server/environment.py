"""OpenEnv's `Environment` over a session of a pool."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from apprentice_env.errors import WorldError
from apprentice_env.openenv.models import ApprenticeAction, ApprenticeObservation, ApprenticeState
from apprentice_env.server import Server, Session


class ApprenticeEnvironment(Environment):
    """A world for one socket."""

    # Each socket has a world of its own; the default of OpenEnv is one session.
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, server: Server):
        super().__init__()
        self._server = server
        self._session: Session | None = None
        self._steps, self._episode = 0, None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        max_steps: int | None = None,
        max_seconds: float | None = None,
        reward: str | None = None,
        screenshot: bool | None = None,
        outline: bool | None = None,
        **unknown: Any,
    ) -> ApprenticeObservation:
        """Opens a fresh world."""
        # OpenEnv drops what a signature does not name, and nobody hears that a seed was misspelt.
        if unknown:
            raise ValueError(f"reset takes no {sorted(unknown)[0]!r}")
        limits = {"max_steps": max_steps, "max_seconds": max_seconds, "reward": reward}
        given = {**limits, "screenshot": screenshot, "outline": outline, "episode": episode_id}
        self._done(self._session)
        self._session = self._opened(task, seed, given)
        self._steps, self._episode = 0, self._session.episode
        return self._seen(None, {})

    def _opened(self, task: str | None, seed: int | None, given: dict[str, Any]) -> Session:
        try:
            return self._server.open(task, seed, **given)
        except WorldError as error:
            raise RuntimeError(f"void: {error}") from error

    def step(self, action: ApprenticeAction, timeout_s: float | None = None, **_: Any) -> ApprenticeObservation:
        """Acts, and ends the episode if the action says so."""
        if self._session is None:
            raise ValueError("reset the environment before its first step")
        body = action.body()
        if not body:
            raise ValueError("an action has actions, answer, gave_up or done")
        try:
            said = self._session.send(body)
        except WorldError as error:
            raise RuntimeError(f"void: {error}") from error
        self._steps = said["step_count"]
        return self._seen(said["reward"], said)

    def _seen(self, reward: float | None, said: dict[str, Any]) -> ApprenticeObservation:
        told = {name: said[name] for name in ("terminated", "truncated", "verdict") if name in said}
        shown = {**self._session.observation, "instruction": self._session.instruction}
        ends = {"done": self._session.done, "reward": reward, "metadata": told}
        return ApprenticeObservation.model_validate({**shown, "reports": said.get("reports", []), **ends})

    @property
    def state(self) -> ApprenticeState:
        """Which world it is, and how many steps were made."""
        world = {"task": self._session.task, "seed": self._session.seed} if self._session else {}
        return ApprenticeState(episode_id=self._episode, step_count=self._steps, **world)

    def get_metadata(self) -> EnvironmentMetadata:
        """What OpenEnv shows of the environment."""
        about = "Desktops, browsers and worlds in memory, each in a cell of its own, with tasks that are checked."
        return EnvironmentMetadata(name="apprentice", description=about)

    @staticmethod
    def _done(session: Session | None) -> None:
        if session is not None:
            session.close()

    def close(self) -> None:
        """Ends the world."""
        session, self._session = self._session, None
        self._done(session)
