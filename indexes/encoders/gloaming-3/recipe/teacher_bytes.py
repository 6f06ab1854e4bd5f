#!/usr/bin/env python3
"""A teacher in one byte a weight: teacher_bytes.py TEACHER-0.pt TEACHER-1.pt OUT.pt writes it, read_teacher reads it.

A row of a matrix is stored as whole numbers of -127 to 127 and one scale; vectors and small tables stay in float16.
"""
import sys

import torch

from teacher import Teacher

SMALL = 4096


def main():
    parts = [torch.load(path, map_location="cpu") for path in sys.argv[1:3]]
    weights = {name: weight for part in parts for name, weight in part["weights"].items()}
    packed = {name: rows_in_bytes(weight.float()) for name, weight in weights.items()}
    torch.save(dict(settings=parts[0]["settings"], about=parts[0]["about"], weights=packed), sys.argv[3])


def rows_in_bytes(weight):
    if weight.dim() < 2 or weight.numel() < SMALL:
        return weight.half()
    scales = weight.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return (weight / scales).round().to(torch.int8), scales


def read_teacher(path, device):
    """The teacher in float32 on `device`, not to be trained."""
    state = torch.load(path, map_location="cpu")
    weights = {
        name: value[0].float() * value[1] if isinstance(value, tuple) else value.float()
        for name, value in state["weights"].items()
    }
    teacher = Teacher(**state["settings"])
    teacher.load_state_dict(weights)
    return teacher.to(device).eval()


if __name__ == "__main__":
    main()
