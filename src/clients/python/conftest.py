"""Runs the tests and the examples of the docstrings against the appliance that GLOAMING_URL names.

`npx vitest run --config config/vitest.config.mjs test/clients/python.test.ts` starts one, with a simulated database.
"""

import ast
import asyncio
import base64
import doctest
import hashlib
import hmac
import importlib.util
import inspect
import json
import os
import time
from types import SimpleNamespace

import pytest

from gloaming import AsyncGloaming, Gloaming

#: Examples that need a package which is not on every machine.
NEEDS = {"to_pandas": "pandas", "to_arrow": "pyarrow", "to_polars": "polars", "to_searchio": "Bio"}

LOOP = asyncio.new_event_loop()


def compile_example(source, filename, mode, flags, dont_inherit):
    return compile(source, filename, mode, flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit)


def run_example(code, globs):
    outcome = eval(code, globs)
    if inspect.iscoroutine(outcome):
        LOOP.run_until_complete(outcome)


# Examples of the client for event loops use `await` as `python3 -m asyncio` takes it. These globals of the module shadow
# the built-in functions of the same names.
doctest.compile, doctest.exec = compile_example, run_example


@pytest.fixture(scope="session")
def protein():
    """A protein of the simulated database."""
    return os.environ["GLOAMING_TEST_PROTEIN"]


@pytest.fixture(scope="session")
def client():
    with Gloaming() as opened:
        yield opened


@pytest.fixture
def fasta_file(tmp_path, protein):
    path = tmp_path / "proteins.fasta"
    path.write_text(f">one first\n{protein}\n>two\n{protein[:40]}\n{protein[40:]}\n")
    return path


def signed(body, secret="whsec_" + base64.b64encode(b"k" * 32).decode(), at=None):
    """A message as the appliance sends it."""
    timestamp = str(int(at if at is not None else time.time()))
    key = base64.b64decode(secret[len("whsec_") :])
    mac = hmac.new(key, f"msg_1.{timestamp}.".encode() + body, hashlib.sha256).digest()
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }
    return SimpleNamespace(body=body, headers=headers, secret=secret)


@pytest.fixture
def sign():
    return signed


@pytest.fixture(autouse=True)
def examples(request, doctest_namespace, client, protein, fasta_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    awaited = AsyncGloaming() if request.node.name.startswith("gloaming.aio.") else None
    doctest_namespace.update(
        client=awaited or client,
        protein=protein,
        fasta_file=fasta_file,
        folder=tmp_path,
        message=signed(json.dumps({"type": "run.completed"}).encode()),
    )
    yield
    if awaited is not None:
        LOOP.run_until_complete(awaited.close())


def pytest_collection_modifyitems(items):
    for item in items:
        package = NEEDS.get(item.name.rsplit(".", 1)[-1])
        if package is not None and importlib.util.find_spec(package) is None:
            item.add_marker(pytest.mark.skip(reason=f"{package} is not installed here"))
