"""What goes over OpenEnv's socket."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import ConfigDict, Field


class ApprenticeAction(Action):
    """One step: acts, the end of the episode, or both. It has at least one of the four."""

    actions: list[dict[str, Any]] | None = Field(
        default=None,
        description='The acts, in order, such as {"do": "click", "at": {"ref": "n7"}}; the first that is refused ends the step.',
    )
    answer: str | None = Field(default=None, description="The answer of a task that asks for one. It ends the episode.")
    gave_up: bool | None = Field(default=None, description="True where the task cannot be done. It ends the episode.")
    done: bool | None = Field(default=None, description="True where the task is done. It ends the episode.")

    def body(self) -> dict[str, Any]:
        """The step as the server takes it."""
        return self.model_dump(exclude_none=True, exclude={"metadata"})


class ApprenticeObservation(Observation):
    """What is seen after a step. `metadata` has `terminated`, `truncated` and `verdict`."""

    # A later server may tell more.
    model_config = ConfigDict(extra="allow")

    instruction: str | None = Field(default=None, description="The task.")
    outline: str | None = Field(default=None, description="One line per element, with references for acts.")
    screenshot: str | None = Field(default=None, description="The screenshot as PNG in base 64.")
    reports: list[dict[str, Any]] = Field(default_factory=list, description="One report per act that was tried.")
    title: str = Field(default="", description="The title of the active tab or window.")
    screen: dict[str, int] | None = Field(default=None, description="The screen, in pixels.")
    monitors: list[dict[str, Any]] = Field(default_factory=list, description="The monitors, if there are several.")
    windows: list[dict[str, Any]] = Field(default_factory=list, description="Windows, front to back (desktops).")
    tabs: list[dict[str, Any]] = Field(default_factory=list, description="Tabs (browsers).")
    dialog: str | None = Field(default=None, description="The text of an open dialog of a page (browsers).")


class ApprenticeState(State):
    """Which world the session has."""

    task: str | None = None
    seed: int | None = None
