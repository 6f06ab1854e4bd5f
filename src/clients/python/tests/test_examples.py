"""Completeness of the documentation."""

import inspect

import gloaming


def public_callables():
    for name in gloaming.__all__:
        value = getattr(gloaming, name)
        yield name, value
        if inspect.isclass(value):
            for member, function in vars(value).items():
                target = function.fget if isinstance(function, property) else getattr(function, "__func__", function)
                if not member.startswith("_") and inspect.isroutine(target):
                    yield f"{name}.{member}", target


def test_every_public_function_has_an_example():
    without = [
        name
        for name, value in public_callables()
        if inspect.isroutine(value) and ">>>" not in (inspect.getdoc(value) or "")
    ]
    assert without == []


def test_everything_public_is_documented():
    assert [name for name, value in public_callables() if not (value.__doc__ or "").strip()] == []


def test_the_two_clients_have_the_same_methods():
    def methods(of):
        return {name: list(inspect.signature(value).parameters) for name, value in vars(of).items() if name[0] != "_"}

    assert methods(gloaming.AsyncGloaming) == methods(gloaming.Gloaming)
    assert methods(gloaming.AsyncRun) == methods(gloaming.Run)
