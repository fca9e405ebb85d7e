"""A worker of a training: it has one part with its halo, and does an epoch when it is asked.

It keeps nothing of the model between epochs: parameters and moments come with each question, so
that another worker can go on in its place. What it answers are bytes for bytes; in the middle of an
epoch that is the rows which other parts want, and the next question brings theirs.
"""

from __future__ import annotations

import importlib
import pickle
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from raydb.engine.gnn.combining import BETAS
from raydb.engine.gnn.layers import Layout, gcn_weights, over_part
from raydb.engine.gnn.messages import decode, encode
from raydb.errors import Error, ProgrammingError
from raydb.kernels.graph.halo import Part, Plan, plan_layers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.gnn.messages import Arrays


class _Turn:
    """The turn to use torch's generator, which belongs to the process: one worker at a time.

    Each has a state of its own, and the program finds the generator as it was.
    """

    _lock = threading.Lock()

    def __init__(self) -> None:
        self._own = self._program = torch.get_rng_state()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._program = torch.get_rng_state()
        torch.set_rng_state(self._own)

    def __exit__(self, *_: object) -> None:
        self._own = torch.get_rng_state()
        torch.set_rng_state(self._program)
        self._lock.release()


# What is summed up over nodes, by whether labels are classes.
_LOSSES = {True: torch.nn.functional.cross_entropy, False: torch.nn.functional.mse_loss}


class _AbandonedError(Exception):
    """The epoch begins anew, since another worker is lost."""


def arrays_of(model: torch.nn.Module) -> Arrays:
    """Return the parameters and buffers of a model."""
    found = {f"p/{name}": each.detach().numpy() for name, each in model.named_parameters()}
    return found | {f"b/{name}": each.detach().numpy() for name, each in model.named_buffers()}


def load_arrays(model: torch.nn.Module, arrays: Arrays) -> None:
    """Give a model parameters and buffers. Raises ProgrammingError where they are another's."""
    own = {f"p/{name}": each for name, each in model.named_parameters()}
    own |= {f"b/{name}": each for name, each in model.named_buffers()}
    with torch.no_grad():
        for name, each in own.items():
            if name not in arrays or arrays[name].shape != tuple(each.shape):
                raise ProgrammingError(
                    f"the model's '{name[2:]}' has the shape {tuple(each.shape)}, and what was kept"
                    f" has {arrays[name].shape if name in arrays else 'none'}"
                )
            each.copy_(torch.from_numpy(np.array(arrays[name])))


def adam(model: torch.nn.Module, said: Any, arrays: Arrays) -> torch.optim.Adam:
    """Return Adam over a model, going on from moments where there are some.

    said: its `lr`, its `weight_decay` and how many steps it has taken, `steps`.
    """
    optimizer = torch.optim.Adam(
        model.parameters(), said["lr"], BETAS, weight_decay=said["weight_decay"]
    )
    for name, each in model.named_parameters():
        if f"m/{name}" in arrays:
            optimizer.state[each] = {
                "step": torch.tensor(float(said["steps"])),
                "exp_avg": torch.from_numpy(np.array(arrays[f"m/{name}"])),
                "exp_avg_sq": torch.from_numpy(np.array(arrays[f"v/{name}"])),
            }
    return optimizer


def moments_of(model: torch.nn.Module, optimizer: torch.optim.Adam) -> Arrays:
    """Return the moments of all parameters that have some."""
    found: Arrays = {}
    for name, each in model.named_parameters():
        state = optimizer.state.get(each)
        if state:
            found[f"m/{name}"] = state["exp_avg"].numpy()
            found[f"v/{name}"] = state["exp_avg_sq"].numpy()
    return found


def imported_model(place: str) -> torch.nn.Module:
    """Return the model that a function makes. Raises ProgrammingError for what is none.

    place: 'module:function'.
    """
    module, _, function = place.partition(":")
    try:
        model = getattr(importlib.import_module(module), function)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ProgrammingError(
            f"the model '{place}' is not a function 'module:function' that makes one: {error}"
        ) from error
    if not isinstance(model, torch.nn.Module):
        raise ProgrammingError(f"'{place}' has not made a torch.nn.Module, but {type(model)}")
    return model


