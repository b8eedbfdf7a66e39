"""OpenEnv's client as a trainer uses it, against our server: what it gets for a task that is solved, missed, broken off and asked for
wrongly. Called by the script beside it."""

import asyncio
import json
import pathlib
import subprocess
import sys
import urllib.request

from openenv.core.generic_client import GenericEnvClient

program, suite = sys.argv[1:3]
faults = 0


def check(right, what):
    global faults
    faults += not right
    print(("right  " if right else "FAULT  ") + what)


async def refusal(work):
    """The words with which the client raises."""
    try:
        return f"nothing was raised, but {await work}"
    except RuntimeError as error:
        return str(error)


def solving(first):
    """The acts of the task `amount`, by what its first observation shows."""
    number = first.observation["instruction"].split()[1]
    lines = first.observation["outline"].splitlines()
    node = lambda name: next(line.rsplit("#", 1)[1] for line in lines if f'"{name}"' in line)
    return {"actions": [{"do": "click", "at": {"ref": node("Amount")}}, {"do": "type", "text": number},
                        {"do": "click", "at": {"ref": node("Save")}}]}


async def episode(base, seed):
    async with GenericEnvClient(base_url=base) as env:
        first = await env.reset(task="amount", seed=seed, episode_id=f"seed-{seed}", screenshot=False)
        await env.step(solving(first))
        last = await env.step({"done": True})
        return first.observation["instruction"], last.reward, last.done


async def main(base):
    async with GenericEnvClient(base_url=base) as env:
        first = await env.reset(task="amount", seed=4)
        check(first.done is False and first.reward is None, "a reset is not done and has no reward")
        check(isinstance(first.observation["screenshot"], str), "the picture is in the observation, as text")
        told = await env.step({"actions": [{"do": "click", "at": {"ref": "n99"}}]})
        report = told.observation["reports"][0]["delivery"]
        check(report["delivery"] == "refused" and report["problem"], f"an element that is not there is told to the model: {report}")
        before = await env.state()
        for wrong, words in (({}, "is empty"), ({"code": "pyautogui.click(1, 2)"}, "unknown field"),
                             ({"actions": [{"do": "click", "at": {"ref": "n2"}, "twice": True}]}, "twice")):
            why = await refusal(env.step(wrong))
            check(words in why and "VALIDATION_ERROR" in why, f"refused by name: {json.dumps(wrong)}")
        for wrong in ({"task": "amuont"}, {"sede": 4}, {"task": "switch", "seed": 1}, {"seed": -1}):
            why = await refusal(env.reset(**wrong))
            check("VALIDATION_ERROR" in why, f"a reset with {wrong} is refused: {why[:90]}")
        check(await env.state() == before, "and the episode goes on as it was")
        missed = await env.step({"gave_up": True})
        check((missed.reward, missed.done) == (0.0, True), "giving up is done, with the reward 0.0")
        why = await refusal(env.step({"done": True}))
        check("episode_ended" in why, "a step after the end is refused")
        first = await env.reset(task="amount", seed=4, max_steps=2, reward="step")
        rewards = [(await env.step(step)).reward for step in (solving(first), {"actions": []})]
        check(rewards == [1.0, 0.0], f"rewards of steps add up to the score, the last step is the cap: {rewards}")

    several = await asyncio.gather(*(episode(base, seed) for seed in range(8)))
    check(all(reward == 1.0 and done for _, reward, done in several), "eight clients at once solve a world each")
    check(len({words for words, _, _ in several}) > 1, "and seeds differ")
    again = await episode(base, 3)
    check(again == several[3], "a seed is the same world again")


command = [program, "serve", "--suite", suite, "--sessions", "8", "--port", "0", "--json", "--until-stdin-ends"]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
text = b""
while not text.rstrip().endswith(b"}"):
    line = server.stdout.readline()
    if not line:
        sys.exit("the server ended")
    text += line
base = json.loads(text)["url"]
with urllib.request.urlopen(base + "/health", timeout=10) as answer:
    check(json.load(answer) == {"status": "healthy"}, "/health is as their clients want it")
asyncio.run(asyncio.wait_for(main(base), 120))
validator = pathlib.Path(sys.executable).with_name("openenv")
validated = subprocess.run([validator, "validate", "--url", base], capture_output=True, text=True, timeout=120)
check(validated.returncode == 0, f"`openenv validate --url` passes\n{(validated.stdout + validated.stderr) if validated.returncode else ''}".rstrip())
server.stdin.close()
check(server.wait(30) == 0, "the server ends with the process that started it")
sys.exit(1 if faults else 0)
