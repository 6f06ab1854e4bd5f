#!/usr/bin/env python3
"""Trains teachers, then teaches gloaming-3 further, within a time: train.py PACKED FIRST.pt OUT [--seconds S] [...]

PACKED is what pack.py wrote, FIRST.pt the student's first weights, of unpack_encoder.py. OUT receives two files a
teacher, its weights in bytes, and student.pt, some states of the student. Files are written whole.
"""
import argparse
import pathlib

import torch

import graphed
from drawing import Proteins
from ensemble import Ensemble
from flanked import FlankedDrawer
from optimise import rate_factor
from outputs import halves, plain, write_whole
from retrieval import held_out_figures
from run_stages import copy_of, load_student, natural_sequences
from stages import TAUGHT_WEIGHTS, TEACHER_WEIGHTS, Trained, set_up, timer
from teacher import Heads, Teacher
from teacher_bytes import rows_in_bytes
from unpack import read_arrays

LOG_EVERY = 250
KEPT_AT = (0.5, 0.75, 1.0)
DROPOUT = 0.03


def main():
    args = read_arguments()
    clock = timer()
    device, kind = set_up(args.seed)
    arrays = read_arrays(args.packed)
    args.remote = int(arrays["counts"][6]) if len(arrays["counts"]) > 6 else 0
    proteins = Proteins(arrays, device)
    args.out.mkdir(parents=True, exist_ok=True)
    say(clock, f"{device} {torch.__version__} {len(proteins.tokens)} residues, {len(proteins.keys)} columns, "
        f"alignments {arrays['counts'].tolist()}, held out {int(proteins.held_out.sum())}")
    first = load_student(args.first, device)
    ask(clock, "gloaming-3, which knows these folds' teacher", first, proteins, kind, args)
    teachers = []
    begin, end = clock(), args.seconds * args.teacher_share
    for at in range(args.teachers):
        until = begin + (end - begin) * (at + 1) / args.teachers
        teachers.append(train_teacher(at, proteins, args, clock, kind, until))
    teacher = together(teachers, first, proteins, kind, args, clock)
    train_student(proteins, args, clock, kind, teacher, first, seconds_of(args))
    say(clock, "training is over")


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("packed", "first", "out"):
        ap.add_argument(name, type=pathlib.Path)
    ap.add_argument("--seconds", type=float, default=740, help="of training, start-up included")
    ap.add_argument("--teacher-share", type=float, default=0.47, help="of the time")
    ap.add_argument("--seed", type=int, default=11)
    ap.add_argument("--crop", type=int, default=192)
    ap.add_argument("--width", type=int, default=384, help="of the teacher")
    ap.add_argument("--layers", type=int, default=10, help="of the teacher")
    ap.add_argument("--teacher-batch", default="40,96,24,160", help="labelled, natural pairs, singles, plain")
    ap.add_argument("--student-batch", default="32,64,16,96")
    ap.add_argument("--teacher-flanked", type=float, default=0.3, help="share of the teacher's flanked crops")
    ap.add_argument("--student-flanked", type=float, default=0.5)
    ap.add_argument("--ask-every", type=float, default=40, help="seconds between held-out figures")
    ap.add_argument("--teachers", type=int, default=1, help="to train; without any gloaming-3 as it is teaches")
    ap.add_argument("--with-first", action="store_true", help="gloaming-3 as it is teaches beside the others")
    ap.add_argument("--tiny", action="store_true", help="few queries, to try the script")
    return ap.parse_args()


def seconds_of(args):
    """The whole time: that of the file `seconds` in OUT, if it was written meanwhile."""
    path = args.out / "seconds"
    return float(path.read_text()) if path.exists() else args.seconds


def say(clock, text):
    print(f"[{clock():6.1f}s] {text}", flush=True)


def ask(clock, name, model, proteins, kind, args):
    values, count = held_out_figures(model, proteins, proteins.device, kind, most=60 if args.tiny else 800)
    say(clock, f"held out ({count}) {name}: " + " ".join(f"{key} {value:.4f}" for key, value in values.items()))
    return values


class Loop:
    """Steps of one model until its time is over: each of few launches, with what it reports."""

    def __init__(self, trained, drawer, clock, kind, until, is_taught):
        self.trained, self.drawer, self.clock, self.until = trained, drawer, clock, until
        drawn = drawer.draw()
        trunk = graphed.Trunk(trained.model, kind)
        parts = graphed.Objectives(trained.model, trained.heads, drawn.labelled, drawn.pairs, is_taught)
        self.names = parts.names
        self.weights = torch.tensor([trained.weights.get(name, 0.0) for name in self.names], device=drawn.ids.device)
        trained.model.train()
        hidden = torch.randn(*drawn.ids.shape, trained.model.settings["width"], device=drawn.ids.device)
        rest = graphed.fields_of(drawn)
        if is_taught:
            rest = (*rest, torch.randn(*drawn.ids.shape, 64, device=drawn.ids.device))
        examples = ((drawn.seen, drawn.seen_mask, drawn.back), (hidden.requires_grad_(), *rest))
        self.trunk, self.parts = graphed.recorded((trunk, parts), examples)
        self.sum, self.counted = torch.zeros(len(self.names)).to(self.weights), 0
        self.begin = self.since = clock()

    def share(self):
        return min(1.0, (self.clock() - self.begin) / (self.until - self.begin))

    def step(self, teaching=None):
        drawn = self.drawer.draw()
        taught = () if teaching is None else (teaching(drawn.clean, drawn.clean_mask),)
        hidden = self.trunk(drawn.seen, drawn.seen_mask, drawn.back)
        values = self.parts(hidden, *graphed.fields_of(drawn), *taught)
        trained = self.trained
        trained.optimizers.zero_grad()
        (values * self.weights).sum().backward()
        trained.optimizers.step(self.factor() * trained.slowed)
        trained.average.update()
        trained.step += 1
        self.sum += values.detach()
        self.counted += 1
        if trained.step % LOG_EVERY == 0 or trained.step == 20:
            self.report()

    def factor(self):
        return rate_factor(self.share())

    def report(self):
        """One line of means since the last."""
        means = (self.sum / max(1, self.counted)).tolist()
        took = (self.clock() - self.since) / max(1, self.counted)
        line = " ".join(f"{name} {value:.3f}" for name, value in zip(self.names, means))
        say(self.clock, f"{self.trained.name} step {self.trained.step} ({took * 1e3:.1f} ms) {line}")
        self.sum.zero_()
        self.counted, self.since = 0, self.clock()
        self.trained.settle(means)


