#!/usr/bin/env python3
"""Writes an encoder of gloaming-1's or gloaming-3's form with int8 weights and activations.

usage: quantise.py MODEL.onnx PROTEINS.fasta[.gz] ENCODER_FOLDER

Writes model.onnx and agreement.json, and puts the new digest into card.json. agreement.json has the vectors of a few
random proteins, as PyTorch computes the model in whole numbers.

Each convolution of the residual blocks multiplies bytes: activations are unsigned with one scale a layer, weights are
signed with one scale a channel. The stem is a table of letters, and the residual stream, its norms and the projection
stay in float32. Channels are last. The scales come from the largest activations of 200 of the proteins.

A channel whose activations are large for its weights is divided by a factor, and its weights are multiplied by it
(SmoothQuant; Xiao, Lin, Seznec, Wu, Demouth & Han 2023), so that all channels of a layer share a scale well.

Processors without VNNI add two products of bytes in 16 bits with saturation. Scales leave room, so that the sums of the
200 proteins stay below the limit, and the script fails if one does not. Then all processors compute the same.

It needs numpy, torch and onnx. The model takes operators of ONNX Runtime (com.microsoft).
"""
import gzip
import hashlib
import json
import pathlib
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional as F

LETTERS = "ACDEFGHIKLMNPQRSTVWYX"
UNKNOWN, PADDING = 20, 21
EPSILON = 1e-6
PROTEINS, LONGEST = 200, 1_000
AGREEMENT_LENGTHS = (1, 7, 64, 350)
# Largest activation of the 200 proteins, in steps from the zero point. A byte has room for 191 and 255.
SIGNED_LARGEST, UNSIGNED_LARGEST = 63, 150
WEIGHT_LARGEST = 127
PAIR_LARGEST = 2**15 - 1
MICROSOFT = "com.microsoft"


def main():
    source, proteins, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    torch.set_grad_enabled(False)
    weights, dilations = read_model(source)
    chosen = read_proteins(proteins)
    largest = largest_activations(chosen, weights, dilations)
    layers = quantise(weights, largest)
    pair = largest_pair(chosen, weights, dilations, layers)
    print(f"{len(chosen)} proteins; largest sum of two products {pair} of {PAIR_LARGEST}")
    if pair > PAIR_LARGEST:
        raise SystemExit("Two products would saturate on processors without VNNI.")
    write(weights, dilations, layers, folder / "model.onnx")
    (folder / "agreement.json").write_text(json.dumps(agreement(weights, dilations, layers)) + "\n")
    card = json.loads((folder / "card.json").read_text())
    card["model"]["sha256"] = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")


def read_model(path):
    """Returns the weights by name, in float32, and the dilation of each block."""
    graph = onnx.load(path).graph
    weights = {
        tensor.name.removesuffix(".half"): torch.from_numpy(numpy_helper.to_array(tensor).astype(np.float32))
        for tensor in graph.initializer
        if tensor.name.endswith(".half")
    }
    mixes = [node for node in graph.node if node.op_type == "Conv" and "/mix/" in node.output[0]]
    attributes = [attribute for node in mixes for attribute in node.attribute]
    return weights, [attribute.ints[0] for attribute in attributes if attribute.name == "dilations"]


