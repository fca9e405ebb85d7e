"""Reads PTX: the text of one kernel, as a compiler emits it, into instructions.

    // a comment
    .visible .entry NAME(.param .u64 a) { .reg .b64 %rd<9>; $L: @%p1 bra $L; ret; }

Instructions keep their operands as text; `ptx_instructions` gives them their meaning.
"""

import re
from dataclasses import dataclass

WIDTHS = {f"{kind}{8 * size}": size for size in (1, 2, 4, 8) for kind in "bus"} | {
    "f32": 4,
    "f64": 8,
    "pred": 1,
}

MAX_THREADS = 1024

VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|common|weak)\s+)*\.(?P<space>shared|global|const|local|param)\s+"
    r"(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+(?P<name>[\w$%]+)"
    r"(?P<array>\[\d*\])?(?:\s*=\s*(?P<values>.*))?$",
    re.DOTALL,
)


class PtxError(Exception):
    """A text that the machine does not know, by name."""


@dataclass(frozen=True)
class Variable:
    """A variable or parameter: size 0 is dynamic shared memory, whose size the launch says."""

    name: str
    space: str
    type: str
    align: int
    size: int
    values: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """guard: the predicate register and whether it is negated, where there is one."""

    text: str
    parts: tuple[str, ...]
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None


@dataclass(frozen=True)
class Kernel:
    """registers: the type of each. labels: the place of each among the instructions."""

    name: str
    parameters: tuple[Variable, ...]
    registers: dict[str, str]
    variables: tuple[Variable, ...]
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    tables: dict[str, tuple[str, ...]]
    most_threads: int


def read_kernel(text):
    """Return the one kernel of a text. Raises PtxError where there is none, or more than that."""
    text = re.sub(r"(?s)/\*.*?\*/", "", text)
    text = re.sub(r"(?m)//.*|^\s*\.(?:loc|file|version|target|address_size)\b.*", "", text)
    if re.search(r"(?m)^\s*(?:\.\w+\s+)*\.func\b", text):
        raise PtxError("a function that is not inlined")
    heads = list(re.finditer(r"(?:\.\w+\s+)*\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)\{", text))
    if len(heads) != 1:
        raise PtxError(f"{len(heads)} kernels in a text")
    name, parameters, limits = heads[0].groups()
    end = _closing(text, heads[0].end())
    body, outside = text[heads[0].end() : end - 1], text[: heads[0].start()] + text[end:]
    variables = [_variable(statement) for statement in _statements(outside)]
    registers, labels, tables, instructions = {}, {}, {}, []
    for labelled in _statements(body):
        *names, statement = re.split(r"(?<=[\w$]):\s+", labelled)
        labels.update(dict.fromkeys(names, len(instructions)))
        if statement.startswith(".branchtargets"):
            tables[names[-1]] = tuple(_split(statement.removeprefix(".branchtargets")))
        elif statement.startswith(".reg"):
            _declare(statement, registers)
        elif statement.startswith((".shared", ".local")):
            variables.append(_variable(statement))
        elif statement and not statement.startswith(".pragma"):
            instructions.append(_instruction(statement))
    most = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)", limits)
    return Kernel(
        name,
        tuple(_variable(each) for each in _split(parameters)),
        registers,
        tuple(variables),
        tuple(instructions),
        labels,
        tables,
        int(most[1]) if most else MAX_THREADS,
    )


def _closing(text, place):
    """Return where the brace that was opened before a place is closed, and one further."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
    return place


def _statements(text):
    """Yield what ends in a semicolon; braces that only open or close a scope are left out."""
    for statement in text.split(";"):
        found = re.sub(r"^[\s{}]+", "", statement).strip()
        if found:
            yield found


def _variable(text):
    found = VARIABLE.match(text.strip())
    if not found or found["type"] not in WIDTHS:
        raise PtxError(f"unknown declaration: {text}")
    width = WIDTHS[found["type"]]
    count = int(found["array"][1:-1] or 0) if found["array"] else 1
    values = tuple(_split((found["values"] or "").strip("{} \n")))
    align = int(found["align"] or width)
    return Variable(found["name"], found["space"], found["type"], align, count * width, values)


def _declare(text, registers):
    kind, names = re.match(r"(?s)\.reg\s+\.(\w+)\s+(.*)", text).groups()
    if kind not in WIDTHS:
        raise PtxError(f"unknown declaration: {text}")
    for name in _split(names):
        many = re.match(r"(.*)<(\d+)>$", name)
        found = [f"{many[1]}{number}" for number in range(int(many[2]))] if many else [name]
        registers.update(dict.fromkeys(found, kind))


def _instruction(text):
    text = " ".join(text.split())
    guard, opcode, operands = re.match(r"(?:@(!?\S+)\s+)?([\w.:]+)\s*(.*)", text).groups()
    return Instruction(
        text,
        tuple(opcode.split(".")),
        tuple(_split(operands)),
        (guard.lstrip("!"), guard.startswith("!")) if guard else None,
    )


def _split(text):
    """Split at the commas outside of brackets and braces."""
    return [part.strip() for part in re.split(r",(?![^{\[]*[}\]])", text) if part.strip()]
