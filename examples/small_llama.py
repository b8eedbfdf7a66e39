"""A small llama in JAX, without PyTorch: read from a GGUF file, with LoRA on its last layers. It says how likely each entry of a list is
as the reply to a prompt.

    pip install jax==0.12.0.1 gguf==0.19.0 tokenizers==0.23.3

A prompt and all entries of its list are one sequence, in which an entry sees the prompt and itself, so that one pass reads the prompt
once. The lower layers never change: `lower` returns what they make of a batch, and `learn` begins there.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy

ADAPTED = ("attn_q", "attn_k", "attn_v", "attn_output")
WEIGHTS = ("attn_norm", *ADAPTED, "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
SPECIAL = ("<|im_start|>", "<|im_end|>")
# What LoRA adds counts twice, as alpha is usually twice the rank.
SCALE = 2.0
# Adam's decays and the number that keeps it from dividing by zero, as in its paper (arXiv 1412.6980).
DECAYS, TINY = (0.9, 0.999), 1e-8
# Stands for "not at all" in logarithms of chances, and stays finite when it is added up.
NEVER = -1e9


class Shape(NamedTuple):
    layers: int
    width: int
    heads: int
    key_heads: int
    base: float
    epsilon: float


class Batch(NamedTuple):
    """Prompts with their lists: a row for each. `row`, `target` and `entry` say which position predicts which token of which entry."""

    tokens: numpy.ndarray
    positions: numpy.ndarray
    seen: numpy.ndarray
    row: numpy.ndarray
    target: numpy.ndarray
    entry: numpy.ndarray
    entries: numpy.ndarray


def pack(questions, length, tokens, entries):
    """Lays out (prompt, list of replies), all of them token ids, as a batch of fixed size: `length` positions, `tokens` of replies."""
    count = len(questions)
    batch = Batch(
        numpy.zeros((count, length), numpy.int32),
        numpy.zeros((count, length), numpy.int32),
        # What stands behind the end sees itself, so that no row of the mask is empty.
        numpy.tile(numpy.eye(length, dtype=bool), (count, 1, 1)),
        numpy.zeros((count, tokens), numpy.int32),
        numpy.zeros((count, tokens), numpy.int32),
        numpy.full((count, tokens), -1, numpy.int32),
        numpy.zeros((count, entries), bool),
    )
    for question, (prompt, replies) in enumerate(questions):
        end, scored = len(prompt), 0
        needed = end + sum(map(len, replies))
        if needed > length or needed - end > tokens or len(replies) > entries:
            raise ValueError(f"{len(replies)} replies and {needed} tokens are too many for {entries} and {length}")
        batch.tokens[question, :end] = prompt
        batch.positions[question, :end] = range(end)
        batch.seen[question, :end, :end] = numpy.tri(end, dtype=bool)
        batch.entries[question, : len(replies)] = True
        for entry, reply in enumerate(replies):
            here = slice(end, end + len(reply))
            batch.tokens[question, here] = reply
            batch.positions[question, here] = range(len(prompt), len(prompt) + len(reply))
            batch.seen[question, here, : len(prompt)] = True
            batch.seen[question, here, here] = numpy.tri(len(reply), dtype=bool)
            told = slice(scored, scored + len(reply))
            batch.row[question, told] = [len(prompt) - 1, *range(end, end + len(reply) - 1)]
            batch.target[question, told] = reply
            batch.entry[question, told] = entry
            end, scored = end + len(reply), scored + len(reply)
    return batch


class Llama:
    """Weights, of which the last `adapted` layers have an adapter that learns."""

    def __init__(self, shape, embedding, layers, norm, *, adapted, rank, rate, seed):
        self.shape, self.rate = shape, rate
        split = shape.layers - adapted
        self.embedding, self.norm = jnp.asarray(embedding), jnp.asarray(norm)
        self.under = {name: jnp.asarray(layers[name][:split]) for name in WEIGHTS}
        self.upper = {name: jnp.asarray(layers[name][split:]) for name in WEIGHTS}
        self.adapter = _adapter(self.upper, rank, numpy.random.default_rng(seed))
        zeros = jax.tree.map(jnp.zeros_like, self.adapter)
        self.moments, self.step = (zeros, zeros), 0
        # The weights are arguments of what is compiled: as constants in it, they would stand there a second time.
        self._lower = jax.jit(functools.partial(_lower, shape))
        self._chances = jax.jit(functools.partial(_logarithms, shape))
        self._gradient = jax.jit(jax.grad(functools.partial(_loss, shape)))

    def lower(self, batch):
        """What the frozen layers make of a batch."""
        return self._lower(self.embedding, self.under, batch)

    def chances(self, lower, batch):
        """How likely the entries of each list are, among those of the list."""
        parts = self.adapter, self.upper, self.embedding, self.norm
        return numpy.exp(numpy.asarray(self._chances(*parts, lower, batch), numpy.float64))

    def learn(self, lower, batch, worth):
        """One step of Adam up the sum of each entry's log-probability times its `worth`."""
        parts = self.upper, self.embedding, self.norm
        gradient = self._gradient(self.adapter, *parts, lower, batch, jnp.asarray(worth, jnp.float32))
        self.step += 1
        first, second = (
            jax.tree.map(lambda old, new, decay=decay, power=power: decay * old + (1 - decay) * new**power, moment, gradient)
            for moment, decay, power in zip(self.moments, DECAYS, (1, 2))
        )
        self.moments = first, second
        parts = [1 - decay**self.step for decay in DECAYS]
        self.adapter = jax.tree.map(
            lambda value, one, two: value - self.rate * (one / parts[0]) / (jnp.sqrt(two / parts[1]) + TINY),
            self.adapter,
            first,
            second,
        )

    def parameters(self):
        """How many numbers are learnt."""
        return sum(part.size for part in jax.tree.leaves(self.adapter))


