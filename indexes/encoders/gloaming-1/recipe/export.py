#!/usr/bin/env python3
"""Exports trained weights as ONNX, and fixed inputs with PyTorch's outputs for the agreement test.

usage: export.py MODEL.pt ENCODER_FOLDER

Writes model.onnx (dynamic batch and length) and agreement.json, and puts the new digest into card.json. The
last layer is multiplied by a fixed random rotation: cosines stay as they are, and no component grows so large
that int8 would clip it. Weights are stored as float16, half the size, and computed with as float32.
"""
import hashlib
import json
import pathlib
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from encode import encode, load_encoder, tokenise
from model import PADDING, RESIDUES

OPSET = 17
ROTATION_SEED = 20261121
AGREEMENT_LENGTHS = (1, 7, 64, 350)


def main():
    model, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    encoder, state = load_encoder(model)
    rotate(encoder)
    encoder.half().float()
    write_onnx(encoder, folder / "model.onnx")
    (folder / "agreement.json").write_text(json.dumps(agreement(encoder)) + "\n")
    digest = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    card_path = folder / "card.json"
    card = json.loads(card_path.read_text())
    card["model"]["sha256"] = digest
    card["tokenizer"]["vocabulary"] = {residue: at for at, residue in enumerate(RESIDUES)}
    card_path.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    print(f"step {state['step']}: model.onnx {digest}")


def rotate(encoder):
    """Multiplies the projection with an orthogonal matrix drawn once and for all."""
    dimension = encoder.settings["dimension"]
    gaussian = np.random.default_rng(ROTATION_SEED).standard_normal((dimension, dimension))
    orthogonal, upper = np.linalg.qr(gaussian)
    rotation = torch.from_numpy(orthogonal * np.sign(np.diag(upper)))
    with torch.no_grad():
        weight = encoder.project.weight
        weight.copy_((rotation @ weight[:, :, 0].double())[:, :, None])


def write_onnx(encoder, path):
    ids = torch.from_numpy(np.stack([tokenise("ACDEFGHIKLMNPQRSTVWY"), tokenise("YWVTSRQPNMLKIHGFEDCA")]))
    dynamic = {0: "batch", 1: "length"}
    torch.onnx.export(
        encoder,
        (ids, torch.ones_like(ids)),
        path,
        opset_version=OPSET,
        input_names=["input_ids", "attention_mask"],
        output_names=["residue_vectors"],
        dynamic_axes=dict(input_ids=dynamic, attention_mask=dynamic, residue_vectors=dynamic),
    )
    model = onnx.load(path)
    store_halves(model.graph)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def store_halves(graph):
    """Float32 weights become float16 and a cast, which ONNX Runtime folds away when it loads the model."""
    casts = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        name, half = tensor.name, f"{tensor.name}.half"
        casts.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), half))
    for cast in reversed(casts):
        graph.node.insert(0, cast)


def agreement(encoder):
    """Random proteins of several lengths with PyTorch's vectors, each computed without padding."""
    rng = np.random.default_rng(5)
    sequences = ["".join(rng.choice(list(RESIDUES), length)) for length in AGREEMENT_LENGTHS]
    vectors = [encode(encoder, [sequence]) for sequence in sequences]
    return dict(
        padding=PADDING,
        proteins=[
            dict(
                sequence=sequence,
                first=rounded(rows[0]),
                middle=rounded(rows[len(rows) // 2]),
                last=rounded(rows[-1]),
            )
            for sequence, rows in zip(sequences, vectors)
        ],
    )


def rounded(row):
    return [round(float(value), 7) for value in row]


if __name__ == "__main__":
    main()
