#!/usr/bin/env python3
"""Averages the weights of several states of one run: average.py OUT.pt MODEL.pt MODEL.pt ...

States of one run lie in one basin, so that their mean is a model too, and it has learned less by heart than
any of them. Weights of different seeds cannot be averaged.
"""
import sys

import torch


def main():
    out, *paths = sys.argv[1:]
    states = [torch.load(path, map_location="cpu") for path in paths]
    if any(state["settings"] != states[0]["settings"] for state in states):
        sys.exit("average: the models differ in their settings")
    weights = {key: sum(state["weights"][key] for state in states) / len(states) for key in states[0]["weights"]}
    last = max(state["step"] for state in states)
    torch.save(dict(settings=states[0]["settings"], weights=weights, step=last), out)


if __name__ == "__main__":
    main()
