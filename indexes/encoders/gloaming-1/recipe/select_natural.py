#!/usr/bin/env python3
"""Picks the natural proteins among which homologs are looked for, and the queries.

usage: select_natural.py WORK     (WORK holds meta.tsv and clean.fasta; receives reps.fasta and queries.fasta)

One protein a 50 % cluster, 40 to 700 residues long, and no more than CAP of one source: the natural set is
dominated by 59 Pfam families and by prokaryotic enzymes.
"""
import collections
import csv
import pathlib
import random
import sys

CAP_OF_FAMILY_SOURCES, CAP = 250, 4000
QUERIES = 25000


def main():
    work = pathlib.Path(sys.argv[1])
    random.seed(20261121)
    clusters = {}
    with open(work / "meta.tsv") as handle:
        for row in csv.DictReader(handle, delimiter="\t"):
            if row["screen"] == "clean":
                member = row["id"], int(row["length"]), row["source"]
                clusters.setdefault(row["cluster50"], []).append(member)
    representatives = [random.choice(members) for members in clusters.values()]
    random.shuffle(representatives)
    taken, chosen = collections.Counter(), set()
    for name, length, source in representatives:
        if not 40 <= length <= 700:
            continue
        taken[source] += 1
        family_source = "balifam" in source or "gapseq" in source
        if taken[source] <= (CAP_OF_FAMILY_SOURCES if family_source else CAP):
            chosen.add(name)
    order = sorted(chosen)
    random.shuffle(order)
    write_fasta(work, chosen, set(order[:QUERIES]))
    print(f"{len(chosen)} proteins, {min(QUERIES, len(order))} of them queries")


def write_fasta(work, chosen, queries):
    with open(work / "clean.fasta") as source, open(work / "reps.fasta", "w") as reps, open(
        work / "queries.fasta", "w"
    ) as asked:
        for header in source:
            sequence, name = next(source), header[1:].split()[0]
            if name in chosen:
                reps.write(header + sequence)
            if name in queries:
                asked.write(header + sequence)


if __name__ == "__main__":
    main()