def _adapter(upper, rank, random):
    def pair(weights):
        layers, outputs, inputs = weights.shape
        down = random.normal(0, 1 / math.sqrt(inputs), (layers, rank, inputs))
        return jnp.asarray(down, jnp.float32), jnp.zeros((layers, outputs, rank), jnp.float32)

    return {name: pair(upper[name]) for name in ADAPTED}


def _lower(shape, embedding, under, batch):
    return _through(shape, under, None, embedding[batch.tokens], batch)


def _through(shape, layers, adapter, states, batch):
    size = shape.width // shape.heads
    angles = batch.positions[..., None] * shape.base ** (-jnp.arange(0, size, 2) / size)
    turn = jnp.cos(angles)[:, :, None], jnp.sin(angles)[:, :, None]
    block = functools.partial(_block, shape, turn, jnp.where(batch.seen, 0.0, NEVER)[:, None])

    def layer(states, parts):
        return block(states, *parts), None

    return jax.lax.scan(layer, states, (layers, adapter or {}))[0]


def _block(shape, turn, mask, states, weights, adapter):
    count, length, width = states.shape

    def linear(name, inputs):
        outputs = inputs @ weights[name].T
        if name in adapter:
            down, up = adapter[name]
            outputs += inputs @ down.T @ up.T * SCALE
        return outputs

    def heads(name, inputs, number):
        return linear(name, inputs).reshape(count, length, number, width // shape.heads)

    inputs = _normal(shape, states, weights["attn_norm"])
    queries = _rotate(heads("attn_q", inputs, shape.heads), turn)
    keys = _rotate(heads("attn_k", inputs, shape.key_heads), turn)
    values = heads("attn_v", inputs, shape.key_heads)
    shared = shape.heads // shape.key_heads
    keys, values = jnp.repeat(keys, shared, 2), jnp.repeat(values, shared, 2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) / math.sqrt(width // shape.heads) + mask
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), values)
    states = states + linear("attn_output", mixed.reshape(count, length, width))
    inputs = _normal(shape, states, weights["ffn_norm"])
    return states + linear("ffn_down", jax.nn.silu(linear("ffn_gate", inputs)) * linear("ffn_up", inputs))


def _normal(shape, states, weight):
    return states * jax.lax.rsqrt(jnp.mean(states * states, -1, keepdims=True) + shape.epsilon) * weight


def _rotate(heads, turn):
    # GGUF has the two numbers of a pair beside each other for llamas; Hugging Face has them half a head apart.
    one, two, (cosine, sine) = heads[..., 0::2], heads[..., 1::2], turn
    return jnp.stack([one * cosine - two * sine, one * sine + two * cosine], -1).reshape(heads.shape)


def _logarithms(shape, adapter, upper, embedding, norm, lower, batch):
    """Log-probabilities of the entries of each list; that of a missing one is `NEVER`."""
    states = _through(shape, upper, adapter, lower, batch)
    rows = jnp.take_along_axis(states, batch.row[..., None], 1)
    scores = _normal(shape, rows, norm) @ embedding.T
    told = jnp.take_along_axis(scores, batch.target[..., None], 2)[..., 0] - jax.nn.logsumexp(scores, -1)
    whose = batch.entry[..., None] == jnp.arange(batch.entries.shape[1])
    return jax.nn.log_softmax(jnp.where(batch.entries, (told[..., None] * whose).sum(1), NEVER), -1)


def _loss(shape, adapter, upper, embedding, norm, lower, batch, worth):
    return -(jnp.where(batch.entries, _logarithms(shape, adapter, upper, embedding, norm, lower, batch), 0.0) * worth).sum()


def read(path, **settings):
    """The model of a GGUF file, and its tokenizer as a function from text to ids."""
    from gguf import GGUFReader, dequantize

    reader = GGUFReader(path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def numbers(name):
        return dequantize(tensors[f"{name}.weight"].data, tensors[f"{name}.weight"].tensor_type).astype(numpy.float32)

    def field(name):
        return reader.fields[name].contents()

    if field("general.architecture") != "llama" or "output.weight" in tensors:
        raise ValueError(f"{path} is no llama whose output shares the weights of its input")
    shape = Shape(
        field("llama.block_count"),
        field("llama.embedding_length"),
        field("llama.attention.head_count"),
        field("llama.attention.head_count_kv"),
        field("llama.rope.freq_base"),
        field("llama.attention.layer_norm_rms_epsilon"),
    )
    layers = {name: numpy.stack([numbers(f"blk.{layer}.{name}") for layer in range(shape.layers)]) for name in WEIGHTS}
    model = Llama(shape, numbers("token_embd"), layers, numbers("output_norm"), **settings)
    return model, _tokenizer(field("tokenizer.ggml.pre"), field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges"))


def _tokenizer(kind, tokens, merges):
    from tokenizers import Tokenizer, models, pre_tokenizers

    if kind != "smollm":
        raise ValueError(f"the tokens of this file are cut as {kind!r}, and this reads 'smollm'")
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, pairs))
    tokenizer.add_special_tokens(list(SPECIAL))
    # As SmolLM2's own tokenizer.json: digits one by one, then the bytes of GPT-2.
    digits, letters = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