def together(teachers, first, proteins, kind, args, clock):
    """One teacher of all, on the axes of `first`."""
    sequences = natural_sequences(proteins, 10 if args.tiny else 400)
    members = [*teachers, first] if args.with_first or not teachers else teachers
    teacher = Ensemble(members, first, sequences, proteins.device, kind).eval()
    say(clock, f"{len(members)} teach together; kept share of their second moment {teacher.share:.4f}")
    ask(clock, "all teachers together", teacher, proteins, kind, args)
    return teacher


def train_teacher(number, proteins, args, clock, kind, until):
    device = proteins.device
    torch.manual_seed(args.seed + 100 * number)
    dilations = ((1, 2, 4, 8, 16) * 4)[: args.layers - 1] + (1,)
    model = Teacher(width=args.width, dilations=dilations).to(device)
    say(clock, f"teacher: {sum(p.numel() for p in model.parameters())} parameters")
    heads = Heads(args.width).to(device)
    trained = Trained(f"teacher {number}", model, heads, TEACHER_WEIGHTS, 0.02, 2e-3, 0.02, 0.08)
    batch = [int(count) for count in args.teacher_batch.split(",")]
    drawer = FlankedDrawer(
        proteins, *batch, args.crop, seed=args.seed + 100 * number, share=args.teacher_flanked,
        remote_count=args.remote,
    )
    loop = Loop(trained, drawer, clock, kind, until, False)
    best, best_value, asked = None, -1.0, clock()
    while clock() < until:
        loop.step()
        if clock() - asked > args.ask_every or (clock() >= until and trained.step):
            averaged = trained.averaged()
            values = ask(clock, f"{trained.name} step {trained.step}", averaged, proteins, kind, args)
            value = values["superfamily"] + 0.5 * (values["family"] + values["cR@10"]) + values["SEPQ1"]
            if best is None or value >= best_value - 0.005:
                best, best_value = averaged, value
                say(clock, f"step {trained.step} is to teach")
            asked = clock()
    write_teacher(best, args.out, number)
    return best


def write_teacher(model, folder, number):
    """Two files of about half the weights each, a byte a weight, as teacher_bytes.py stores them."""
    weights = {name: rows_in_bytes(weight.float().cpu()) for name, weight in model.state_dict().items()}
    names = sorted(weights)
    for part in range(2):
        chosen = {name: weights[name] for name in names[part::2]}
        state = dict(settings=plain(model.settings), about={}, weights=chosen)
        write_whole(state, folder / f"teacher-{number}-{part}.pt")


def train_student(proteins, args, clock, kind, teacher, first, until):
    device = proteins.device
    student = copy_of(first, DROPOUT)
    heads = Heads(student.settings["width"]).to(device)
    trained = Trained("student", student, heads, TAUGHT_WEIGHTS, 0.012, 1.2e-3, 0.01, 0.06)
    batch = [int(count) for count in args.student_batch.split(",")]
    drawer = FlankedDrawer(
        proteins, *batch, args.crop, plain_end=proteins.clean_end, seed=args.seed + 1, share=args.student_flanked,
        remote_count=args.remote, clean_share=0.6,
    )
    drawn = drawer.draw()
    teaching = graphed.Teaching(teacher, kind, drawn.clean, drawn.clean_mask)
    loop = Loop(trained, drawer, clock, kind, until, True)
    states, asked = [], clock()
    while clock() < until:
        loop.step(teaching)
        if clock() - asked > args.ask_every:
            save(states, trained, args, clock, proteins, kind, loop.share())
            asked = clock()
    save(states, trained, args, clock, proteins, kind, 1.0)


def save(states, trained, args, clock, proteins, kind, share):
    """Keeps the last state, and the last ones before each of KEPT_AT of the schedule."""
    averaged = trained.averaged()
    values = ask(clock, f"student step {trained.step}", averaged, proteins, kind, args)
    about = dict(step=trained.step, share=share, held_out=values)
    marks = sum(share >= mark for mark in KEPT_AT)
    if states and states[-1]["marks"] == marks:
        states.pop()
    weights = halves(averaged.state_dict())
    states.append(dict(settings=plain(averaged.settings), weights=weights, about=about, marks=marks))
    write_whole(states, args.out / "student.pt")


if __name__ == "__main__":
    main()
