"""A node of an .et file as plain values (docs/et_format.md)."""
import ast
import dataclasses
import re
import typing


class Argument(typing.NamedTuple):
    """One input or output. A tensor's value is [tensor id, storage id, offset, elements, item bytes,
    device]; None is nothing (and objects, generators)."""
    value: typing.Any
    shape: list
    type: str


@dataclasses.dataclass
class Node:
    """Attributes have the type of their field: int, float, bool, str, bytes, or a list of those."""
    id: int
    name: str
    type: str  # "COMP_NODE", "COMM_COLL_NODE", …
    data_deps: list
    ctrl_deps: list
    start_ns: int  # from the header's base_ns; whole microseconds where others wrote the file
    duration_ns: int
    attributes: dict
    storage: typing.Optional[dict]  # of storage nodes: {"level": …, "fs": {…}}, numbers as files have them
    _io: typing.Any = dataclasses.field(repr=False)

    @property
    def inputs(self):
        """List of Argument; empty if none were recorded. ValueError if the text is no list."""
        return _arguments(self._io.inputs)

    @property
    def outputs(self):
        return _arguments(self._io.outputs)


# Chakra's NodeType.
TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE",
         "COMM_COLL_NODE", "STORAGE_NODE", "BATCH_NODE", "CHECKPOINT_NODE")


def to_node(message):
    """A Node of protobuf's message, which it keeps for its arguments."""
    attributes = to_attributes(message.attr)
    return Node(id=message.id, name=message.name,
                type=TYPES[message.type] if 0 <= message.type < len(TYPES) else TYPES[0],
                data_deps=list(message.data_deps), ctrl_deps=list(message.ctrl_deps),
                start_ns=attributes.pop("start_ns", message.start_time_micros * 1000),
                duration_ns=attributes.pop("duration_ns", message.duration_micros * 1000),
                attributes=attributes, storage=_storage(message), _io=message)


def _storage(message):
    if not message.HasField("storage"):
        return None
    detail = message.storage.WhichOneof("detail")
    storage = {"level": message.storage.level}
    if detail is not None:
        of = getattr(message.storage, detail)
        storage[detail] = {field.name: getattr(of, field.name) for field in of.DESCRIPTOR.fields}
    return storage


def to_attributes(messages):
    attributes = {}
    for attribute in messages:
        field = attribute.WhichOneof("value")
        if field is not None:
            value = getattr(attribute, field)
            attributes[attribute.name] = list(value.values) if field.endswith("_list") else value
    return attributes


class _NotFinite(ast.NodeTransformer):
    """inf and nan stand in the text like numbers."""

    def visit_Name(self, node):  # pylint: disable=invalid-name
        if node.id in ("inf", "nan"):
            return ast.copy_location(ast.Constant(float(node.id)), node)
        return node


def _parse(text):
    """A list as Python prints it."""
    if "inf" in text or "nan" in text:
        tree = _NotFinite().visit(ast.parse(text, mode="eval")).body
        # literal_eval knows no -inf, for inf is no literal.
        return _evaluate(tree)
    return ast.literal_eval(text)


def _evaluate(tree):
    if isinstance(tree, ast.List):
        return [_evaluate(element) for element in tree.elts]
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_evaluate(tree.operand)
    return ast.literal_eval(tree)


def arguments(*texts):
    """List of Argument of the texts of an IOInfo, as Node.inputs has them."""
    if not texts[0]:
        return []
    try:
        values, shapes, types = (_parse(text or "[]") for text in texts)
    except (SyntaxError, TypeError, ValueError, RecursionError) as error:
        # Not where Python had it in memory: equal texts have equal messages.
        why = re.sub(r": <ast\.\w+ object at 0x[0-9a-f]+>", "", str(error))
        raise ValueError(f"arguments are no list of literals: {why}") from error
    nothing = [[]] * len(values)
    return [Argument(None if value == "<None>" and kind == "None" else value, shape, kind)
            for value, shape, kind in zip(values, shapes or nothing, types or [""] * len(values))]


def _arguments(info):
    return arguments(info.values, info.shapes, info.types)
