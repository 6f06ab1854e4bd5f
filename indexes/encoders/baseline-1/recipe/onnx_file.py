"""Writes ONNX models: the few messages of onnx.proto (ONNX 1.12, IR version 8) that the baseline needs, in
protobuf's wire format. Equal graphs give equal bytes, so that a committed model can be held against its recipe.
"""
import struct

IR_VERSION = 8
# Operators are read by the rules of this operator set.
OPERATOR_SET = 17
FLOAT32, INT64 = 1, 7
ATTRIBUTE_INT, ATTRIBUTE_INTS = 2, 7
WIRE_VARINT, WIRE_COUNTED = 0, 2


def model(name, description, inputs, outputs, constants, nodes):
    """Bytes of the model file; nodes in an order in which each follows what it reads."""
    graph = b"".join(
        [
            *(nested(1, part) for part in nodes),
            text(2, name),
            *(nested(5, part) for part in constants),
            *(nested(11, part) for part in inputs),
            *(nested(12, part) for part in outputs),
        ]
    )
    operators = text(1, "") + integer(2, OPERATOR_SET)
    return (
        integer(1, IR_VERSION) + text(2, "gloaming") + text(6, description) + nested(7, graph) + nested(8, operators)
    )


def node(operator, inputs, outputs, **attributes):
    return b"".join(
        [
            *(text(1, name) for name in inputs),
            *(text(2, name) for name in outputs),
            text(4, operator),
            *(nested(5, attribute(name, value)) for name, value in attributes.items()),
        ]
    )


def attribute(name, value):
    if isinstance(value, int):
        return text(1, name) + integer(3, value) + integer(20, ATTRIBUTE_INT)
    return text(1, name) + b"".join(integer(8, item) for item in value) + integer(20, ATTRIBUTE_INTS)


def tensor(name, kind, dims, values):
    """A constant that the model holds; its numbers are little-endian whatever the machine."""
    code = {FLOAT32: "f", INT64: "q"}[kind]
    packed = struct.pack(f"<{len(values)}{code}", *values)
    return b"".join(integer(1, dim) for dim in dims) + integer(2, kind) + text(8, name) + nested(9, packed)


def value(name, kind, dims):
    """A graph input or output; a dimension that is a name has any length."""
    shape = b"".join(nested(1, text(2, dim) if isinstance(dim, str) else integer(1, dim)) for dim in dims)
    tensor_type = integer(1, kind) + nested(2, shape)
    return text(1, name) + nested(2, nested(1, tensor_type))


# A field of protobuf's wire format is a tag (number << 3 | wire type) and a varint or a counted run.


def nested(field, content):
    return varint(field << 3 | WIRE_COUNTED) + varint(len(content)) + content


def text(field, words):
    return nested(field, words.encode())


def integer(field, number):
    return varint(field << 3 | WIRE_VARINT) + varint(number)


def varint(number):
    """Negative integers are written as their 64-bit two's complement, ten bytes long."""
    rest = number % 2**64
    groups = []
    while rest > 0x7F:
        groups.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*groups, rest])
