"""REINFORCE on worlds in memory: fifty updates of a softmax policy that chooses which element to click.

    pip install ./python && python examples/policy_gradient.py python/tests/scenes

The policy knows nothing but pairs of words, one of the instruction and one of an element's line, and begins with no preference. Each
update opens eight groups of four worlds: the worlds of a group are the same task and seed, so that the mean of a group is the baseline
of its four attempts, as in GRPO. A world that broke raises, and its group is left out: it is no attempt that failed.
"""

import itertools
import re
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import numpy

from apprentice_env import Server, WorldError

UPDATES, GROUPS, ATTEMPTS, RATE = 50, 8, 4, 0.2
WORD = re.compile(r"[a-z]+")


def elements(outline):
    """The references of a view, with the words of their lines."""
    found = re.findall(r'^ *(\w+ ".*?").*#(n\d+)$', outline, re.M)
    return [(ref, WORD.findall(line.lower())) for line, ref in found]


class Policy:
    def __init__(self):
        self.weights = defaultdict(float)

    def features(self, instruction, line):
        return list(itertools.product(WORD.findall(instruction.lower()), line))

    def chances(self, instruction, lines):
        scores = numpy.array([sum(self.weights[pair] for pair in self.features(instruction, line)) for line in lines])
        scores = numpy.exp(scores - scores.max())
        return scores / scores.sum()

    def learn(self, instruction, lines, chosen, advantage):
        """Makes the chosen line likelier by the gradient of its logarithm, times the advantage."""
        for index, chance in enumerate(self.chances(instruction, lines)):
            for pair in self.features(instruction, lines[index]):
                self.weights[pair] += RATE * advantage * ((index == chosen) - chance)


def attempt(session, policy, random):
    """Acts once, ends the episode, and returns what was chosen among what, with the reward."""
    instruction = session.instruction
    refs, lines = zip(*elements(session.observation["outline"]))
    chosen = int(random.choice(len(refs), p=policy.chances(instruction, lines)))
    ended = session.step({"do": "click", "at": {"ref": refs[chosen]}}, done=True)
    return instruction, lines, chosen, ended["reward"]


def group(server, policy, task, seed, random):
    sessions = server.open_group(ATTEMPTS, task, seed, screenshot=False)
    try:
        return [attempt(session, policy, random) for session in sessions]
    except WorldError as broken:
        print(f"a group is left out: {broken}", file=sys.stderr)
        return []
    finally:
        for session in sessions:
            session.close()


def main(suite, task="tick-box"):
    random, policy = numpy.random.default_rng(1), Policy()
    server = Server.of(suite, sessions=GROUPS * ATTEMPTS)
    with ThreadPoolExecutor(GROUPS) as threads:
        for update in range(UPDATES):
            seeds = random.integers(10_000, size=GROUPS)
            randoms = random.spawn(GROUPS)
            work = [threads.submit(group, server, policy, task, int(seed), own) for seed, own in zip(seeds, randoms)]
            groups = [done.result() for done in work]
            for attempts in groups:
                baseline = numpy.mean([reward for *_, reward in attempts]) if attempts else 0.0
                for instruction, lines, chosen, reward in attempts:
                    policy.learn(instruction, lines, chosen, reward - baseline)
            rewards = [reward for attempts in groups for *_, reward in attempts]
            print(f"update {update + 1}: mean reward {numpy.mean(rewards):.2f} of {len(rewards)} attempts")
    return numpy.mean(rewards)


if __name__ == "__main__":
    main(*sys.argv[1:])
