#!/usr/bin/env python3
"""Mean differences per dev query between runs of gloaming-1's evaluate_dev.py, with their standard errors.

usage: compare_dev.py FIRST/hits.SCORE OTHER/hits.SCORE ...

Each file lies in a WORK folder of evaluate_dev.py, beside the labels.tsv that names the queries; all files must have
the same queries. Prints the mean of each file and its difference from the first file, for the shares of relatives
before the first of another fold group at family and superfamily level and for cR@10, as evaluate.py defines them. The
standard errors take the queries as independent, which those of one superfamily are not.
"""
import collections
import pathlib
import sys

import numpy as np

from evaluate_dev import read_rows

FIGURES = ("family", "superfamily", "cR@10")


def main():
    first = None
    print("\t".join(["", *(f"{name}\tdifference" for name in FIGURES)]))
    for path in map(pathlib.Path, sys.argv[1:]):
        labels = read_rows(path.parent / "labels.tsv")
        values = by_query(path, {row["id"]: described(row) for row in labels})
        first = first or values
        cells = []
        for name in FIGURES:
            if values[name].keys() != first[name].keys():
                sys.exit(f"compare_dev: {path} has other queries than the first file")
            differences = [values[name][query] - first[name][query] for query in first[name]]
            error = np.std(differences) / np.sqrt(len(differences))
            mean = np.mean(list(values[name].values()))
            cells += [f"{mean:.4f}", f"{np.mean(differences):+.4f} ± {error:.4f} of {len(differences)}"]
        print("\t".join([f"{path.parent.name} {path.name}", *cells]))


def described(row):
    parts = row["sccs"].split(".")
    group = row["foldgroup"] or ".".join(parts[:2])
    return dict(
        query=row["split"] == "chosen", family=row["sccs"], superfamily=".".join(parts[:3]), group=group,
        is_family=parts[3] != "0",
    )


def by_query(path, labels):
    """Of each figure, its value for each query that counts there."""
    ranked = {name: [] for name, label in labels.items() if label["query"]}
    with open(path) as handle:
        for line in handle:
            query, target, score = line.split()
            if query != target:
                ranked[query].append((-float(score), target))
    members = collections.Counter(label["superfamily"] for label in labels.values())
    members_of_families = [label for label in labels.values() if label["is_family"]]
    families = collections.Counter(label["family"] for label in members_of_families)
    placed = collections.Counter(label["superfamily"] for label in members_of_families)
    values = {name: {} for name in FIGURES}
    for query, hits in ranked.items():
        own = labels[query]
        targets = [labels[target] for _, target in sorted(hits)]
        wanted = members[own["superfamily"]] - 1
        if wanted:
            right = sum(target["superfamily"] == own["superfamily"] for target in targets[:10])
            values["cR@10"][query] = right / min(10, wanted)
        if not own["is_family"]:
            continue
        same, other = before_false(own, targets)
        if families[own["family"]] > 1:
            values["family"][query] = same / (families[own["family"]] - 1)
        beyond = placed[own["superfamily"]] - families[own["family"]]
        if beyond:
            values["superfamily"][query] = other / beyond
    return values


def before_false(own, targets):
    """Members of the query's family and of its superfamily's other families before the first of another fold group."""
    same = other = 0
    for target in targets:
        if target["group"] != own["group"]:
            break
        if target["is_family"] and target["superfamily"] == own["superfamily"]:
            if target["family"] == own["family"]:
                same += 1
            else:
                other += 1
    return same, other


if __name__ == "__main__":
    main()
