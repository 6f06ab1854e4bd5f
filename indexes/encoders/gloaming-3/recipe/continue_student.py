#!/usr/bin/env python3
"""Teaches one student for longer, in one or more runs: continue_student.py PACKED TEACHER.pt FIRST.pt STATE OUT [...]

PACKED is what pack.py wrote; masked-only proteins are not needed. TEACHER.pt is of teacher_bytes.py, FIRST.pt a state
of unpack_student.py with which the student begins: further blocks are inserted, whose output is zero at first, so that
the student begins as FIRST. STATE is a folder that the next run of the same machine goes on from (--resume). OUT
receives the student's states in student.pt. The rate of learning follows the planned time of all runs.
"""
import argparse
import pathlib

import torch

from dev_figures import DevFigures
from drawing import Drawer, Proteins
from outputs import Outputs
from run_stages import axes, copy_of, load_student, survive
from stages import LOG_EVERY, TAUGHT_WEIGHTS, StudentStage, Trained, timer
from student import Student
from teacher import Heads
from teacher_bytes import read_teacher
from unpack import read_arrays

# The added blocks stand after the last of gloaming-1's, so that the earlier ones keep the inputs they have learnt on.
ADDED_DILATIONS = (2, 8, 4, 1)


def main():
    args = read_arguments()
    clock = timer()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(args.seed + args.resume)
    proteins = Proteins(read_arrays(args.packed), device)
    first = load_student(args.first, device)
    teacher = read_teacher(args.teacher, device)
    print(f"[{clock():6.1f}s] {device} {torch.__version__}, {len(proteins.tokens)} residues", flush=True)
    out = Outputs(args.out)
    rotation = axes(teacher, first, proteins, kind, 10 if args.tiny else 400)
    student = deepened(first, args.dropout).to(device)
    heads = Heads(student.settings["width"]).to(device)
    trained = Trained("student", student, heads, TAUGHT_WEIGHTS, 0.015, 1.5e-3, 0.01, 0.05)
    done = restore(args.state, trained, rotation) if args.resume else args.done
    stage = Continued(proteins, args, clock, kind, out)
    stage.teach(teacher, rotation, trained, done)
    if args.dev:
        survive(measure, args, clock, kind, device, first, teacher, trained.averaged())


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("packed", "teacher", "first", "state", "out"):
        ap.add_argument(name, type=pathlib.Path)
    ap.add_argument("--seconds", type=float, default=520, help="of this run, start-up included")
    ap.add_argument("--planned", type=float, default=640, help="of training in all runs")
    ap.add_argument("--resume", action="store_true")
    ap.add_argument("--done", type=float, default=0.0, help="share of the planned training that FIRST has had")
    ap.add_argument("--last", action="store_true", help="the rate falls to its end within this run")
    ap.add_argument("--dev", action="store_true", help="dev figures after training")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--crop", type=int, default=192)
    ap.add_argument("--dropout", type=float, default=0.03)
    ap.add_argument("--batch", default="24,64,16,96", help="labelled, natural pairs, singles, plain")
    ap.add_argument("--ask-every", type=float, default=60, help="seconds between held-out figures")
    ap.add_argument("--tiny", action="store_true", help="few queries, to try the script")
    return ap.parse_args()


def deepened(first, dropout):
    """`first` with more blocks after its own, whose last layer gives zero."""
    settings = first.settings
    if len(settings["dilations"]) > 8:
        return copy_of(first, dropout)
    student = Student(**{**settings, "dilations": (*settings["dilations"], *ADDED_DILATIONS), "dropout": dropout})
    student.load_state_dict({**student.state_dict(), **first.state_dict()})
    for block in student.blocks[len(settings["dilations"]) :]:
        torch.nn.init.zeros_(block.up.weight)
        torch.nn.init.zeros_(block.up.bias)
    return student


class Continued(StudentStage):
    def teach(self, teacher, rotation, trained, done):
        """Trains until --seconds; `done` is the share of the planned training that earlier runs made."""
        args = self.args
        batch = [int(count) for count in args.batch.split(",")]
        end = self.proteins.clean_end
        drawer = Drawer(self.proteins, *batch, args.crop, plain_end=end, seed=args.seed + 1 + 100 * args.resume)
        begin, asked, students = self.clock(), self.clock(), [trained]
        rest = (1 - done) / (args.seconds - begin) if args.last else 1 / args.planned
        share = done
        while self.clock() < args.seconds and students:
            share = min(1.0, done + (self.clock() - begin) * rest)
            self.step(drawer, teacher, rotation, trained, students, share)
            if trained.step % LOG_EVERY == 0:
                trained.report(self.clock())
            if self.clock() - asked > args.ask_every:
                self.save([trained], f"{trained.step}", keep=True)
                asked = self.clock()
        self.save([trained], f"{trained.step}", keep=True)
        keep(args.state, trained, rotation, share)
        print(f"[{self.clock():6.1f}s] {trained.step} steps, share {share:.3f}", flush=True)

    def step(self, drawer, teacher, rotation, trained, students, share):
        drawn = drawer.draw()
        clean = torch.rand(len(drawn.ids), 1, device=self.device) < 0.5
        drawn.ids = torch.where(clean, drawn.original, drawn.ids)
        drawn.masked = drawn.masked & ~clean
        with torch.no_grad():
            taught = teacher(drawn.original, drawn.mask, self.kind) @ rotation
        self.one(trained, students, drawn, taught, share)


def keep(folder, trained, rotation, share):
    folder.mkdir(parents=True, exist_ok=True)
    state = dict(
        model=trained.model.state_dict(), heads=trained.heads.state_dict(), step=trained.step, share=share,
        adam=trained.optimizers.adam.state_dict(), muon=trained.optimizers.muon.buffers, rotation=rotation,
        slow=trained.average.slow, averaged=trained.average.steps, slowed=trained.slowed,
    )
    torch.save(state, folder / "state.pt")


def restore(folder, trained, rotation):
    """Puts the state of an earlier run in place; returns the share of the planned training that it made."""
    device = rotation.device
    state = torch.load(folder / "state.pt", map_location=device)
    trained.model.load_state_dict(state["model"])
    trained.heads.load_state_dict(state["heads"])
    trained.optimizers.adam.load_state_dict(state["adam"])
    trained.optimizers.muon.buffers = state["muon"]
    rotation.copy_(state["rotation"])
    trained.average.slow, trained.average.steps = state["slow"], state["averaged"]
    trained.step, trained.slowed = state["step"], state["slowed"]
    trained.good = trained.average.weights()
    return state["share"]


def measure(args, clock, kind, device, first, teacher, student):
    dev = DevFigures(args.packed, device, kind, args.tiny)
    for name, model in (("first", first), ("student", student), ("teacher", teacher)):
        print(f"[{clock():6.1f}s] dev {name}: {dev.of(model, False)}", flush=True)


if __name__ == "__main__":
    main()
