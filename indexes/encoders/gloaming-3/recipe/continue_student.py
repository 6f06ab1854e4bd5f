#!/usr/bin/env python3
"""Teaches one student for longer: continue_student.py PACKED TEACHER.pt FIRST.pt OUT [--seconds S] [--span A B] [...]

PACKED is what pack.py wrote; masked-only proteins are not needed. TEACHER.pt is of teacher_bytes.py, FIRST.pt a state
of unpack_student.py with which the student begins. With --deepen further blocks follow, whose output is zero at first,
so that the student begins as FIRST. OUT receives the student's states in student.pt.
"""
import argparse
import pathlib

import torch

from drawing import Proteins
from outputs import Outputs
from run_stages import axes, copy_of, load_student
from stages import TAUGHT_WEIGHTS, StudentStage, Trained, set_up, timer
from student import Student
from teacher import Heads
from teacher_bytes import read_teacher
from unpack import read_arrays

# The added blocks stand after the last of gloaming-1's, so that the earlier ones keep the inputs they have learnt on.
ADDED_DILATIONS = (2, 8, 4, 1)
DROPOUT = 0.03


def main():
    args = read_arguments()
    clock = timer()
    device, kind = set_up(args.seed)
    proteins = Proteins(read_arrays(args.packed), device)
    first = load_student(args.first, device)
    teacher = read_teacher(args.teacher, device)
    print(f"[{clock():6.1f}s] {device} {torch.__version__}, {len(proteins.tokens)} residues", flush=True)
    rotation = axes(teacher, first, proteins, kind, 10 if args.tiny else 400)
    student = deepened(first).to(device) if args.deepen else copy_of(first, DROPOUT)
    heads = Heads(student.settings["width"]).to(device)
    trained = Trained("student", student, heads, TAUGHT_WEIGHTS, 0.015, 1.5e-3, 0.01, 0.05)
    batch = [int(count) for count in args.student_batch.split(",")]
    stage = StudentStage(proteins, args, clock, kind, Outputs(args.out))
    stage.run(teacher, rotation, [trained], args.seconds, batch, args.span)


def read_arguments():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("packed", "teacher", "first", "out"):
        ap.add_argument(name, type=pathlib.Path)
    ap.add_argument("--seconds", type=float, default=520, help="of this run, start-up included")
    ap.add_argument("--span", type=float, nargs=2, default=(0.0, 1.0), help="part of the schedule of rates")
    ap.add_argument("--deepen", action="store_true", help="with further blocks after those of FIRST")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--crop", type=int, default=192)
    ap.add_argument("--student-batch", default="24,64,16,96", help="labelled, natural pairs, singles, plain")
    ap.add_argument("--ask-every", type=float, default=60, help="seconds between held-out figures")
    ap.add_argument("--tiny", action="store_true", help="few queries, to try the script")
    return ap.parse_args()


def deepened(first):
    """`first` with more blocks after its own, whose last layer gives zero."""
    settings = first.settings
    student = Student(**{**settings, "dilations": (*settings["dilations"], *ADDED_DILATIONS), "dropout": DROPOUT})
    student.load_state_dict({**student.state_dict(), **first.state_dict()})
    for block in student.blocks[len(settings["dilations"]) :]:
        torch.nn.init.zeros_(block.up.weight)
        torch.nn.init.zeros_(block.up.bias)
    return student


if __name__ == "__main__":
    main()
