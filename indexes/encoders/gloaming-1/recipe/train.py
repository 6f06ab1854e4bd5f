#!/usr/bin/env python3
"""Trains the residue encoder for a given number of steps and leaves resumable checkpoints.

usage: train.py TRAINING.npz FOLDER --steps N [--seed S] [--threads T] [--init MODEL.pt] [...]

FOLDER receives checkpoint.pt (everything needed to go on; the same command resumes from it), model.pt
(settings and averaged weights) and curves.tsv. Rates follow the step count, never the clock: a seed's run is
the same on a slow machine as on a fast one.
"""
import argparse
import copy
import os
import pathlib
import shutil
import time

import numpy as np
import torch

import losses
from batches import Sampler
from model import Encoder, Heads, parameter_count
from muon import Muon

WEIGHTS = dict(protein=1.0, natural=0.5, residue=1.0, letters=1.0, masked=0.3, homolog=0.5)
AVERAGED_SHARE = 1 / 6


def main():
    start(Run, make_parser(__doc__).parse_args())


def start(run_kind, args):
    torch.set_num_threads(args.threads)
    args.folder.mkdir(parents=True, exist_ok=True)
    run = run_kind(args)
    run.resume()
    run.train()


def make_parser(description):
    ap = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("data", type=pathlib.Path)
    ap.add_argument("folder", type=pathlib.Path)
    ap.add_argument("--steps", type=int, required=True)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--init", type=pathlib.Path, help="start from these averaged weights")
    ap.add_argument("--crop", type=int, default=144)
    ap.add_argument("--labelled", type=int, default=32)
    ap.add_argument("--natural", type=int, default=12)
    ap.add_argument("--singles", type=int, default=8)
    ap.add_argument("--evolved", default="0,0", help="largest shares substituted, labelled and natural crops")
    ap.add_argument("--dropout", type=float, default=0.0, help="share of channels, in the blocks")
    ap.add_argument("--half", action="store_true", help="convolutions in bfloat16")
    ap.add_argument("--width", type=int, default=256)
    ap.add_argument("--dilations", default="1,2,4,8,16,1,4,16")
    ap.add_argument("--adam-rate", type=float, default=2e-3)
    ap.add_argument("--muon-rate", type=float, default=0.02)
    ap.add_argument("--save-every", type=int, default=100, help="steps")
    ap.add_argument("--keep", default="", help="steps at which model-STEP.pt is kept, as in 1610,2481")
    return ap


