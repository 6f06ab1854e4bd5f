#!/usr/bin/env python3
"""Writes one state of a student's file as a model.pt of gloaming-1's recipe, in float32.

usage: unpack_student.py list STUDENT.pt
       unpack_student.py STUDENT.pt MODEL.pt [STATE]    (the last state unless STATE counts from 0)
"""
import sys

import torch

from model import Encoder


def main():
    if sys.argv[1] == "list":
        for at, state in enumerate(torch.load(sys.argv[2], map_location="cpu")):
            print(at, state["about"])
        return
    states = torch.load(sys.argv[1], map_location="cpu")
    state = states[int(sys.argv[3]) if len(sys.argv) > 3 else -1]
    encoder = Encoder(**{**state["settings"], "dropout": 0.0})
    encoder.load_state_dict({key: value.float() for key, value in state["weights"].items()})
    torch.save(dict(settings=encoder.settings, weights=encoder.state_dict(), step=state["about"]["step"]), sys.argv[2])


if __name__ == "__main__":
    main()
