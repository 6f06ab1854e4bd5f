"""Calls run_mmseqs2 of a client's own file, unchanged, against a server; prints what it returned as JSON.

usage: run-client.py FILE HOST_URL SEQUENCE...
"""

import importlib.util
import json
import sys
import tempfile
import time
from os.path import join
from unittest.mock import MagicMock

file, host_url, *sequences = sys.argv[1:]

# What the file imports besides, and the function does not use.
for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.patheffects", "jax"):
    sys.modules[name] = MagicMock()

# Five to ten seconds between two questions are for servers of others.
pause = time.sleep
time.sleep = lambda seconds: pause(seconds / 50)

spec = importlib.util.spec_from_file_location("client", file)
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)

with tempfile.TemporaryDirectory() as folder:
    alone, templates = client.run_mmseqs2(
        sequences, join(folder, "alone"), use_templates=True, host_url=host_url
    )
    paired = client.run_mmseqs2(sequences, join(folder, "paired"), use_pairing=True, host_url=host_url)
print(json.dumps({"alone": alone, "templates": templates, "paired": paired}))
