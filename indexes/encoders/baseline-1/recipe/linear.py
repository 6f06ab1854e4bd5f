"""Eigenvectors and a random rotation, in Python's own doubles: only additions, multiplications, divisions and square
roots, which IEEE 754 fixes to the bit, in an order that is written down. The same bits on every machine.
"""
import math

# Convergence is quadratic; ten sweeps reach the last bit at any size used here.
MAX_SWEEPS = 60


def symmetric_eigen(matrix):
    """Eigenvalues, largest first, and unit eigenvectors whose largest component is positive.

    Source: cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, 8.5)
    """
    size = len(matrix)
    a = [list(row) for row in matrix]
    vectors = [[float(i == j) for j in range(size)] for i in range(size)]
    for _ in range(MAX_SWEEPS):
        if all(a[i][j] == 0 for i in range(size) for j in range(size) if i != j):
            break
        for p in range(size):
            for q in range(p + 1, size):
                turn_plane(a, vectors, p, q)
    order = sorted(range(size), key=lambda i: -a[i][i])
    return [a[i][i] for i in order], [with_fixed_sign([row[i] for row in vectors]) for i in order]


def turn_plane(a, vectors, p, q):
    """Turns the plane of p and q so that a[p][q] becomes zero."""
    off = a[p][q]
    if off == 0:
        return
    theta = (a[q][q] - a[p][p]) / (2 * off)
    tangent = (-1 if theta < 0 else 1) / (abs(theta) + math.sqrt(theta * theta + 1))
    cosine = 1 / math.sqrt(tangent * tangent + 1)
    sine = tangent * cosine
    for row in a + vectors:
        row[p], row[q] = cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]
    for i in range(len(a)):
        a[p][i], a[q][i] = cosine * a[p][i] - sine * a[q][i], sine * a[p][i] + cosine * a[q][i]
    a[p][q] = a[q][p] = 0.0


def with_fixed_sign(vector):
    largest = max(vector, key=abs)
    return [-value for value in vector] if largest < 0 else vector


def random_orthogonal(size, seed):
    """Columns of a random orthogonal matrix: Gram–Schmidt on normal columns is uniform over all of them (Haar)."""
    uniform = mulberry32(seed)
    basis = []
    while len(basis) < size:
        column = [nearly_normal(uniform) for _ in range(size)]
        # Twice, because one pass leaves rounding errors that a second removes.
        for _ in range(2):
            for other in basis:
                length = dot(column, other)
                column = [value - length * component for value, component in zip(column, other)]
        norm = math.sqrt(dot(column, column))
        basis.append([value / norm for value in column])
    return basis


def nearly_normal(uniform):
    """A sum of twelve uniform numbers: logarithms and cosines may differ between machines."""
    total = -6.0
    for _ in range(12):
        total += next(uniform)
    return total


def mulberry32(seed):
    """Uniform numbers in [0, 1); the stream of src/random.ts that is frozen in data (T. Ettinger 2017)."""
    state = seed
    while True:
        state = state + 0x6D2B79F5 & 0xFFFFFFFF
        mixed = (state ^ state >> 15) * (1 | state) & 0xFFFFFFFF
        mixed = (mixed + (mixed ^ mixed >> 7) * (61 | mixed) & 0xFFFFFFFF) ^ mixed
        yield (mixed ^ mixed >> 14) / 2**32


def dot(a, b):
    # sum() of later Pythons compensates rounding errors, which would be other bits.
    total = 0.0
    for left, right in zip(a, b):
        total += left * right
    return total
