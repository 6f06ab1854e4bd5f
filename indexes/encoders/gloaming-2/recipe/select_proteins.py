#!/usr/bin/env python3
"""Picks the proteins that get relatives, and the background in which they are looked for.

usage: select_proteins.py DATA WORK    (WORK holds meta.tsv, clean.fasta and, from select_natural.py, reps.fasta)

WORK receives background.fasta, one clean natural protein a 50 % cluster; and asked.fasta, the labelled training
proteins and NATURAL of reps.fasta, few of one source, among which pairs are found as they find each other.
"""
import collections
import csv
import pathlib
import random
import sys

from prepare import read_fasta, read_supervised

NATURAL = 30000
LONGEST_ASKED, LONGEST_FOUND = 400, 700


def main():
    data, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rng = random.Random(20261122)
    clusters = collections.defaultdict(list)
    with open(work / "meta.tsv") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            if row["screen"] == "clean" and 40 <= int(row["length"]) <= LONGEST_FOUND:
                clusters[row["cluster50"]].append(row["id"])
    background = {rng.choice(members) for members in clusters.values()}
    count = write(work / "background.fasta", ((n, s) for n, s in read_fasta(work / "clean.fasta") if n in background))
    print(f"{count} proteins of the background")
    labelled = [(n, p[0]) for n, p in read_supervised(data / "scope40").items() if p[3]]
    natural = [(n, s) for n, s in read_fasta(work / "reps.fasta") if len(s) <= LONGEST_ASKED]
    asked = [(n, s) for n, s in labelled if len(s) <= LONGEST_ASKED] + rng.sample(natural, NATURAL)
    print(f"{write(work / 'asked.fasta', asked)} proteins get relatives")


def write(path, proteins):
    count = 0
    with open(path, "w") as out:
        for count, (name, sequence) in enumerate(proteins, 1):
            out.write(f">{name}\n{sequence}\n")
    return count


if __name__ == "__main__":
    main()
