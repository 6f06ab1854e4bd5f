"""The files of a run: few, each below 16 MiB, written whole."""
import json
import os

import torch

from student import Student

KEPT = dict(deep=3, plain=4, control=3)


class Outputs:
    def __init__(self, folder):
        self.folder, self.figures, self.states = folder, {}, {}
        folder.mkdir(parents=True, exist_ok=True)

    def teacher(self, model, heads, about):
        """Two files of about half the weights each, in float16."""
        weights = halves(model.state_dict())
        names, total, sizes = sorted(weights), 0, sum(w.numel() for w in weights.values())
        parts = [{}, {}]
        for name in names:
            parts[int(total >= sizes / 2)][name] = weights[name]
            total += weights[name].numel()
        for at, part in enumerate(parts):
            state = dict(settings=plain(model.settings), weights=part, about=about)
            if at == 1:
                state["heads"] = halves(heads.state_dict())
            write_whole(state, self.folder / f"teacher-{at}.pt")

    def student(self, name, model, about, keep):
        """All kept states of a student in one file, the last one too."""
        states = self.states.setdefault(name, [])
        while states and not states[-1]["kept"]:
            states.pop()
        states.append(dict(settings=plain(model.settings), weights=halves(model.state_dict()), about=about, kept=keep))
        del states[: -KEPT.get(name, 3)]
        write_whole(states, self.folder / f"{name}.pt")

    def last_students(self, device):
        return [named(name, states[-1], device) for name, states in self.states.items()]

    def earlier_students(self, device):
        return [named(name, state, device) for name, states in self.states.items() for state in states[:-1]]

    def write_figures(self):
        (self.folder / "figures.json").write_text(json.dumps(self.figures, indent=1))


def named(name, state, device):
    """A label with the step, and the model."""
    student = Student(**state["settings"])
    student.load_state_dict({key: value.float() for key, value in state["weights"].items()})
    return f"{name} {state['about']['step']}", student.to(device).eval()


def plain(settings):
    return {key: list(value) if isinstance(value, (list, tuple)) else value for key, value in settings.items()}


def halves(weights):
    return {key: value.detach().half().cpu() for key, value in weights.items()}


def write_whole(state, path):
    """A reader, or a run that is killed, never meets half a file."""
    torch.save(state, path.with_suffix(".part"))
    os.replace(path.with_suffix(".part"), path)
