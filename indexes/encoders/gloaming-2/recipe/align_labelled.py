#!/usr/bin/env python3
"""Aligns pairs of labelled training proteins as gloaming-1's recipe does: align_labelled.py DATA WORK

WORK holds align_pairs and receives labelled-alignments.tsv: both ids, first places, path (align_pairs.cpp).
"""
import pathlib
import random
import sys

from prepare import align_supervised, read_supervised


def main():
    data, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    aligned = align_supervised(read_supervised(data / "scope40"), work, random.Random(20261121))
    with open(work / "labelled-alignments.tsv", "w") as out:
        for first, second, _, *rest in aligned:
            out.write("\t".join(map(str, (first, second, *rest))) + "\n")


if __name__ == "__main__":
    main()
