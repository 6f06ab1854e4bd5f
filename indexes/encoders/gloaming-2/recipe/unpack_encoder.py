#!/usr/bin/env python3
"""Writes the weights of gloaming-1 or gloaming-3 for PyTorch: unpack_encoder.py model.onnx OUT.pt

model.onnx stores float16 weights under the names that they have in model.py.
"""
import sys

import onnx
import torch
from onnx import numpy_helper

from model import Encoder


def main():
    graph = onnx.load(sys.argv[1]).graph
    halves = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name.removesuffix(".half"): torch.from_numpy(half.copy()).float() for name, half in halves.items()}
    inner, width, _ = weights["blocks.0.down.weight"].shape
    encoder = Encoder(width=width, inner=inner, dilations=dilations_of(graph))
    encoder.load_state_dict(weights)
    torch.save(dict(settings=encoder.settings, weights=encoder.state_dict(), step=0), sys.argv[2])


def dilations_of(graph):
    """The dilation of each block's convolution, in order."""
    mixes = [node for node in graph.node if node.op_type == "Conv" and "/mix/" in node.output[0]]
    attributes = [attribute for node in mixes for attribute in node.attribute]
    return tuple(attribute.ints[0] for attribute in attributes if attribute.name == "dilations")


if __name__ == "__main__":
    main()
