"""The two stages of a run: the teacher, then students side by side. Each is bounded by the clock."""
import copy
import math
import time
import traceback

import torch

import objectives
from drawing import Drawer
from optimise import Average, Optimizers, rate_factor
from retrieval import held_out_figures
from teacher import Heads

TEACHER_WEIGHTS = dict(protein=0.7, natural=0.5, residue=1.0, letters=1.0, masked=1.0, homolog=1.0)
TAUGHT_WEIGHTS = dict(
    cosine=3.0, partner=1.0, similar=1.0, protein=0.3, natural=0.3, residue=0.3, letters=0.3, masked=0.1, homolog=0.2,
)
CONTROL_WEIGHTS = dict(protein=1.0, natural=0.5, residue=1.0, letters=1.0, masked=0.3, homolog=0.5)
LOG_EVERY = 50


class Trained:
    """A model with its heads, optimisers, moving average and what it reports; survives steps that are not finite."""

    def __init__(self, name, model, heads, weights, muon_rate, adam_rate, decay, average):
        self.name, self.model, self.heads, self.weights = name, model, heads, weights
        self.rates = muon_rate, adam_rate, decay
        self.optimizers = Optimizers(model, heads, *self.rates)
        self.average = Average(model, average)
        self.slowed, self.step, self.sums, self.counted = 1.0, 0, {}, 0
        self.good = self.average.weights()

    def update(self, parts, share):
        total = sum(self.weights[key] * value for key, value in parts.items() if key in self.weights)
        self.optimizers.zero_grad()
        total.backward()
        self.optimizers.step(rate_factor(share) * self.slowed)
        self.average.update()
        self.step += 1
        self.counted += 1
        for key, value in dict(parts, total=total).items():
            self.sums[key] = self.sums.get(key, 0) + value.detach()

    def report(self, seconds):
        """One line of means since the last."""
        means = {key: float(value) / max(1, self.counted) for key, value in self.sums.items()}
        self.sums, self.counted = {}, 0
        line = " ".join(f"{key} {value:.3f}" for key, value in means.items())
        print(f"[{seconds:6.1f}s] {self.name} step {self.step} {line}", flush=True)
        self.settle(means.values())

    def settle(self, means):
        """Keeps the averaged weights; goes back to the last good ones if a mean is not finite."""
        if all(math.isfinite(value) for value in means):
            self.good = self.average.weights()
            return
        print(f"{self.name}: not finite; back to the last good weights at half the rates", flush=True)
        self.slowed *= 0.5
        self.model.load_state_dict({**self.model.state_dict(), **self.good})
        self.optimizers = Optimizers(self.model, self.heads, *self.rates)
        self.average.slow = [self.good[name].clone() for name in self.average.names]

    def averaged(self):
        """The model with its averaged weights, not to be trained."""
        model = copy.deepcopy(self.model)
        model.load_state_dict({**model.state_dict(), **self.average.weights()})
        return model.eval()


class Stage:
    def __init__(self, proteins, args, clock, kind, out):
        self.proteins, self.args, self.clock, self.kind, self.out = proteins, args, clock, kind, out
        self.device = proteins.device

    def held_out(self, name, model):
        most = 60 if self.args.tiny else 800
        values, count = held_out_figures(model, self.proteins, self.device, self.kind, most=most)
        text = " ".join(f"{key} {value:.4f}" for key, value in values.items())
        print(f"[{self.clock():6.1f}s] held out ({count}) {name}: {text}", flush=True)
        return values


