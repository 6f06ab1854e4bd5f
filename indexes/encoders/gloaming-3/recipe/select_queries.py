#!/usr/bin/env python3
"""Writes the queries whose natural homologs are looked for: select_queries.py DATA WORK

WORK holds reps.fasta and queries.fasta of gloaming-1's select_natural.py, and receives labelled.fasta, the labelled
training proteins, each sequence once; and queries2.fasta, more natural proteins.
"""
import pathlib
import random
import sys

from prepare import read_fasta, read_supervised

LONGEST = 600
MORE = 30000


def main():
    data, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seen = set()
    with open(work / "labelled.fasta", "w") as out:
        for name, (sequence, _, _, group) in read_supervised(data / "scope40").items():
            if group and len(sequence) <= LONGEST and sequence not in seen:
                seen.add(sequence)
                out.write(f">{name}\n{sequence}\n")
    asked = {name for name, _ in read_fasta(work / "queries.fasta")}
    rest = [(n, s) for n, s in read_fasta(work / "reps.fasta") if n not in asked and 60 <= len(s) <= LONGEST]
    rng = random.Random(5)
    rng.shuffle(rest)
    with open(work / "queries2.fasta", "w") as out:
        out.writelines(f">{name}\n{sequence}\n" for name, sequence in rest[:MORE])


if __name__ == "__main__":
    main()