class Worker:
    """Answers the questions about one part.

    model: None where it comes with the part. may_unpickle: whether it may be a pickle, from the
    program whose process this is.
    """

    def __init__(self, model: torch.nn.Module | None = None, *, may_unpickle: bool = False) -> None:
        self._model, self._may_unpickle = model, may_unpickle
        self._inbox: queue.SimpleQueue[tuple[dict[str, Any], Arrays]] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waited, self._turn = 0.0, _Turn()

    def answer(self, question: bytes) -> bytes:
        """Return the answer to a question, whatever happens."""
        try:
            said, arrays = decode(question)
            match said["say"]:
                case "part":
                    self._take_part(said, arrays)
                    return encode({"say": "ready"})
                case "plan":
                    return encode({"say": "ready", "counts": self._take_plan(said, arrays)})
                case "probe":
                    return encode({"say": "ready", **self._probe()})
                case "echo":
                    return encode({"say": "ready"}, {"echo": np.zeros(said["bytes"], np.uint8)})
                case "epoch":
                    work = threading.Thread(target=self._work, args=(said, arrays), daemon=True)
                    work.start()
                case _:
                    self._inbox.put((said, arrays))
            return self._outbox.get()
        except Exception as error:  # noqa: BLE001  (the coordinator raises it)
            return _failure(error)

    # -- what comes before the first epoch

    def _take_part(self, said: dict[str, Any], arrays: Arrays) -> None:
        if said["threads"]:
            torch.set_num_threads(said["threads"])
        if said["factory"]:
            self._model = imported_model(said["factory"])
        elif "model" in arrays:
            if not self._may_unpickle:
                raise ProgrammingError("workers of a cluster import their model")
            self._model = pickle.loads(arrays["model"].tobytes())  # noqa: S301  (of our program)
        assert self._model is not None
        ends = tuple(said["ends"])
        # Nobody asks a worker for the numbers of its nodes.
        nodes = np.empty(ends[-1], np.int64)
        self._part = Part(nodes, ends, arrays["starts"], arrays["sources"])
        self._x = torch.from_numpy(np.array(arrays["x"]))
        self._degree = torch.from_numpy(np.array(arrays["degree"]))
        self._train = torch.from_numpy(np.array(arrays["train"]))
        self._labels = torch.from_numpy(np.array(arrays["labels"]))
        self._loss = _LOSSES[said["are_classes"]]
        self._names = said["layers"]

    def _take_plan(self, said: dict[str, Any], arrays: Arrays) -> list[int]:
        is_received = np.zeros(len(self._part.nodes), bool)
        is_received[arrays["received"]] = True
        plan = plan_layers(self._part, is_received)
        self._rows = torch.from_numpy(plan.rows)
        degree = self._degree[self._rows]
        edges = [torch.from_numpy(each) for each in plan.edges]
        sent = [torch.from_numpy(np.array(arrays[f"sent/{d}"])) for d in range(len(edges) - 1)]
        received = [torch.from_numpy(each) for each in plan.received]
        weights = [gcn_weights(each, degree) for each in edges] if said["has_weights"] else []
        self._layout = Layout(edges, received, sent, weights)
        return _contributing(plan, self._train.numpy())

    def _probe(self) -> dict[str, float]:
        """Return the seconds that an epoch takes for each row, and for each edge of a layer."""
        none = [each[:, :0] for each in self._layout.edges]
        with self._turn:
            whole = self._time(self._layout)
            degree = self._degree[self._rows]
            weights = [gcn_weights(each, degree) for each in none]
            bare = self._time(Layout(none, self._layout.received, self._layout.sent, weights))
        edge_count = sum(each.shape[1] for each in self._layout.edges)
        return {
            "node": min(bare, whole) / max(len(self._rows), 1),
            "edge": max(whole - bare, 0.0) / max(edge_count, 1),
            "whole": whole,
        }

    def _time(self, layout: Layout) -> float:
        assert self._model is not None
        times = []
        for _ in range(3):
            start = time.perf_counter()
            self._gradients(layout, "mean")
            times.append(time.perf_counter() - start)
        return min(times)

    # -- an epoch, on a thread of its own

    def _work(self, said: dict[str, Any], arrays: Arrays) -> None:
        try:
            with self._turn:
                found = self._epoch(said, arrays)
            self._outbox.put(found)
        except _AbandonedError:
            self._outbox.put(encode({"say": "abandoned"}))
        except Exception as error:  # noqa: BLE001  (the coordinator raises it)
            self._outbox.put(_failure(error))

    def _epoch(self, said: dict[str, Any], arrays: Arrays) -> bytes:
        model = self._model
        assert model is not None
        self._waited = 0.0
        load_arrays(model, arrays)
        model.train()
        torch.manual_seed(said["seed"])
        self._round = said["round"]
        if said["combine"] == "average":
            optimizer = adam(model, said, arrays)
            losses = []
            for _ in range(said["epochs"]):
                losses.append(self._gradients(self._layout, "mean") * len(self._train))
                optimizer.step()
            found = arrays_of(model) | moments_of(model, optimizer)
        else:
            losses = [self._gradients(self._layout, "sum")]
            found = {
                f"g/{name}": np.zeros(each.shape, np.float32)
                if each.grad is None
                else each.grad.numpy()
                for name, each in model.named_parameters()
            }
            found |= {name: each for name, each in arrays_of(model).items() if name[0] == "b"}
        return encode({"say": "done", "losses": losses, "waited": self._waited}, found)

    def _gradients(self, layout: Layout, reduction: str) -> float:
        """Leave the gradients of the loss in the parameters, and return it."""
        model = self._model
        assert model is not None
        model.zero_grad()
        with over_part(model, layout, self._swap):
            # Layers take the edges of the layout, and whoever else asks those of the last one.
            out = model(self._x[self._rows], layout.edges[-1])
            if len(self._train):
                chosen = out[self._train]
                if chosen.ndim == 2 and chosen.shape[1] == 1 and self._labels.ndim == 1:
                    chosen = chosen[:, 0]
                loss = self._loss(chosen, self._labels, reduction=reduction)
            else:  # Others may want gradients of what it has sent.
                loss = out.sum() * 0
            loss.backward()
        return float(loss.item())

    def _swap(self, direction: str, depth: int, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give rows to other parts, and return theirs."""
        said = {"say": "rows", "direction": direction, "depth": depth, "round": self._round}
        start = time.perf_counter()
        self._turn.__exit__()
        try:
            self._outbox.put(encode(said, {"rows": rows}))
            said, arrays = self._inbox.get()
        finally:
            self._turn.__enter__()
        self._waited += time.perf_counter() - start
        if said["say"] == "abandon":
            raise _AbandonedError
        return arrays["rows"]


def _contributing(plan: Plan, train: NDArray[np.int64]) -> list[int]:
    """Return how many rows contribute to gradients at each layer, and how many are trained on.

    A search from the training nodes against the edges: NeutronCloud, section 5.3.
    """
    is_in = np.zeros(len(plan.rows), bool)
    is_in[train] = True
    counts = [len(train)]
    for depth in range(len(plan.edges) - 1, -1, -1):
        counts.append(int(is_in.sum()))
        source, target = plan.edges[depth]
        is_in[source[is_in[target]]] = True
        if depth:
            is_in[plan.received[depth - 1]] = False
    return counts[::-1]


def _failure(error: Exception) -> bytes:
    kind, text = "OperationalError", f"{type(error).__name__}: {error}"
    if isinstance(error, Error):
        kind, text = type(error).__name__, error.sentence
    elif isinstance(error, MemoryError):
        text = "its memory is too small"
    return encode({"say": "error", "kind": kind, "text": text})