class TeacherStage(Stage):
    def run(self, model, seconds, batch):
        """Trains until `seconds` of the clock; returns the averaged model with the best held-out figures."""
        heads = Heads(model.settings["width"]).to(self.device)
        trained = Trained("teacher", model, heads, TEACHER_WEIGHTS, 0.02, 2e-3, 0.02, 0.08)
        drawer = Drawer(self.proteins, *batch, self.args.crop, seed=self.args.seed)
        begin, best, best_value, asked = self.clock(), None, -1.0, self.clock()
        model.train()
        while self.clock() < seconds:
            share = (self.clock() - begin) / (seconds - begin)
            drawn = drawer.draw()
            hidden = model.hidden(drawn.ids, drawn.mask, self.kind)
            vectors = model.vectors(hidden[: 2 * drawn.pairs])
            trained.update(objectives.supervised(model, heads, drawn, hidden, vectors), share)
            if trained.step % LOG_EVERY == 0 or trained.step == 5:
                trained.report(self.clock())
            if self.clock() - asked > self.args.ask_every:
                best, best_value = self.ask(trained, best, best_value)
                asked = self.clock()
        best, _ = self.ask(trained, best, best_value)
        print(f"teacher: {trained.step} steps", flush=True)
        return best, heads

    def ask(self, trained, best, best_value):
        averaged = trained.averaged()
        values = self.held_out(f"teacher step {trained.step}", averaged)
        value = values["superfamily"] + 0.5 * values["family"] + 0.5 * values["cR@10"]
        self.out.teacher(averaged, trained.heads, dict(step=trained.step, held_out=values))
        return (averaged, value) if best is None or value >= best_value - 0.005 else (best, best_value)


class StudentStage(Stage):
    def run(self, teacher, rotation, students, seconds, batch, span=(0.0, 1.0)):
        """Trains all students on the same batches; `rotation` turns the teacher's vectors to gloaming-1's axes.

        `span` is the part of the schedule of rates that this run makes.
        """
        drawer = Drawer(
            self.proteins, *batch, self.args.crop, plain_end=self.proteins.clean_end, seed=self.args.seed + 1
        )
        begin, step, asked, kept = self.clock(), 0, self.clock(), 0
        marks = (0.5, 0.75)
        while self.clock() < seconds and students:
            share = span[0] + (span[1] - span[0]) * (self.clock() - begin) / (seconds - begin)
            drawn = drawer.draw()
            clean = torch.rand(len(drawn.ids), 1, device=self.device) < 0.5
            drawn.ids = torch.where(clean, drawn.original, drawn.ids)
            drawn.masked = drawn.masked & ~clean
            taught = None
            if teacher is not None:
                with torch.no_grad():
                    taught = teacher(drawn.original, drawn.mask, self.kind) @ rotation
            for trained in list(students):
                self.one(trained, students, drawn, taught, share)
            step += 1
            if step % LOG_EVERY == 0 or step == 5:
                for trained in students:
                    trained.report(self.clock())
            if self.clock() - asked > self.args.ask_every:
                self.save(students, f"{step}", keep=False)
                asked = self.clock()
            if kept < len(marks) and share > marks[kept]:
                self.save(students, f"{step}", keep=True)
                kept += 1
        self.save(students, f"{step}", keep=True)
        print(f"students: {step} steps", flush=True)

    def one(self, trained, students, drawn, taught, share):
        try:
            trained.model.train()
            n = drawn.pairs
            hidden = trained.model.hidden(drawn.ids, drawn.mask, self.kind)
            vectors = trained.model.vectors(hidden)
            parts = objectives.supervised(trained.model, trained.heads, drawn, hidden, vectors[: 2 * n])
            if taught is not None and "cosine" in trained.weights:
                inverse = objectives.invert(drawn.columns)
                parts["cosine"] = objectives.cosine_distillation(vectors, taught, drawn.mask)
                parts["partner"] = objectives.partner_distillation(vectors, taught, drawn.columns, inverse, n)
                parts["similar"] = objectives.residue_distillation(vectors, taught, n, drawn.mask)
            trained.update(parts, share)
        except Exception:
            traceback.print_exc()
            print(f"{trained.name}: given up", flush=True)
            students.remove(trained)

    def save(self, students, label, keep):
        for trained in students:
            averaged = trained.averaged()
            values = self.held_out(f"{trained.name} step {label}", averaged)
            self.out.student(trained.name, averaged, dict(step=trained.step, held_out=values), keep)


def set_up(seed):
    """The device, the type of the arithmetic on it, and its precision and random numbers set."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(seed)
    return device, kind


def timer():
    begin = time.monotonic()
    return lambda: time.monotonic() - begin
