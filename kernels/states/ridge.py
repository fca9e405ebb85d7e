"""A ridge classifier over products of features, and its predictions of folds it has not seen.

    products (n, n)  ->  those of the training samples, less their mean  ->  eigenvalues
                     ->  the penalty with the least error of leaving one out  ->  predicted classes

What is fitted for a fold is a function of the rows and columns of its training samples alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Penalties that are tried, times the mean eigenvalue's scale of one feature.
PENALTIES = np.logspace(-3, 3, 10)


def predict(
    products: NDArray[np.float64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the labels (t) of the test samples that a ridge classifier of the others predicts.

    products (n, n): of features. labels (n): of which those of the training samples are read. The
    penalty is the one of PENALTIES with the least squared error where each sample is left out.
    """
    classes, numbers = np.unique(labels[train], return_inverse=True)
    if len(classes) == 1:
        return np.full(len(test), classes[0])
    targets = np.where(numbers[:, None] == np.arange(len(classes)), 1.0, -1.0)
    mean = targets.mean(axis=0)
    targets -= mean
    own = products[np.ix_(train, train)]
    columns = own.mean(axis=0)
    total = columns.mean()
    values, vectors = np.linalg.eigh(own - columns - columns[:, None] + total)
    values = np.maximum(values, 0)
    rotated = vectors.T @ targets
    best, weights = np.inf, targets
    for penalty in PENALTIES:
        shrunk = 1 / (values + penalty)
        solution = vectors @ (shrunk[:, None] * rotated)
        left_out = 1 - 1 / len(train) - ((vectors**2) @ (values * shrunk))
        error = float(np.mean((penalty * solution / left_out[:, None]) ** 2))
        if error < best:
            best, weights = error, solution
    others = products[np.ix_(test, train)]
    others = others - others.mean(axis=1, keepdims=True) - columns + total
    scores: NDArray[np.float64] = others @ weights + mean
    found: NDArray[np.int64] = classes[scores.argmax(axis=1)]
    return found
