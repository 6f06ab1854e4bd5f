"""Calls the function of a client's own file that asks ColabFold's server, unchanged; prints what it made as JSON.

usage: run-client.py FILE HOST_URL SEQUENCE...

ColabFold's colabfold.py and Boltz's mmseqs2.py have run_mmseqs2, Chai's colabfold.py has _run_mmseqs2, and Protenix's
colab_request_utils.py run_mmseqs2_service, which is given FASTA and leaves files.
"""

import importlib.util
import inspect
import json
import os
import sys
import tempfile
import time
from os.path import join
from unittest.mock import MagicMock

file, host_url, *sequences = sys.argv[1:]

# Five to sixty seconds between two questions are for servers of others.
pause = time.sleep
time.sleep = lambda seconds: pause(min(seconds / 50, 0.2))


def load(path):
    """The file as a module; what it imports besides, and the function does not use, may be absent."""
    while True:
        spec = importlib.util.spec_from_file_location("client", path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            return module
        except ModuleNotFoundError as error:
            sys.modules[error.name] = MagicMock(__version__="0")


def by_lines(ask, folder):
    """Of a function that returns the lines of each sequence, and those of templates where it can be asked for any."""
    has_templates = "use_templates" in inspect.signature(ask).parameters
    more = {"use_templates": True} if has_templates else {}
    found = ask(sequences, join(folder, "alone"), host_url=host_url, **more)
    paired = ask(sequences, join(folder, "paired"), use_pairing=True, host_url=host_url)
    # Chai's function returns a pair whatever it was asked for.
    paired = paired[0] if isinstance(paired, tuple) else paired
    alone, templates = found if has_templates else (found, None)
    if isinstance(templates, str):
        with open(templates) as lines:
            templates = lines.read().splitlines()
    return {"alone": alone, "templates": templates or [], "paired": paired}


def by_files(ask, folder):
    """Of Protenix's function, as Protenix calls it: for each sequence, then for all together."""
    records = [f">query_{at}\n{sequence}" for at, sequence in enumerate(sequences)]
    settings = {"pairing_strategy": "greedy", "host_url": host_url, "server_mode": "colabfold"}
    alone = [
        read(ask(record, join(folder, str(at)), **settings), "non_pairing.a3m") for at, record in enumerate(records)
    ]
    together = join(folder, "complex")
    ask("\n".join(records), together, use_pairing=True, **settings)
    paired = [read(join(together, str(at)), "pairing.a3m") for at in range(len(records))]
    return {"alone": alone, "templates": [], "paired": paired}


def read(folder, name):
    with open(join(folder, name)) as lines:
        return lines.read()


client = load(file)
# Only the last line is the answer.
shown, sys.stdout = sys.stdout, sys.stderr
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if hasattr(client, "run_mmseqs2_service"):
        made = by_files(client.run_mmseqs2_service, folder)
    else:
        made = by_lines(getattr(client, "run_mmseqs2", None) or client._run_mmseqs2, folder)
print(json.dumps(made), file=shown)
