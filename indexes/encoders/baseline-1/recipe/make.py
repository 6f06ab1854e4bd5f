#!/usr/bin/env python3
"""Writes model.onnx of the baseline encoder, and its digest into card.json; nothing in it was trained.

usage: make.py ENCODER_FOLDER

Each residue's vector holds the 64 strongest of (place in a window of 11 × eigenvector of BLOSUM62) and of five
properties averaged over the window, turned by a fixed random rotation so that no component is much larger than
others and int8 clips none, and scaled to length 1. Needs Python alone; the same bytes on every machine.
"""
import hashlib
import json
import math
import pathlib
import struct
import sys

import onnx_file
from linear import dot, random_orthogonal, symmetric_eigen
from onnx_file import FLOAT32, INT64, node, tensor, value
from tables import AMINO_ACIDS, BACKGROUND, BLOSUM62, SCALES

DIMENSION = 64
WINDOW_RESIDUES = 11
REACH = (WINDOW_RESIDUES - 1) // 2
EIGENVECTORS = 8
# Weight of a property's average over the window against one eigenvector at one place.
SCALE_WEIGHT = 1
ROTATION_SEED = 1
PADDING = len(AMINO_ACIDS) + 1


def main():
    folder = pathlib.Path(sys.argv[1])
    model = baseline_model()
    (folder / "model.onnx").write_bytes(model)
    card = json.loads((folder / "card.json").read_text())
    card["model"]["sha256"] = hashlib.sha256(model).hexdigest()
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    print(f"model.onnx {card['model']['sha256']}")


def baseline_model():
    """ids → channels of each residue → convolution over the window → vectors of length 1."""
    eigenvectors, averages = residue_channels()
    channels = eigenvectors + averages
    rows = ("batch", "length")
    return onnx_file.model(
        name="baseline-1",
        description="Fixed window of BLOSUM62 eigenvectors and physico-chemical scales; untrained.",
        inputs=[value("input_ids", INT64, rows), value("attention_mask", INT64, rows)],
        outputs=[value("residue_vectors", FLOAT32, (*rows, DIMENSION))],
        constants=[
            tensor("channels", FLOAT32, (PADDING + 1, len(channels)), channel_table(channels)),
            tensor(
                "window",
                FLOAT32,
                (DIMENSION, len(channels), WINDOW_RESIDUES),
                window_weights(eigenvectors, averages),
            ),
            tensor("last_axis", INT64, (1,), (-1,)),
            tensor("least_norm", FLOAT32, (), (1e-6,)),
        ],
        nodes=[
            node("Gather", ["channels", "input_ids"], ["residues"]),
            node("Cast", ["attention_mask"], ["mask"], to=FLOAT32),
            node("Unsqueeze", ["mask", "last_axis"], ["column_mask"]),
            node("Mul", ["residues", "column_mask"], ["present"]),
            node("Transpose", ["present"], ["rows"], perm=(0, 2, 1)),
            node("Conv", ["rows", "window"], ["mixed"], pads=(REACH, REACH)),
            node("Transpose", ["mixed"], ["features"], perm=(0, 2, 1)),
            node("ReduceL2", ["features"], ["norm"], axes=(-1,), keepdims=1),
            node("Max", ["norm", "least_norm"], ["safe_norm"]),
            node("Div", ["features", "safe_norm"], ["residue_vectors"]),
        ],
    )


def residue_channels():
    """Numbers per amino acid, of mean 0 over the background: eigenvectors, and properties to be averaged."""
    values, vectors = symmetric_eigen(centred_blosum())
    eigenvectors = [
        [component * math.sqrt(values[k]) for component in vectors[k]] for k in range(EIGENVECTORS)
    ]
    return eigenvectors, [standardised(scale) for scale in SCALES.values()]


def centred_blosum():
    """BLOSUM62 as dot products of vectors whose mean over the background is zero."""
    row_means = [background_mean(row) for row in BLOSUM62]
    mean = background_mean(row_means)
    return [
        [score - row_means[i] - row_means[j] + mean for j, score in enumerate(row)] for i, row in enumerate(BLOSUM62)
    ]


def standardised(scale):
    mean = background_mean(scale)
    deviation = math.sqrt(background_mean([(each - mean) * (each - mean) for each in scale]))
    return [(each - mean) / deviation for each in scale]


def background_mean(values):
    return dot(values, BACKGROUND) / dot(BACKGROUND, [1] * len(BACKGROUND))


def channel_table(channels):
    """[letter × channel]; unknown residues and padding are all zeros."""
    known = [channel[letter] for letter in range(len(AMINO_ACIDS)) for channel in channels]
    return known + [0.0] * ((PADDING + 1) * len(channels) - len(known))


def window_weights(eigenvectors, averages):
    """[dimension × channel × place]: the features' weights, turned by the rotation."""
    channel_count = len(eigenvectors) + len(averages)
    rotation = [as_float32(column) for column in random_orthogonal(DIMENSION, ROTATION_SEED)]
    weights = [0.0] * (DIMENSION * channel_count * WINDOW_RESIDUES)
    for column, feature in zip(rotation, window_features(eigenvectors, averages)):
        for channel, place, weight in feature:
            for d in range(DIMENSION):
                weights[(d * channel_count + channel) * WINDOW_RESIDUES + place] += column[d] * weight
    return weights


def window_features(eigenvectors, averages):
    """One list of (channel, place, weight) per dimension: averaged properties, then the strongest single terms."""
    places = range(WINDOW_RESIDUES)
    averaged = [
        [(len(eigenvectors) + at, place, SCALE_WEIGHT * taper(place) / REACH) for place in places]
        for at in range(len(averages))
    ]
    strengths = []
    for channel, values in enumerate(eigenvectors):
        spread = math.sqrt(background_mean([each * each for each in values]))
        strengths += [(-spread * taper(place), channel, place) for place in places]
    single = [[(channel, place, taper(place))] for _, channel, place in sorted(strengths)]
    return averaged + single[: DIMENSION - len(averaged)]


def taper(place):
    """The middle of the window counts most: 1 there, falling evenly to 1/6 at its ends."""
    return 1 - abs(place - REACH) / (REACH + 1)


def as_float32(values):
    return struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values))


if __name__ == "__main__":
    main()
