"""Encodes proteins with trained weights: model.pt in, unit vectors out."""
import numpy as np
import torch

from model import PADDING, RESIDUES, UNKNOWN, Encoder

RESIDUES_PER_BATCH = 12000


def load_encoder(path):
    """The encoder of a model.pt (settings and averaged weights), ready to be run."""
    state = torch.load(path, map_location="cpu")
    encoder = Encoder(**state["settings"])
    encoder.load_state_dict(state["weights"])
    return encoder.eval(), state


def tokenise(sequence):
    code = np.full(128, UNKNOWN, np.int64)
    code[np.frombuffer(RESIDUES.encode(), np.uint8)] = range(len(RESIDUES))
    return code[np.frombuffer(sequence.upper().encode(), np.uint8)]


@torch.no_grad()
def encode(encoder, sequences):
    """float32 [residues x dimension] of all sequences, one after the other; a batch has similar lengths."""
    tokens = [tokenise(sequence) for sequence in sequences]
    order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
    found, start = [None] * len(tokens), 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(tokens[order[end]]) <= RESIDUES_PER_BATCH:
            end += 1
        rows = order[start:end]
        ids = np.full((len(rows), len(tokens[rows[-1]])), PADDING)
        for row, at in enumerate(rows):
            ids[row, : len(tokens[at])] = tokens[at]
        ids = torch.from_numpy(ids)
        vectors = encoder(ids, (ids != PADDING).long()).numpy()
        for row, at in enumerate(rows):
            found[at] = vectors[row, : len(tokens[at])]
        start = end
    return np.concatenate(found)
