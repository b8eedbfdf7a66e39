"""A taskset and a harness for verifiers (measured with verifiers 0.4.0): its id is `apprentice-verifiers`.

One task for each task and seed of a suite. The harness opens the world, has the model act by tools, and takes the verdict; all
messages are kept as they came, so that each request begins with the one before.

A world that breaks raises, and so the rollout is an error and no reward of 0. A model call that fails, and a context that ran out,
end the harness with a code other than 0, which makes them errors, too. A limit of verifiers (`max_turns` and the like) ends the
episode, which is then judged."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult

from .errors import ServerError, WorldError
from .server import Server, Session
from .tools import SYSTEM_PROMPT, Acts, BrowserActs, listed, public, schemas, told

__all__ = ["ApprenticeHarness", "ApprenticeTaskset"]

#: A model may think for long; verifiers has limits of its own.
CALL_SECONDS = 1800
#: Where the verdict stands in `trace.info`.
VERDICT = "apprentice"


class WorldData(vf.TaskData):
    """Which world the task is about."""

    suite: str
    task: str
    seed: int


class WorldTask(vf.Task[WorldData]):
    """A task of a suite, with the values of a seed."""

    @vf.reward(weight=1.0)
    async def solved(self, trace: vf.Trace) -> float:
        """The score of the task's checks, from 0 to 1."""
        return float(_verdict(trace)["score"])

    @vf.reward(weight=0.0)
    async def passed(self, trace: vf.Trace) -> float:
        """Whether all checks passed."""
        return float(_verdict(trace)["verdict"] == "pass")


def _verdict(trace: vf.Trace) -> dict[str, Any]:
    verdict = trace.info.get(VERDICT)
    if verdict is None or verdict["verdict"] == "void":
        raise WorldError("there is no verdict: the world was not judged, or the harness is another one", "void")
    return verdict


class ApprenticeTasksetConfig(vf.TasksetConfig):
    suite: str = ""
    """A suite's folder, or the `http://` address of `apprentice serve --sessions`. Without it, the variable APPRENTICE_SUITE."""
    tasks: list[str] = []
    """Which tasks; all of them if empty."""
    seeds: int = 1
    """How many variations of each task, from seed 0; no more than it has."""


class ApprenticeTaskset(vf.Taskset[WorldTask, ApprenticeTasksetConfig]):
    """The tasks of a suite."""

    def load(self):
        suite = _suite(self.config.suite)
        known = Server.of(suite).tasks()
        unknown = [task for task in self.config.tasks if task not in known]
        if unknown:
            raise ValueError(f"there is no task {unknown[0]!r}; there are {', '.join(sorted(known))}")
        for task in self.config.tasks or sorted(known):
            variations = known[task].get("variations")
            for seed in range(self.config.seeds if variations is None else min(self.config.seeds, variations)):
                # What varies with the seed is told in the world's own instruction, when it is open.
                prompt = known[task]["instruction"]
                data = WorldData(name=f"{task}-{seed}", prompt=prompt, suite=suite, task=task, seed=seed)
                yield WorldTask(data, self.config.task)


def _suite(given: str) -> str:
    suite = given or os.environ.get("APPRENTICE_SUITE", "")
    if not suite:
        raise ValueError("name a suite: --env.taskset.suite FOLDER, or the variable APPRENTICE_SUITE")
    return suite


class ApprenticeHarnessConfig(vf.HarnessConfig):
    max_steps: int | None = None
    """Most steps in the world; the task's own limit without it."""
    max_seconds: float | None = None
    """Most seconds of an episode."""
    screenshot: bool = False
    """Whether the model gets a picture after each of its turns."""
    browser: bool = False
    """Whether the model gets the acts that browsers alone have."""


