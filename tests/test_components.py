import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from teachirl.mdp.kernels.components import strong_components


def components_of(graph):
    """The components as lists, checked to be in an order in which no edge leads ahead."""
    indptr, indices = graph.indptr.astype(np.uint64), graph.indices.astype(np.uint32)
    order, bounds = strong_components(indptr, indices)
    assert sorted(order) == list(range(graph.shape[0]))
    assert bounds[0] == 0 and bounds[-1] == len(order) and (np.diff(bounds) > 0).all()
    number = np.empty(len(order), int)
    number[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    assert (number[graph.indices] <= number[rows]).all()
    return [order[a:b].tolist() for a, b in itertools.pairwise(bounds)]


def assert_as_scipy_has_them(graph):
    _, labels = connected_components(graph, connection="strong")
    expected = {frozenset(np.flatnonzero(labels == label)) for label in set(labels)}
    assert {frozenset(component) for component in components_of(graph)} == expected


def graph_of(n, edges):
    rows, columns = np.array(edges, int).reshape(-1, 2).T
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))


@settings(max_examples=200)
@given(st.data())
def test_components_are_those_of_scipy(data):
    n = data.draw(st.integers(1, 12))
    state = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(state, state), max_size=30))
    assert_as_scipy_has_them(graph_of(n, edges))


@pytest.mark.parametrize("edges_a_state", [0.5, 1.0, 1.5, 4.0])
def test_components_of_larger_graphs(edges_a_state):
    rng = np.random.default_rng(5)
    for n in (50, 500):
        edges = rng.integers(0, n, size=(int(n * edges_a_state), 2))
        assert_as_scipy_has_them(graph_of(n, edges))


def test_long_paths_need_no_recursion():
    n = 100_000
    ahead = np.arange(n - 1)
    chain = graph_of(n, np.column_stack([ahead, ahead + 1]))
    assert [component[0] for component in components_of(chain)] == list(range(n))[::-1]
    back = graph_of(n, np.column_stack([ahead + 1, ahead]))
    assert [component[0] for component in components_of(back)] == list(range(n))
    ring = graph_of(n, np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))
    assert [len(component) for component in components_of(ring)] == [n]
