"""What the alignment of a family says of each residue, computed as src/families does, and as the encoder reads it."""
import re

import numpy as np

from model import RESIDUES
from tables import AMINO_ACIDS, BACKGROUND, BLOSUM62

KINDS = 20
NOTHING = KINDS  # a gap, or a letter that is no amino acid; the code of X, too
CHANNELS = 2 * KINDS + 2
MOST_RELATIVES = 64
MOST_EXPECTED, LEAST_COVERAGE, MOST_IDENTITY = 1e-3, 0.5, 0.9
FLANK = 6
VARIETY_WINDOW, PSEUDOCOUNT_VARIETY, PSEUDOCOUNT_MOST, LAMBDA = 15, 1.5, 0.9, 0.3176
# Log odds beyond this say no more, and are divided by it, so that all channels have much the same size.
LOG_ODDS_LIMIT = 4.0
STEP = re.compile(r"(\d*)([MID])")

_ORDER = [AMINO_ACIDS.index(letter) for letter in RESIDUES[:KINDS]]
SHARES = np.array(BACKGROUND)[_ORDER] / sum(BACKGROUND)


def _conditional():
    """[given, kind]: BLOSUM62's chances, balanced until both sides have the background."""
    joint = np.outer(SHARES, SHARES) * np.exp(LAMBDA * np.array(BLOSUM62)[np.ix_(_ORDER, _ORDER)])
    for _ in range(50):
        factors = np.sqrt(SHARES / joint.sum(1))
        joint *= factors[:, None] * factors
    return joint / joint.sum(1, keepdims=True)


CONDITIONAL = _conditional()


def row_weights(rows):
    """Henikoff & Henikoff 1994: shares of 1 of the rows, uint8 [rows, length] with NOTHING in gaps."""
    known = rows != NOTHING
    place = rows + (KINDS + 1) * np.arange(rows.shape[1])
    counts = np.bincount(place.ravel(), minlength=(KINDS + 1) * rows.shape[1])
    kinds = (counts.reshape(-1, KINDS + 1)[:, :KINDS] > 0).sum(1)
    shares = np.where(known, 1 / (counts[place] * np.maximum(kinds, 1)), 0).sum(1) / np.maximum(known.sum(1), 1)
    return shares / shares.sum() if shares.sum() > 0 else np.full(len(rows), 1 / len(rows))


def observed(rows, weights):
    """Weighted letters of each column, float64 [length, 20] (the background where there is none), and their share."""
    length = rows.shape[1]
    place = rows + (KINDS + 1) * np.arange(length)
    sums = np.bincount(place.ravel(), np.repeat(weights, length), (KINDS + 1) * length)
    frequencies = sums.reshape(length, KINDS + 1)[:, :KINDS]
    covered = frequencies.sum(1)
    empty = covered <= 0
    frequencies = frequencies / np.where(empty, 1, covered)[:, None]
    frequencies[empty] = SHARES
    return frequencies, covered


def variety_of(frequencies):
    """e^entropy of the columns, averaged over the 15 around each."""
    logs = np.log(np.where(frequencies > 0, frequencies, 1))
    sums = np.concatenate([[0], np.cumsum(np.exp(-(frequencies * logs).sum(1)))])
    at, half = np.arange(len(frequencies)), (VARIETY_WINDOW - 1) // 2
    start, end = np.maximum(0, at - half), np.minimum(len(frequencies), at + half + 1)
    return (sums[end] - sums[start]) / (end - start)


def profile_of(frequencies):
    """Observed frequencies with pseudocounts: the fewer letters, the more is what BLOSUM62 would expect of them."""
    share = np.minimum(PSEUDOCOUNT_MOST, 1 / (1 + variety_of(frequencies) / PSEUDOCOUNT_VARIETY))[:, None]
    return (1 - share) * frequencies + share * (frequencies @ CONDITIONAL)


def features(rows):
    """float32 [CHANNELS, length]: what the 20 frequencies have more than the protein's own letter, which the encoder
    is shown beside them; 20 log odds; coverage; logarithm of the effective number.
    """
    frequencies, covered = observed(rows, row_weights(rows))
    more = frequencies - np.eye(KINDS + 1)[rows[0], :KINDS]
    odds = np.log(profile_of(frequencies) / SHARES).clip(-LOG_ODDS_LIMIT, LOG_ODDS_LIMIT) / LOG_ODDS_LIMIT
    channels = [more.T, odds.T, covered[None], np.log(variety_of(frequencies))[None]]
    return np.concatenate(channels).astype(np.float32)


def read_hits(table, wanted, most_expected=MOST_EXPECTED):
    """By query: rows of mmseqs (target, E-value, identity, first and last places from 0, path), nearest first."""
    hits = {}
    with open(table) as handle:
        for line in handle:
            query, target, expected, identity, start, end, length, first, last, _, path = line.rstrip("\n").split("\t")
            start, end = int(start) - 1, int(end)
            near = float(expected) <= most_expected and float(identity) <= MOST_IDENTITY
            if query in wanted and query != target and near and end - start >= LEAST_COVERAGE * int(length):
                hit = float(expected), target, float(identity), start, end, int(first) - 1, int(last), path
                hits.setdefault(query, []).append(hit)
    for found in hits.values():
        found.sort()
        seen = set()
        found[:] = [hit for hit in found if not (hit[1] in seen or seen.add(hit[1]))]
    return hits


def crop_of(hit, sequence, length):
    """Codes of a relative with its surroundings, and for each the protein's residue it stands over, or -1."""
    _, _, _, start, end, first, last, path = hit
    begin = max(0, first - start - FLANK)
    codes = sequence[begin : min(len(sequence), last + length - end + FLANK)]
    columns = np.full(len(codes), -1, np.int16)
    at, row = start, first - begin
    for count, kind in STEP.findall(path):
        count = int(count or 1)
        if kind == "M":
            columns[row : row + count] = np.arange(at, at + count)
        at += count if kind != "D" else 0
        row += count if kind != "I" else 0
    return codes, columns


def lay_over(own, crops):
    """uint8 [1 + crops, length]: the protein's own letters, then those of the relatives over them."""
    rows = np.full((1 + len(crops), len(own)), NOTHING, np.uint8)
    rows[0] = own
    for row, (codes, columns) in zip(rows[1:], crops):
        over = columns >= 0
        row[columns[over]] = codes[over]
    return rows


def without_copies(rows):
    """Places of the rows that are no near copy of an earlier one kept; the first, the protein's own, is not asked."""
    kept = np.zeros(0, int)
    for at in range(1, len(rows)):
        both = (rows[kept] != NOTHING) & (rows[at] != NOTHING)
        same = (both & (rows[kept] == rows[at])).sum(1)
        if not (same > MOST_IDENTITY * both.sum(1)).any():
            kept = np.append(kept, at)
    return kept


def spread(items, count):
    """`count` of a list at even distances, the first and the last among them, or all of it."""
    if len(items) <= count:
        return list(items)
    return [items[round(place * (len(items) - 1) / (count - 1))] for place in range(count)]
