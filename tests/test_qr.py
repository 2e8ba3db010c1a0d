"""The factorisation behind the master problem, against NumPy."""

import numpy as np
import pytest

from teachirl.mdp.kernels.compiling import compiled
from teachirl.mdp.kernels.lanes import dot, rotate, take_off
from teachirl.mdp.kernels.qr import append, drop, solve, solve_transposed

U = np.uint64


@compiled
def products(a, b, i, j, count):
    return dot(a, i, b, j, count)


@compiled
def change(a, b, i, j, count):
    take_off(a, i, 0.3, b, j, count)
    rotate(a, i, j, 0.6, 0.8, count)


@compiled
def entered(new, q, R, m):
    return append(new, q, R, m)


@compiled
def dropped(q, R, m, gone):
    drop(q, R, m, gone)


@compiled
def solved(R, m, x):
    solve(R, m, x)


@compiled
def solved_transposed(R, m, x):
    solve_transposed(R, m, x)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7, 8, 9, 23])
def test_rows_of_any_length(count):
    rng = np.random.default_rng(count)
    a, b = rng.standard_normal((2, 30)), rng.standard_normal(30)
    i, j = 2, 33  # along the rows: the second begins at 30
    flat = a.ravel()
    found = products(a, b, U(j), U(1), U(count))
    assert found == pytest.approx(flat[j : j + count] @ b[1 : 1 + count], rel=1e-13, abs=1e-13)
    wanted = a.copy().ravel()
    wanted[i : i + count] -= 0.3 * b[j - 30 : j - 30 + count]
    upper, lower = wanted[i : i + count].copy(), wanted[j : j + count].copy()
    wanted[i : i + count] = 0.6 * upper + 0.8 * lower
    wanted[j : j + count] = 0.6 * lower - 0.8 * upper
    change(a, np.concatenate([np.zeros(30), b]), U(i), U(j), U(count))
    np.testing.assert_allclose(a.ravel(), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(("n", "scale"), [(1, 1.0), (6, 1e-8), (21, 1.0), (41, 1e8)])
def test_columns_come_and_go(n, scale):
    rng = np.random.default_rng(n)
    q, R, held = np.zeros((n + 1, n)), np.zeros((n + 1, n + 1)), []
    for _ in range(12 * n):
        m = len(held)
        new = scale * rng.standard_normal(n)
        if held and rng.random() < 0.5:  # nearly one of the others
            new = held[rng.integers(m)] + 1e-4 * new
        if m == n or (m and rng.random() < 0.4):
            gone = int(rng.integers(m))
            held.pop(gone)
            dropped(q, R, m, gone)
        else:
            assert entered(new.copy(), q, R, m)
            held.append(new)
        m = len(held)
        np.testing.assert_allclose(q[:m] @ q[:m].T, np.eye(m), atol=1e-12)
        columns = np.array(held).reshape(m, n).T
        np.testing.assert_allclose(q[:m].T @ np.triu(R[:m, :m]), columns, atol=1e-12 * scale * n)
    m = len(held)
    right = rng.standard_normal(n + 1)
    for solve_it, matrix in ((solved, R[:m, :m]), (solved_transposed, R[:m, :m].T)):
        x = right.copy()
        solve_it(R, m, x)
        np.testing.assert_allclose(matrix @ x[:m], right[:m], atol=1e-8)


def test_what_depends_on_the_others_is_refused():
    rng = np.random.default_rng(0)
    q, R, n = np.zeros((6, 5)), np.zeros((6, 6)), 5
    columns = rng.standard_normal((n, 3))
    for m in range(3):
        assert entered(columns[:, m].copy(), q, R, m)
    mixed = columns @ [1.0, -2.0, 0.5]
    assert not entered(mixed.copy(), q, R, 3)
    np.testing.assert_allclose(np.linalg.solve(np.triu(R[:3, :3]), R[:3, 3]), [1.0, -2.0, 0.5])
    assert not entered(np.zeros(n), q, R, 3)
