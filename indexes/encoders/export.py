#!/usr/bin/env python3
"""Exports a protein language model of Hugging Face for `gloaming encoder add`.

usage: export.py MODEL FOLDER [--id ID] [--license TEXT]

MODEL is a name or a folder that transformers can load: an ESM-2 (facebook/esm2_t12_35M_UR50D) or a T5 encoder such as
ProtT5 (Rostlab/prot_t5_xl_half_uniref50-enc). Writes into FOLDER model.onnx, model.onnx.data where the weights exceed
what one ONNX file holds, and card.json with the model's own vocabulary; then runs the exported model at another length
than it was exported at and compares it with PyTorch.
"""
import argparse
import json
import pathlib
import tempfile

import onnx
import torch
from transformers import AutoConfig, AutoTokenizer, EsmModel, T5EncoderModel

OPSET = 17
LETTERS = "ACDEFGHIKLMNPQRSTVWYX"
# Residues of one run and of the overlap of two; ESM-2 was trained on 1,024 tokens, two of which are special.
WINDOW = {"residues": 1022, "overlap": 256}
# A protobuf message ends at 2 GiB; larger weights go into a file beside the model.
ONE_FILE_MAX_BYTES = 1_900_000_000
LARGEST_DIFFERENCE = 1e-3


class LastHiddenState(torch.nn.Module):
    """The model as ONNX shall show it: two inputs, one output."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def main():
    arguments = parse_arguments()
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    is_t5 = AutoConfig.from_pretrained(arguments.model).model_type == "t5"
    model = load(arguments.model, is_t5)
    card = make_card(arguments, tokenizer, is_t5)
    write_onnx(model, card, folder / "model.onnx")
    (folder / "card.json").write_text(json.dumps(card, indent=2) + "\n")
    print(f"largest difference from PyTorch: {difference(model, card, folder / 'model.onnx'):.1e}")


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--id", help="default: the model's name in lower case")
    parser.add_argument("--license", default="see the model's page", help="shown wherever the encoder is named")
    return parser.parse_args()


def load(name, is_t5):
    if is_t5:
        model = T5EncoderModel.from_pretrained(name, torch_dtype=torch.float32)
    else:
        model = EsmModel.from_pretrained(name, torch_dtype=torch.float32, add_pooling_layer=False)
    return LastHiddenState(model).eval()


def make_card(arguments, tokenizer, is_t5):
    name = arguments.model.rstrip("/").split("/")[-1]
    # T5's word pieces begin with the mark of a word's start.
    token = (lambda letter: tokenizer.convert_tokens_to_ids("\u2581" + letter)) if is_t5 else (
        tokenizer.convert_tokens_to_ids)
    vocabulary = {letter: token(letter) for letter in LETTERS}
    if len(set(vocabulary.values())) < len(LETTERS):
        raise SystemExit("The tokenizer does not know every amino acid; is this a protein model?")
    return {
        "id": arguments.id or name.lower(),
        "name": name,
        "description": f"Last hidden state of {arguments.model}.",
        "license": arguments.license,
        "inputs": {"ids": "input_ids", "mask": "attention_mask"},
        "output": "last_hidden_state",
        "tokenizer": {
            "vocabulary": vocabulary,
            "unknown": vocabulary["X"],
            "padding": tokenizer.pad_token_id,
            "prefix": [] if is_t5 else [tokenizer.cls_token_id],
            "suffix": [tokenizer.eos_token_id],
        },
        "window": WINDOW,
    }


def example(card, length):
    """A protein of this length in tokens, special ones around it, and its mask."""
    tokenizer = card["tokenizer"]
    residues = [tokenizer["vocabulary"][LETTERS[i * 7 % 20]] for i in range(length)]
    ids = torch.tensor([tokenizer["prefix"] + residues + tokenizer["suffix"]])
    return ids, torch.ones_like(ids)


def write_onnx(model, card, path):
    dynamic = {0: "batch", 1: "length"}
    names = ["input_ids", "attention_mask", "last_hidden_state"]
    # Above 2 GiB PyTorch writes one file per weight; they are gathered into one before they are kept.
    with tempfile.TemporaryDirectory(dir=path.parent) as scattered, torch.no_grad():
        torch.onnx.export(
            model,
            example(card, 30),
            f"{scattered}/model.onnx",
            opset_version=OPSET,
            input_names=names[:2],
            output_names=names[2:],
            dynamic_axes={name: dynamic for name in names},
        )
        graph = onnx.load(f"{scattered}/model.onnx")
    weight_bytes = sum(parameter.numel() * 4 for parameter in model.parameters())
    path.with_name("model.onnx.data").unlink(missing_ok=True)
    if weight_bytes <= ONE_FILE_MAX_BYTES:
        onnx.save_model(graph, str(path))
    else:
        onnx.save_model(graph, str(path), save_as_external_data=True, location="model.onnx.data")


def difference(model, card, path):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ids, mask = example(card, 137)
    feeds = {"input_ids": ids.numpy(), "attention_mask": mask.numpy()}
    (found,) = session.run(["last_hidden_state"], feeds)
    with torch.no_grad():
        expected = model(ids, mask)
    largest = float((torch.from_numpy(found) - expected).abs().max() / expected.abs().max())
    if largest > LARGEST_DIFFERENCE:
        raise SystemExit(f"ONNX and PyTorch differ by {largest:.1e} of the largest value.")
    return largest


if __name__ == "__main__":
    main()
