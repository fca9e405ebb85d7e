"""The layers of a model over a part: its modules of PyG's MessagePassing, in the order of calls.

A model is not changed. Hooks give each layer the edges that it needs, and put embeddings that came
from other parts in the place of rows; gradients of these rows go back to where they came from.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.nn import GCNConv, MessagePassing
from torch_geometric.utils import add_remaining_self_loops

from raydb.errors import NotSupportedError
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    # Gives rows of a layer to other parts, and returns what they give: forward or backward.
    Swap = Callable[[str, int, NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """What each layer of a part works with.

    edges: of each layer, (2, edges) by rows. received: before each layer but the first, the rows
    that come from other parts; sent: those that others want. weights: of GCNConv, by layer, edges
    with loops and their weights.
    """

    edges: Sequence[torch.Tensor]
    received: Sequence[torch.Tensor]
    sent: Sequence[torch.Tensor]
    weights: Sequence[tuple[torch.Tensor, torch.Tensor]]


def layers_of(model: torch.nn.Module) -> list[tuple[str, MessagePassing]]:
    """Return the layers of a model and their names, but for those within another one."""
    found: list[tuple[str, MessagePassing]] = []
    for name, module in model.named_modules():
        if isinstance(module, MessagePassing) and not any(
            name.startswith(f"{outer}.") for outer, _ in found
        ):
            found.append((name, module))
    return found


def tried_layers(model: torch.nn.Module, x: torch.Tensor) -> tuple[list[str], list[int], Any]:
    """Run a model once; return the names of its layers by call, widths, and what comes out.

    x: features of two nodes, which have an edge each way. Widths are those of what layers take.
    """
    names: list[str] = []
    widths: list[int] = []
    hooks = []
    for name, layer in layers_of(model):

        def note(_: Any, given: Any, named: Any, name: str = name) -> None:
            names.append(name)
            widths.append(_first(given, named).shape[-1])

        hooks.append(layer.register_forward_pre_hook(note, with_kwargs=True))
    was_training = model.training
    try:
        model.eval()
        with torch.no_grad():
            out = model(x, torch.tensor([[0, 1], [1, 0]]))
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return names, widths, out


def _first(given: Any, named: Any) -> Any:
    x = given[0] if given else named["x"]
    if not isinstance(x, torch.Tensor):
        raise NotSupportedError(
            "a layer of the model takes a pair of embeddings; layers over parts take one tensor"
        )
    return x


def gcn_weights(edges: torch.Tensor, degree: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return edges with loops, and the weights that GCNConv gives them in the whole graph.

    degree: of each row, with its loop. In a part nodes at the margin have fewer edges.
    """
    looped, _ = add_remaining_self_loops(edges, num_nodes=len(degree))
    scale = degree.to(torch.float32).rsqrt()
    return looped, scale[looped[0]] * scale[looped[1]]


@contextmanager
def over_part(model: torch.nn.Module, layout: Layout, swap: Swap) -> Iterator[None]:
    """Let the layers of a model work as a layout says; each forward pass begins anew."""
    depth = 0
    layers = [layer for _, layer in layers_of(model)]
    weighted = {layer for layer in layers if _is_weighted(layer)}

    def begin(*_: Any) -> None:
        nonlocal depth
        depth = 0

    def before(layer: MessagePassing, given: Any, named: Any) -> tuple[Any, Any]:
        nonlocal depth
        x, rest, named = _first(given, named), list(given[1:]), dict(named)
        named.pop("x", None)
        if depth and (len(layout.received[depth - 1]) or len(layout.sent[depth - 1])):
            sent, received = layout.sent[depth - 1], layout.received[depth - 1]
            x = _Exchanged.apply(x, sent, received, swap, depth)
        edges = layout.edges[depth]
        if layer in weighted:
            edges, weights = layout.weights[depth]
            named.pop("edge_weight", None)
            del rest[1:]
            named["edge_weight"] = weights
        if rest:
            rest[0] = edges
        else:
            named["edge_index"] = edges
        depth += 1
        return (x, *rest), named

    hooks = [model.register_forward_pre_hook(begin)]
    hooks += [layer.register_forward_pre_hook(before, with_kwargs=True) for layer in layers]
    try:
        for layer in weighted:
            layer.normalize = False
        yield
    finally:
        for layer in weighted:
            layer.normalize = True
        for hook in hooks:
            hook.remove()


def _is_weighted(layer: MessagePassing) -> bool:
    """Tell whether a layer weights edges by the degrees of both ends, loops included."""
    return (
        isinstance(layer, GCNConv)
        and layer.normalize
        and layer.add_self_loops
        and not layer.improved
    )


class _Exchanged(torch.autograd.Function):
    """Rows of embeddings sent, others received; gradients go the other way."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        sent: torch.Tensor,
        received: torch.Tensor,
        swap: Swap,
        depth: int,
    ) -> torch.Tensor:
        """Return the embeddings with those that were received."""
        ctx.sent, ctx.received, ctx.swap, ctx.depth = sent, received, swap, depth
        rows = swap("forward", depth, x[sent].detach().numpy())
        out = x.clone()
        out[received] = torch.from_numpy(np.array(rows, np.float32))
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        """Return the gradients of what was there before."""
        theirs = ctx.swap("backward", ctx.depth, grad[ctx.received].numpy())
        grad = grad.clone()
        grad[ctx.received] = 0
        grad[ctx.sent] += torch.from_numpy(np.array(theirs, np.float32))
        return grad, None, None, None, None
