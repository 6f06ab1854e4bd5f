#!/usr/bin/env python3
"""Measures an encoder on the dev split: MaxSim ranking of all targets, affine scores of the best by MaxSim.

usage: evaluate_dev.py MODEL.pt DATA WORK RANK_DEV [--queries N [--seed S]] [--float] [--affine M,O,G,E ...]

Vectors are quantised to int8 with step 1/173 unless --float. Prints evaluate.py's figures; WORK keeps the
three-column files. With --queries N a fixed random part of the dev queries is used, and the figures are
those of that part.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch

from encode import encode, load_encoder
from prepare import read_fasta

INVERSE_STEP = 173
# Of the vectors alone: the appliance scores the residues' letters too.
AFFINE = "175,31,32,4"
KEPT, RESCORED = 1000, 300
SHOWN = (
    "to1stFP_family", "to1stFP_superfamily", "to1stFP_fold", "cR@1", "cR@10", "cR@100",
    "sf2_SEPQ0.1", "sf2_SEPQ1", "sf2_SEPQ10", "sf3_SEPQ0.1", "sf3_SEPQ1", "sf3_SEPQ10",
)


def main():
    args = read_arguments()
    torch.set_num_threads(1)
    args.work.mkdir(parents=True, exist_ok=True)
    names, lengths = write_vectors(args)
    labels = read_rows(args.data / "scope40" / "labels.tsv")
    split = {row["id"]: row["split"] for row in labels}
    queries = [at for at, name in enumerate(names) if split[name] == "dev"]
    if args.queries:
        queries = sorted(np.random.default_rng(args.seed).choice(queries, args.queries, replace=False))
    chosen = {names[at] for at in queries}
    (args.work / "queries.txt").write_text("".join(f"{at}\n" for at in queries))
    (args.work / "names.txt").write_text("".join(f"{name}\n" for name in names))
    (args.work / "lengths.txt").write_text("".join(f"{length}\n" for length in lengths))
    write_labels(labels, chosen, args.work / "labels.tsv")
    settings = [setting.split(",") for setting in args.affine]
    rank(args, [number for setting in settings for number in setting])
    print("\t".join(["", *SHOWN]))
    report(args, "maxsim", "MaxSim")
    for at, setting in enumerate(args.affine):
        report(args, f"affine{at}", f"affine {setting}")


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model", type=pathlib.Path)
    ap.add_argument("data", type=pathlib.Path)
    ap.add_argument("work", type=pathlib.Path)
    ap.add_argument("rank_dev", type=pathlib.Path)
    ap.add_argument("--queries", type=int)
    ap.add_argument("--seed", type=int, default=7, help="of the choice of queries")
    ap.add_argument("--float", action="store_true")
    ap.add_argument("--affine", nargs="*", default=[AFFINE])
    return ap.parse_args()


def write_vectors(args):
    encoder, state = load_encoder(args.model)
    print(f"model of step {state['step']}", file=sys.stderr)
    proteins = list(read_fasta(args.data / "scope40" / "domains.fasta"))
    vectors = encode(encoder, [sequence for _, sequence in proteins]) * INVERSE_STEP
    if not args.float:
        clipped = np.abs(np.rint(vectors)) > 127
        print(f"share of components clipped: {clipped.mean():.2e}", file=sys.stderr)
        vectors = np.clip(np.rint(vectors), -127, 127)
    vectors.astype(np.float32).tofile(args.work / "vectors.f32")
    return [name for name, _ in proteins], [len(sequence) for _, sequence in proteins]


def read_rows(path):
    csv.field_size_limit(10**9)
    with open(path) as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def write_labels(labels, chosen, path):
    """evaluate.py takes its queries from a split: `chosen` here."""
    with open(path, "w") as out:
        writer = csv.DictWriter(out, list(labels[0]), delimiter="\t")
        writer.writeheader()
        for row in labels:
            writer.writerow({**row, "split": "chosen" if row["id"] in chosen else ""})


def rank(args, numbers):
    names = ("vectors.f32", "lengths.txt", "names.txt", "queries.txt", "hits")
    files = [args.work / name for name in names]
    subprocess.run([args.rank_dev.resolve(), *files, str(KEPT), str(RESCORED), *numbers], check=True)


def report(args, suffix, name):
    files = [args.data / "evaluate.py", args.work / "labels.tsv", args.work / f"hits.{suffix}"]
    command = [sys.executable, *files, "--split", "chosen", "--json"]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print("\t".join([name, *(f"{figures[key]:.4f}" for key in SHOWN)]), flush=True)


if __name__ == "__main__":
    main()
