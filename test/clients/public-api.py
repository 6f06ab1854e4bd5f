"""Prints the public names of the Python client with their signatures, one a line, sorted; then code, class and type of
each refusal.

usage: PYTHONPATH=<folder of the package> python3 public-api.py
"""

import inspect

import gloaming
from gloaming.codes import BY_CODE
from gloaming.errors import BY_TYPE

PUBLIC = [getattr(gloaming, name) for name in sorted(gloaming.__all__)]
TYPES = {base: type_ for type_, base in BY_TYPE.items()}


def signature_of(value):
    return str(inspect.signature(value)).replace("'", "").replace('"', "")


def members_of(value):
    """Members by name that the class or a private class of the package below it declares."""
    private = [base for base in value.__mro__[1:] if base.__module__.startswith("gloaming.") and base not in PUBLIC]
    declared = {name: member for base in (*reversed(private), value) for name, member in vars(base).items()}
    return {name: member for name, member in sorted(declared.items()) if name[0] != "_" or name == "__init__"}


for value in PUBLIC:
    if not inspect.isclass(value):
        print(value.__name__ + signature_of(value))
        continue
    print(f"{value.__name__}({', '.join(base.__name__ for base in value.__bases__)})")
    for name, member in members_of(value).items():
        function = getattr(member, "__func__", member)
        kind = "async " if inspect.iscoroutinefunction(function) else ""
        print(f"  {kind}{name}{signature_of(function) if inspect.isroutine(function) else ''}")
for code, value in sorted(BY_CODE.items()):
    print(f"{code} {value.__name__} {TYPES[value.__base__]}")