def read_proteins(path):
    """Returns PROTEINS evenly spaced sequences of at most LONGEST residues."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        records = file.read().split(">")[1:]
    sequences = ["".join(record.split("\n")[1:]) for record in records]
    short = [sequence for sequence in sequences if len(sequence) <= LONGEST]
    return [short[at * len(short) // PROTEINS] for at in range(PROTEINS)]


def run(sequence, weights, dilations, watch=lambda name, x: None):
    """Computes the model in float32. Returns the vectors [length, dimension].

    @param watch  takes the name of a convolution of the blocks and its input [channels, length]; it can return another
    """
    ids = [LETTERS.find(letter) if letter in LETTERS else UNKNOWN for letter in sequence]
    x = weights["embed.weight"][ids].T[None]
    x = F.conv1d(x, weights["stem.weight"], weights["stem.bias"], padding=3)
    for block, dilation in enumerate(dilations):
        down, mix, up = (f"blocks.{block}.{part}" for part in ("down", "mix", "up"))
        h = x * torch.rsqrt(x.square().mean(1, keepdim=True) + EPSILON)
        h = watched(watch, down, h)
        h = F.relu(F.conv1d(h, weights[f"{down}.weight"]) + weights[f"{down}_bias"])
        h = watched(watch, mix, h)
        padding = dilation * (weights[f"{mix}.weight"].shape[2] // 2)
        h = F.relu(F.conv1d(h, weights[f"{mix}.weight"], weights[f"{mix}.bias"], padding=padding, dilation=dilation))
        h = watched(watch, up, h)
        x = x + F.conv1d(h, weights[f"{up}.weight"], weights[f"{up}.bias"])
    x = x * torch.rsqrt(x.square().mean(1, keepdim=True) + EPSILON)
    return F.normalize(F.conv1d(x, weights["project.weight"]), dim=1, eps=EPSILON)[0].T


def watched(watch, name, x):
    other = watch(name, x[0])
    return x if other is None else other[None]


def largest_activations(proteins, weights, dilations):
    """Returns the largest absolute value of each input channel of each convolution."""
    largest = {}

    def watch(name, x):
        found = x.abs().amax(1)
        largest[name] = torch.maximum(largest[name], found) if name in largest else found

    for sequence in proteins:
        run(sequence, weights, dilations, watch)
    return largest


class Layer:
    """A convolution in bytes: an activation a is (byte − zero) × scale × factor[channel]."""

    def __init__(self, name, weight, largest):
        self.is_signed = name.endswith("down")
        self.zero = SIGNED_LARGEST + 1 if self.is_signed else 0
        largest = largest.clamp_min(1e-3)
        factor = (largest / weight.abs().amax((0, 2)).clamp_min(1e-4)).sqrt()
        self.factor = factor / factor.median()
        limit = SIGNED_LARGEST if self.is_signed else UNSIGNED_LARGEST
        self.scale = np.float32((largest / self.factor).max() / limit)
        self.weight = weight * self.factor[None, :, None]
        self.out_factor = torch.ones(len(weight))

    def bytes(self):
        """Returns int8 weights [out, in, taps] and their scales [out]."""
        weight = self.weight / self.out_factor[:, None, None]
        scales = weight.abs().amax((1, 2), keepdim=True) / WEIGHT_LARGEST
        rounded = torch.round(weight / scales).to(torch.int8).numpy()
        return rounded, scales.flatten().numpy().astype(np.float32)

    def activations(self, x):
        """Returns the bytes of x [channels, length]."""
        return torch.round(x / (self.scale * self.factor)[:, None] + self.zero).clamp(0, 255)


def quantise(weights, largest):
    layers = {name: Layer(name, weights[f"{name}.weight"], found) for name, found in largest.items()}
    for name, layer in layers.items():
        following = {"down": "mix", "mix": "up"}.get(name.split(".")[2])
        if following is not None:
            layer.out_factor = layers[f"{name.rsplit('.', 1)[0]}.{following}"].factor
    return layers


def largest_pair(proteins, weights, dilations, layers):
    """Returns the largest sum of the products of two channels that lie side by side, as AVX2 adds them in 16 bits."""
    largest = 0

    def watch(name, x):
        nonlocal largest
        weight = torch.from_numpy(layers[name].bytes()[0]).float()
        pairs = layers[name].activations(x).unflatten(0, (-1, 2))
        for tap in weight.unflatten(1, (-1, 2)).unbind(3):
            sums = torch.einsum("opc,pcl->opl", tap, pairs)
            largest = max(largest, int(sums.abs().max()))

    for sequence in proteins:
        run(sequence, weights, dilations, watch)
    return largest


def agreement(weights, dilations, layers):
    """Random proteins of several lengths with the vectors of the model in bytes."""
    rounded = dict(weights)
    for name, layer in layers.items():
        values, scales = layer.bytes()
        weight = torch.from_numpy(values * scales[:, None, None]) * layer.out_factor[:, None, None]
        rounded[f"{name}.weight"] = weight / layer.factor[None, :, None]

    def quantised(name, x):
        layer = layers[name]
        return (layer.activations(x) - layer.zero) * (layer.scale * layer.factor)[:, None]

    rng = np.random.default_rng(5)
    proteins = []
    for length in AGREEMENT_LENGTHS:
        sequence = "".join(rng.choice(list(LETTERS[:UNKNOWN]), length))
        rows = run(sequence, rounded, dilations, quantised).numpy()
        ends = {"first": rows[0], "middle": rows[len(rows) // 2], "last": rows[-1]}
        proteins.append({"sequence": sequence, **{end: [round(float(v), 7) for v in row] for end, row in ends.items()}})
    return {"padding": PADDING, "proteins": proteins}


class Graph:
    """Nodes and constants of an ONNX graph in the making. A node is named by its output."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        array = np.asarray(value)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array, name))
        return name

    def node(self, kind, inputs, name, domain="", **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes))
        return name


