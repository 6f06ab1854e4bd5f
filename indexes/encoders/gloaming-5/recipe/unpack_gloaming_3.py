#!/usr/bin/env python3
"""Writes gloaming-3's weights for PyTorch: unpack_gloaming_3.py model.onnx gloaming-3.pt"""
import sys

import onnx
import torch
from onnx import numpy_helper

from model import Encoder

SETTINGS = dict(width=256, inner=128, dilations=(1, 2, 4, 8, 16, 1, 4, 16, 2, 8, 4, 1))


def main():
    halves = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(sys.argv[1]).graph.initializer}
    encoder = Encoder(**SETTINGS)
    weights = {name.removesuffix(".half"): torch.from_numpy(half.copy()).float() for name, half in halves.items()}
    encoder.load_state_dict(weights)
    torch.save(dict(settings=encoder.settings, weights=encoder.state_dict(), step=0), sys.argv[2])


if __name__ == "__main__":
    main()
