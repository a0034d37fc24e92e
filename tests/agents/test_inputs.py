"""The inputs of networks: lists of what is not zero, and the layer that reads them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ohhell_agents import make
from ohhell_agents.nn.feature_layout import input_scale, num_hints, num_inputs, sorted_actions
from ohhell_agents.nn.features import read_hands, read_inputs
from ohhell_agents.nn.sparse_linear import SparseLinear
from ohhell_env import BatchedOhHell
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from tests.agents.views import states

LAYOUTS = ["default", "universal"]


def seen(rules: Rules, layout: str = "default") -> NDArray[np.int8]:
    """Views all along half-random play, (240, L)."""
    played = states(rules, make("random", seed=1), layout=layout)
    return np.concatenate([tables.observations.copy() for tables in played])


@pytest.mark.parametrize("layout_name", LAYOUTS)
@pytest.mark.parametrize("name", ["oh_hell", "pocha", "plump"])
def test_inputs_are_the_scaled_values_in_the_order_of_the_suits(
    name: str, layout_name: str
) -> None:
    rules = Rules.preset(name)
    layout = layout_of(rules, layout_name)
    observations = seen(rules, layout_name)
    inputs = read_inputs(layout, observations, 99)
    dense = inputs.dense().numpy()
    assert dense.shape == (len(observations), num_inputs(layout))
    sorted_view = np.sort(dense[:, : -num_hints(layout)], axis=1)
    scaled = np.sort(observations * input_scale(layout), axis=1)
    extra = sorted_view.shape[1] - scaled.shape[1]  # zeros where the layout cuts a suit
    padded = np.sort(np.pad(scaled, ((0, 0), (0, extra))), axis=1)
    assert (sorted_view == padded).all()
    orders = sorted_actions(layout)[inputs.orders.numpy()]
    hand = observations[:, layout.slices()["hand"]]
    rows, cards = np.nonzero(hand)
    assert (dense[rows, orders[rows, cards]] == 1).all(), "cards and their actions move alike"


def test_lists_by_input_hold_the_same_as_lists_by_view() -> None:
    rules = Rules.preset("oh_hell")
    inputs = read_inputs(layout_of(rules), seen(rules), 99)
    rows, values, firsts = inputs.by_place
    table = torch.zeros(len(inputs), inputs.width)
    places = torch.arange(inputs.width).repeat_interleave(firsts.diff())
    table[rows.long(), places] = values
    assert torch.equal(table, inputs.dense())


def test_the_sparse_layer_is_a_linear_layer() -> None:
    rules = Rules.preset("oh_hell")
    inputs = read_inputs(layout_of(rules), seen(rules), 99)
    layer, plain = SparseLinear(inputs.width, 24), torch.nn.Linear(inputs.width, 24)
    layer.load_state_dict(plain.state_dict())
    pull = torch.randn(len(inputs), 24)
    answers = layer(inputs), plain(inputs.dense())
    assert torch.allclose(*answers, atol=1e-5)
    for answer in answers:
        (answer * pull).sum().backward()
    for mine, theirs in zip(layer.parameters(), plain.parameters(), strict=True):
        assert mine.grad is not None and theirs.grad is not None
        assert torch.allclose(mine.grad, theirs.grad, rtol=1e-4, atol=1e-4)
    assert layer.weight.grad is not None
    assert layer.weight.grad.stride() == layer.weight.stride(), "one order of the memory"


@pytest.mark.parametrize("layout_name", LAYOUTS)
def test_bytes_that_no_table_writes_are_read_without_harm(layout_name: str) -> None:
    layout = layout_of(Rules.preset("oh_hell"), layout_name)
    rng = np.random.default_rng(0)
    wild = rng.integers(-128, 128, (50, layout.length)).astype(np.int8)
    for observations in (wild, np.full_like(wild, 127), np.zeros_like(wild)):
        inputs = read_inputs(layout, observations, 99)
        assert int(inputs.starts[-1]) == len(inputs.places)
        assert ((inputs.places >= 0) & (inputs.places < inputs.width)).all()


def test_no_views_at_all() -> None:
    layout = layout_of(Rules.preset("oh_hell"))
    inputs = read_inputs(layout, np.zeros((0, layout.length), np.int8), 99)
    assert inputs.dense().shape == (0, num_inputs(layout))
    assert SparseLinear(inputs.width, 3)(inputs).shape == (0, 3)


def test_hidden_hands_are_sorted_as_the_view_is() -> None:
    tables = BatchedOhHell(30, "oh_hell", seed=1)
    tables.reset()
    layout = tables.layout
    seats = (tables.seats[:, None] + np.arange(4)) % 4
    hands = np.take_along_axis(tables.games["hands"][:, :4], seats, axis=1)
    inputs = read_inputs(layout, tables.observations, 99)
    hidden = read_hands(layout, hands[:, 1:], inputs.orders).dense().numpy().reshape(30, 3, 52)
    orders = sorted_actions(layout)[inputs.orders.numpy()]
    for table in range(30):
        for other in range(3):
            held = [card for card in range(52) if int(hands[table, 1 + other]) >> card & 1]
            assert set(np.flatnonzero(hidden[table, other])) == set(orders[table, held])