def write(weights, dilations, layers, path):
    graph = Graph()
    x = stem(graph, weights)
    graph.node("Cast", ["attention_mask"], "mask_bytes", to=TensorProto.UINT8)
    graph.node("Unsqueeze", ["mask_bytes", graph.constant("last", np.array([-1]))], "mask")
    for block, dilation in enumerate(dilations):
        x = add_block(graph, weights, layers, block, dilation, x)
    width, dimension = len(weights["stem.bias"]), len(weights["project.weight"])
    x = norm(graph, x, np.ones(width, np.float32), "final")
    projection = graph.constant("project.weight", weights["project.weight"][:, :, 0].T.numpy())
    x = graph.node("MatMul", [x, projection], "project")
    graph.node("ReduceL2", [x], "length", axes=[-1], keepdims=1)
    graph.node("Clip", ["length", graph.constant("least_length", np.float32(EPSILON))], "divisor")
    graph.node("Div", [x, "divisor"], "residue_vectors")
    inputs = ("input_ids", "attention_mask")
    integers = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "l"]) for name in inputs]
    vectors = helper.make_tensor_value_info("residue_vectors", TensorProto.FLOAT, ["n", "l", dimension])
    made = helper.make_graph(graph.nodes, "encoder", integers, [vectors], graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(made, opset_imports=opsets)
    model.ir_version = 8
    onnx.save(model, str(path))


def stem(graph, weights):
    """The embedding and the first convolution: a table of letters for each tap, whose rows are added up."""
    tables = torch.einsum("ec,ocs->seo", weights["embed.weight"], weights["stem.weight"])
    taps = len(tables)
    tables[:, PADDING] = 0
    tables[taps // 2] += weights["stem.bias"]
    one = graph.constant("one", np.array([1]))
    graph.node("Cast", ["attention_mask"], "is_residue", to=TensorProto.BOOL)
    padding = graph.constant("padding", np.int64(PADDING))
    graph.node("Where", ["is_residue", "input_ids", padding], "ids")
    sides = graph.constant("sides", np.array([0, taps // 2, 0, taps // 2]))
    graph.node("Pad", ["ids", sides, padding], "padded")
    graph.node("Shape", ["input_ids"], "shape")
    graph.node("Slice", ["shape", one, graph.constant("two", np.array([2]))], "count")
    rows = []
    for tap, table in enumerate(tables):
        start = graph.constant(f"start.{tap}", np.array([tap]))
        graph.node("Add", ["count", start], f"end.{tap}")
        graph.node("Slice", ["padded", start, f"end.{tap}", one], f"ids.{tap}")
        letters = graph.constant(f"letters.{tap}", table.numpy())
        rows.append(graph.node("Gather", [letters, f"ids.{tap}"], f"rows.{tap}"))
    return graph.node("Sum", rows, "stem")


def norm(graph, x, gamma, name):
    gamma = graph.constant(f"{name}.gamma", gamma)
    return graph.node("SimplifiedLayerNormalization", [x, gamma], f"{name}.norm", axis=-1, epsilon=EPSILON)


def add_block(graph, weights, layers, block, dilation, x):
    down, mix, up = (f"blocks.{block}.{part}" for part in ("down", "mix", "up"))
    # The norm's gamma divides by scale and factor, so that one step is 1.
    first = layers[down]
    h = norm(graph, x, (1 / (first.scale * first.factor)).numpy().astype(np.float32), down)
    zero = graph.constant(f"{down}.zero", np.uint8(first.zero))
    h = graph.node("QuantizeLinear", [h, graph.constant(f"{down}.step", np.float32(1)), zero], f"{down}.bytes")
    h = convolve(graph, h, layers[down], weights[f"{down}_bias"].flatten(), down, layers[mix].scale, 1)
    none = graph.constant(f"{down}.none", np.uint8(0))
    scale = graph.constant(f"{down}.step_out", layers[mix].scale)
    unit = graph.constant(f"{down}.unit", np.float32(1))
    h = graph.node("QLinearMul", [h, scale, none, "mask", unit, none, scale, none], f"{down}.masked", MICROSOFT)
    h = convolve(graph, h, layers[mix], weights[f"{mix}.bias"], mix, layers[up].scale, dilation)
    rounded, scales = layers[up].bytes()
    inputs = [
        h,
        graph.constant(f"{up}.weight", rounded[:, :, 0].T),
        graph.constant(f"{up}.scale", layers[up].scale),
        graph.constant(f"{up}.scales", scales),
        graph.constant(f"{up}.zero", np.uint8(0)),
        graph.constant(f"{up}.zeros", np.zeros(len(scales), np.int8)),
        graph.constant(f"{up}.bias", weights[f"{up}.bias"].numpy()),
    ]
    h = graph.node("MatMulIntegerToFloat", inputs, up, MICROSOFT)
    return graph.node("Add", [x, h], f"blocks.{block}")


def convolve(graph, x, layer, bias, name, out_scale, dilation):
    """A convolution whose output has the zero point 0, so that it ends with a ReLU."""
    rounded, scales = layer.bytes()
    taps = rounded.shape[2]
    steps = (bias / layer.out_factor).numpy() / (scales.astype(np.float64) * layer.scale)
    inputs = [
        x,
        graph.constant(f"{name}.scale", layer.scale),
        graph.constant(f"{name}.in", np.uint8(layer.zero)),
        graph.constant(f"{name}.weight", rounded),
        graph.constant(f"{name}.scales", scales),
        graph.constant(f"{name}.zeros", np.zeros(len(scales), np.int8)),
        graph.constant(f"{name}.out_scale", out_scale),
        graph.constant(f"{name}.out", np.uint8(0)),
        graph.constant(f"{name}.bias", np.round(steps).astype(np.int32)),
    ]
    side = dilation * (taps // 2)
    shape = {"kernel_shape": [taps], "dilations": [dilation], "pads": [side, side], "strides": [1]}
    return graph.node("QLinearConv", inputs, name, MICROSOFT, channels_last=1, **shape)


if __name__ == "__main__":
    main()
