"""The taskset and the harness under verifiers' own runner, with a scripted model. Needs verifiers (0.4.0), and no program."""

import asyncio
import importlib.util
import json
import logging
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .served import FakePool


def call(name, **given):
    return {"tool_calls": [{"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}]}


SOLVED = [call("click", element="#n2"), call("done")]


class Model(ThreadingHTTPServer):
    """Answers each call with the next of its replies; a number is a status."""

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies, self.asked = replies, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(asked["messages"])
        turn = sum(one["role"] == "assistant" for one in asked["messages"])
        reply = self.server.replies[min(turn, len(self.server.replies) - 1)]
        said = {"error": {"message": "no", "code": "context_length_exceeded", "type": "invalid_request_error"}}
        status = reply if isinstance(reply, int) else 200
        if status == 200:
            reason = "tool_calls" if "tool_calls" in reply else "stop"
            choice = {"index": 0, "message": {"role": "assistant", "content": None, **reply}, "finish_reason": reason}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            said = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@unittest.skipUnless(importlib.util.find_spec("verifiers"), "verifiers is not installed")
class Rollouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        logging.disable(logging.CRITICAL)
        cls.addClassCleanup(logging.disable, logging.NOTSET)
        cls.pool = FakePool()
        cls.addClassCleanup(cls.pool.close)

    def rollout(self, replies, seeds=1, **agent):
        model = Model(replies)
        try:
            return asyncio.run(self.run_with(model, seeds, agent))
        finally:
            model.shutdown()
            model.server_close()

    async def run_with(self, model, seeds, agent):
        from verifiers.v1.clients import ModelContext
        from verifiers.v1.configs.cli.eval import EvalConfig
        from verifiers.v1.utils.loaders import load_environment

        plugin = "apprentice-verifiers"
        seat = {"harness": {"id": plugin}, "runtime": {"type": "subprocess"}, **agent}
        taskset = {"id": plugin, "suite": self.pool.url, "seeds": seeds}
        client = {"type": "eval", "base_url": f"http://127.0.0.1:{model.server_port}/v1", "api_key_var": "NONE"}
        given = {"env": {"taskset": taskset, "agent": seat}, "model": "m", "push": False, "client": client}
        config = EvalConfig.model_validate(given)
        env = load_environment(config.env)
        context = ModelContext(client=config.client, model=config.model, sampling=config.sampling)
        async with env.serving():
            slots = [slot for task in env.taskset for slot in env.slots(task, 1)]
            return model, [one for one in await asyncio.gather(*(env.run_slot(slot, context) for slot in slots))]

    def test_what_solves_the_task_has_the_reward_1(self):
        model, episodes = self.rollout(SOLVED, seeds=9)
        self.assertEqual([one.ok for one in episodes], [True] * 3)
        rewards = [one.traces[0].reward for one in episodes]
        self.assertEqual(sorted(rewards), [0.0, 0.0, 1.0])
        self.assertEqual({len(one.traces[0].branches) for one in episodes}, {1})
        self.assertEqual(len(model.asked), sum(one.traces[0].num_turns for one in episodes))
        self.assertIn("Your task: Tick", model.asked[0][1]["content"])

    def test_who_only_talks_has_answered(self):
        _, [one] = self.rollout([{"content": "It is done."}])
        self.assertEqual((one.ok, one.traces[0].reward, one.traces[0].num_turns), (True, 0.0, 1))

    def test_calls_that_cannot_be_carried_out_are_told_to_the_model(self):
        odd = [call("fly"), call("click"), call("click", element="n9"), call("click", element="n2", colour="red")]
        model, [one] = self.rollout([*odd, *SOLVED])
        self.assertEqual((one.ok, one.traces[0].reward), (True, 1.0))
        told = [message["content"] for message in model.asked[-1] if message["role"] == "tool"]
        for words, text in zip(("no tool fly", "missing", "Refused", "colour"), told):
            self.assertIn(words, text)

    def test_a_world_that_broke_is_an_error(self):
        _, [one] = self.rollout([call("press", keys="break")])
        self.assertFalse(one.ok)
        self.assertIn("the world broke", one.traces[0].errors[-1].message)
        self.assertEqual(one.traces[0].rewards, {})

    def test_a_model_call_that_failed_is_an_error(self):
        for replies in ([500], [400], [SOLVED[0], 400], [SOLVED[0], 500]):
            _, [one] = self.rollout(replies)
            self.assertFalse(one.ok, replies)
            self.assertEqual(one.traces[0].errors[-1].type, "ProviderError")

    def test_a_limit_is_scored(self):
        _, [one] = self.rollout(SOLVED, max_turns=1)
        self.assertTrue(one.ok)
        self.assertEqual((one.traces[0].stop_condition, one.traces[0].reward), ("max_turns", 1.0))