class Run:
    weights = WEIGHTS

    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        self.rng = np.random.default_rng(args.seed)
        self.generator = torch.Generator().manual_seed(args.seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.sampler = self.make_sampler()
        self.encoder = self.make_encoder().to(self.device)
        self.heads = Heads(args.width).to(self.device)
        self.average = copy.deepcopy(self.encoder)
        self.optimizers = self.make_optimizers()
        self.step, self.elapsed = 0, 0.0
        print(f"{parameter_count(self.encoder)} parameters on {self.device}", flush=True)

    def make_sampler(self):
        args = self.args
        evolved = [float(share) for share in args.evolved.split(",")]
        return Sampler(args.data, args.labelled, args.natural, args.singles, args.crop, evolved)

    def make_encoder(self):
        args = self.args
        dilations = [int(d) for d in args.dilations.split(",")]
        encoder = Encoder(args.width, args.width // 2, dilations, dropout=args.dropout)
        if args.init:
            encoder.load_state_dict(torch.load(args.init, map_location="cpu")["weights"])
        return encoder

    def make_optimizers(self):
        return make_optimizers(self.encoder, self.heads, self.args)

    def train(self):
        kept = {int(step) for step in self.args.keep.split(",") if step}
        sums, counted, clock = {}, 0, time.monotonic()
        while self.step < self.args.steps:
            set_rates(self.optimizers, self.step / self.args.steps)
            values = self.one_step()
            now = time.monotonic()
            self.elapsed, clock = self.elapsed + now - clock, now
            counted += 1
            for key, value in values.items():
                sums[key] = sums.get(key, 0.0) + value
            if self.step % 50 == 0:
                self.log({key: value / counted for key, value in sums.items()})
                sums, counted = {}, 0
            if self.step % self.args.save_every == 0 or self.step in kept:
                self.save()
            if self.step in kept:
                shutil.copy(self.args.folder / "model.pt", self.args.folder / f"model-{self.step}.pt")
        self.save()

    def one_step(self):
        batch = self.sampler.draw(self.rng)
        parts = self.objectives(batch)
        total = sum(self.weights[key] * value for key, value in parts.items() if key in self.weights)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.heads.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        decay = min(1 - 1 / (AVERAGED_SHARE * self.args.steps), self.step / (self.step + 10))
        with torch.no_grad():
            for slow, fast in zip(self.average.parameters(), self.encoder.parameters()):
                slow.lerp_(fast, 1 - decay)
        return {key: float(value) for key, value in parts.items()}

    def objectives(self, batch):
        ids, mask, original, masked, letters, columns = (
            t.to(self.device)
            for t in (batch.ids, batch.mask, batch.original, batch.masked, batch.letters, batch.columns)
        )
        heads, n, labelled = self.heads, batch.pairs, batch.labelled_pairs
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.args.half):
            hidden = self.encoder.hidden(ids, mask.unsqueeze(1).float())
        hidden = hidden.float()
        vectors = self.encoder.vectors(hidden)
        first, second, first_mask, second_mask = vectors[:n], vectors[n : 2 * n], mask[:n], mask[n : 2 * n]
        protein_scale = heads.log_protein_scale.exp().clamp(max=100)
        residue_scale = heads.log_residue_scale.exp().clamp(max=50)
        sides = first, second, first_mask, second_mask
        protein, hit = losses.protein_contrast(*(side[:labelled] for side in sides), protein_scale)
        natural, _ = losses.protein_contrast(*(side[labelled:] for side in sides), protein_scale)
        residue = losses.residue_contrast(*sides, columns, residue_scale, self.generator)
        return dict(
            protein=protein, hit=hit, natural=natural, residue=residue,
            letters=losses.letter_loss(hidden, heads, letters),
            masked=losses.masked_loss(hidden, heads, original, masked),
            homolog=losses.homolog_loss(hidden, heads, original, columns),
            protein_scale=protein_scale, residue_scale=residue_scale,
        )

    def log(self, means):
        path = self.args.folder / "curves.tsv"
        if not path.exists():
            path.write_text("\t".join(["step", "minutes", *means]) + "\n")
        row = [str(self.step), f"{self.elapsed / 60:.2f}", *(f"{value:.4f}" for value in means.values())]
        with open(path, "a") as out:
            out.write("\t".join(row) + "\n")

    def save(self):
        state = dict(
            step=self.step,
            elapsed=self.elapsed,
            encoder=self.encoder.state_dict(),
            heads=self.heads.state_dict(),
            average=self.average.state_dict(),
            optimizers=[optimizer.state_dict() for optimizer in self.optimizers],
            torch=torch.get_rng_state(),
            numpy=self.rng.bit_generator.state,
            sampled=self.generator.get_state(),
        )
        weights = {key: value.cpu() for key, value in self.average.state_dict().items()}
        model = dict(settings=self.encoder.settings, weights=weights, step=self.step)
        write_whole(state, self.args.folder / "checkpoint.pt")
        write_whole(model, self.args.folder / "model.pt")

    def resume(self):
        path = self.args.folder / "checkpoint.pt"
        if not path.exists():
            return
        state = torch.load(path, map_location="cpu")
        self.step, self.elapsed = state["step"], state["elapsed"]
        self.encoder.load_state_dict(state["encoder"])
        self.heads.load_state_dict(state["heads"])
        self.average.load_state_dict(state["average"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        self.rng.bit_generator.state = state["numpy"]
        torch.set_rng_state(state["torch"])
        self.generator.set_state(state["sampled"])


def make_optimizers(encoder, heads, args):
    named = encoder.blocks.named_parameters()
    matrices = [p for name, p in named if p.dim() == 3 and "bias" not in name]
    chosen = {id(p) for p in matrices}
    rest = [p for p in [*encoder.parameters(), *heads.parameters()] if id(p) not in chosen]
    muon = Muon(matrices, args.muon_rate, weight_decay=0.01)
    adam = torch.optim.AdamW(rest, args.adam_rate, betas=(0.9, 0.98), weight_decay=0.01)
    for optimizer in (muon, adam):
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return [muon, adam]


def set_rates(optimizers, share):
    """Up over the first 2 % of the steps, level to 30 %, then straight down to 2 % of the peak."""
    factor = min(1.0, 0.05 + share / 0.02) if share < 0.3 else max(0.02, 1 - (share - 0.3) / 0.7)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * factor


def write_whole(state, path):
    """A reader, or a run that is killed, never meets half a file."""
    torch.save(state, path.with_suffix(".part"))
    os.replace(path.with_suffix(".part"), path)


if __name__ == "__main__":
    main()
