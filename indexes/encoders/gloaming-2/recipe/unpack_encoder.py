#!/usr/bin/env python3
"""Writes gloaming-1's weights for PyTorch: unpack_gloaming_1.py model.onnx gloaming-1.pt

model.onnx stores float16 weights under the names that they have in model.py.
"""
import sys

import onnx
import torch
from onnx import numpy_helper

from model import Encoder

SETTINGS = dict(width=256, inner=128, dilations=(1, 2, 4, 8, 16, 1, 4, 16))


def main():
    halves = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(sys.argv[1]).graph.initializer}
    encoder = Encoder(**SETTINGS)
    weights = {name.removesuffix(".half"): torch.from_numpy(half.copy()).float() for name, half in halves.items()}
    encoder.load_state_dict(weights)
    torch.save(dict(settings=encoder.settings, weights=encoder.state_dict(), step=0), sys.argv[2])


if __name__ == "__main__":
    main()
