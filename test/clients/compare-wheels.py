"""Fails where two wheels differ in their files or in what they say of themselves.

usage: compare-wheels.py WHEEL WHEEL
"""

import email
import sys
import zipfile

FACTS = ("Name", "Version", "Summary", "Requires-Python", "Requires-Dist", "Provides-Extra")


def read(path):
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        files = {name: wheel.read(name) for name in wheel.namelist()}
    metadata = next(content for name, content in files.items() if name.endswith("/METADATA"))
    told = email.message_from_bytes(metadata)
    facts = {name: sorted(text.replace("'", '"') for text in told.get_all(name)) for name in FACTS}
    sources = {name: content for name, content in files.items() if ".dist-info/" not in name}
    return sources, facts, told.get_payload().strip()


first, second = map(read, sys.argv[1:])
assert first[0] == second[0], set(first[0]) ^ set(second[0])
assert first[1] == second[1], (first[1], second[1])
assert first[2] == second[2]
