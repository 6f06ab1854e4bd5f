#!/usr/bin/env python3
"""Writes natural pairs that share few letters: remote_pairs.py HITS.tsv OUT.tsv

HITS.tsv is of `gloaming search` with the columns query, target, fident, alnlen, qstart, qend, tstart, tend, evalue
and cigar. OUT.tsv has the same columns. A pair is either a hit, or two hits of one protein in between, which the
search itself does not rank as homologs: both have E <= MOST_EVALUE and overlap on the protein in between, and their
alignments are joined there. Each query has at most DIRECT pairs of the first kind and JOINED of the second.
"""
import collections
import random
import re
import sys

MOST_EVALUE = 1e-5
MOST_IDENTITY, LEAST_COLUMNS = 0.35, 50
DIRECT, JOINED = 8, 6
STEP = re.compile(r"(\d*)([MID])")


def main():
    rng = random.Random(20261127)
    hits, known = read(sys.argv[1])
    kinds = collections.Counter()
    with open(sys.argv[2], "w") as out:
        for query, found in hits.items():
            remote = [hit for hit in found if hit[1] <= MOST_IDENTITY and len(hit[2]) >= LEAST_COLUMNS]
            # The farther a pair, the more it teaches.
            remote.sort(key=lambda hit: rng.random() ** (1 / (1.1 - hit[1]) ** 2), reverse=True)
            for target, identity, columns in remote[:DIRECT]:
                kinds["direct"] += write(out, query, target, identity, columns)
            for target, columns in joined(query, hits, known, rng):
                kinds["joined"] += write(out, query, target, 0.2, columns)
    print(f"{len(hits)} queries, pairs {dict(kinds)}")


def read(path):
    """By query: (target, identity, columns [(i, j)]) of E <= MOST_EVALUE; and all targets that were ranked at all."""
    hits, known = collections.defaultdict(list), collections.defaultdict(set)
    with open(path) as handle:
        for line in handle:
            query, target, identity, _, start, _, other, _, evalue, cigar = line.rstrip("\n").split("\t")[:10]
            if query == "query" or query == target:
                continue
            if float(evalue) <= 1e-2:
                known[query].add(target)
            if float(evalue) <= MOST_EVALUE:
                hits[query].append((target, float(identity), columns_of(int(start) - 1, int(other) - 1, cigar)))
    return hits, known


def columns_of(i, j, cigar):
    columns = []
    for count, kind in STEP.findall(cigar):
        count = int(count or 1)
        if kind == "M":
            columns += [(i + at, j + at) for at in range(count)]
        i += count if kind != "D" else 0
        j += count if kind != "I" else 0
    return columns


def joined(query, hits, known, rng):
    """Up to JOINED (target, columns) by way of a protein that is a query itself."""
    by_way = [hit for hit in hits[query] if hit[0] in hits]
    rng.shuffle(by_way)
    found = {}
    for between, _, columns in by_way[: 3 * JOINED]:
        first = {j: i for i, j in columns}
        candidates = rng.sample(hits[between], min(20, len(hits[between])))
        for target, _, others in candidates:
            if target == query or target in known[query] or target in found or query in known.get(target, ()):
                continue
            path = [(first[b], c) for b, c in others if b in first]
            if len(path) >= LEAST_COLUMNS:
                found[target] = path
                break
        if len(found) >= JOINED:
            break
    return found.items()


def write(out, query, target, identity, columns):
    """A line with the columns as a path of matches and gaps; returns 1."""
    steps, (i, j) = [], columns[0]
    for a, b in columns:
        for kind, gap in (("I", a - i), ("D", b - j)):
            if gap:
                steps.append((gap, kind))
        if steps and steps[-1][1] == "M":
            steps[-1] = steps[-1][0] + 1, "M"
        else:
            steps.append((1, "M"))
        i, j = a + 1, b + 1
    first, last = columns[0], columns[-1]
    path = "".join(f"{count}{kind}" for count, kind in steps)
    ends = first[0] + 1, last[0] + 1, first[1] + 1, last[1] + 1
    cells = query, target, f"{identity:.3f}", len(columns), *ends, 0, path
    out.write("\t".join(map(str, cells)) + "\n")
    return 1


if __name__ == "__main__":
    main()