class ApprenticeHarness(vf.Harness[ApprenticeHarnessConfig]):
    """Lets the model act in the world of its task, by tools."""

    APPENDS_SYSTEM_PROMPT = True
    NEEDS_CONTAINER = False
    EXECUTES_CODE = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None, **_):
        """Carries out one episode."""
        limits = {"max_steps": self.config.max_steps, "max_seconds": self.config.max_seconds}
        server = await asyncio.to_thread(Server.of, data.suite)
        opening = asyncio.to_thread(server.open, data.task, data.seed, screenshot=self.config.screenshot, **limits)
        session = await _kept(opening)
        try:
            episode = _Episode(session, BrowserActs if self.config.browser else Acts, self.config.screenshot)
            system, _ = self.resolve_prompt(data)
            problem = await episode.play(ctx, endpoint, secret, system or SYSTEM_PROMPT, trace)
            # A limit of verifiers refuses a call, too, and is no error: the world is judged as it stands.
            stopped = trace.stop_condition
            if problem is not None and (stopped is None or stopped.endswith("_error")):
                return ProgramResult(1, "", problem)
            if not session.done:
                await asyncio.to_thread(session.send, {"done": True})
            trace.info[VERDICT] = session.verdict
            return ProgramResult(0, "", "")
        finally:
            await asyncio.shield(asyncio.to_thread(session.close))


async def _kept(opening) -> Session:
    """Awaits a world; where that is cancelled, the world that comes all the same is closed."""
    task = asyncio.ensure_future(opening)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(lambda done: None if done.cancelled() or done.exception() else done.result().close())
        raise


class _Episode:
    """The conversation of one episode, which only grows."""

    def __init__(self, session: Session, acts: type[Acts], screenshot: bool):
        self.session, self.screenshot = session, screenshot
        self._tools, self._schemas = public(acts), schemas(acts)
        self._acts = acts()
        self._acts._perform = self._perform
        self.said: list[dict[str, Any]] = []

    async def play(self, ctx, endpoint: str, secret: str, system: str, trace) -> str | None:
        """Has the model act until the episode ends. Returns why the model could not be asked, if so."""
        first = f"Your task: {self.session.instruction}\n\n{listed(self.session.observation)}"
        self.said = [{"role": "system", "content": system}, {"role": "user", "content": self._content(first)}]
        async with httpx.AsyncClient(timeout=CALL_SECONDS, trust_env=False) as http:
            while not self.session.done:
                body = {"model": ctx.model, "messages": self.said, "tools": self._schemas}
                headers = {"authorization": f"Bearer {secret}"}
                answer = await http.post(f"{endpoint}/chat/completions", headers=headers, json=body)
                if answer.status_code != 200:
                    return f"the model call failed with status {answer.status_code}: {answer.text[:2000]}"
                choice = answer.json()["choices"][0]
                # Fields without a value are no part of what a server takes.
                message = {
                    name: value for name, value in choice["message"].items() if value is not None or name == "content"
                }
                self.said.append(message)
                if choice["finish_reason"] == "length":
                    return (
                        None  # The response is cut: verifiers says that it was truncated, and the world is judged as it is.
                    )
                await self._answer(message)
        return None

    async def _answer(self, message: dict[str, Any]) -> None:
        calls = message.get("tool_calls") or []
        if not calls:
            # Who only talks is finished, and what was said is the answer.
            await asyncio.to_thread(self.session.send, {"answer": message.get("content") or ""})
            return
        for call in calls:
            result = await asyncio.to_thread(self._call, call["function"])
            self.said.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        if self.screenshot and not self.session.done:
            self.said.append({"role": "user", "content": self._content("The screen:")})

    def _call(self, function: dict[str, Any]) -> str:
        name = function["name"]
        if name not in self._tools:
            return f"There is no tool {name}; there are {', '.join(self._tools)}."
        try:
            given = json.loads(function["arguments"] or "{}")
        except ValueError as error:
            return f"The arguments are no JSON: {error}"
        if not isinstance(given, dict):
            return "The arguments are no JSON object."
        try:
            inspect.signature(self._tools[name]).bind(self._acts, **given)
        except TypeError as error:
            return f"{name}: {error}"
        return self._tools[name](self._acts, **given)

    def _perform(self, body: dict[str, Any]) -> str:
        if self.session.done:
            return "The episode has ended: nothing was done."
        try:
            return told(self.session.send(body))
        except WorldError:
            raise
        except ServerError as error:
            return f"Refused: {error}"

    def _content(self, text: str) -> Any:
        if not self.screenshot:
            return text
        url = f"data:image/png;base64,{self.session.observation['screenshot']}"
        return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
