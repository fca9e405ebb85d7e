"""`raydb.gnn.train`: a model over the parts of a graph, from the tables to what was learnt."""

from __future__ import annotations

import copy
import math
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from raydb.engine.context.cluster_settings import WORKER_TIMEOUT
from raydb.engine.context.memory import parse_limit
from raydb.engine.context.progress import report
from raydb.engine.gnn.checkpoints import Checkpoint
from raydb.engine.gnn.chosen import Dependencies, fixed, measured
from raydb.engine.gnn.combining import PartialReduce, average, combine_gradients, second_moment
from raydb.engine.gnn.crews import make_crew
from raydb.engine.gnn.divided import Divided
from raydb.engine.gnn.layers import layers_of, tried_layers
from raydb.engine.gnn.messages import decode, encode
from raydb.engine.gnn.relay import make_relay, sent_by_part
from raydb.engine.gnn.rounds import Rounds, answers_of
from raydb.engine.gnn.worker import (
    Worker,
    adam,
    arrays_of,
    imported_model,
    load_arrays,
    moments_of,
)
from raydb.engine.session.settings import MEMORY_LIMIT
from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raydb.engine.gnn.asked import Asked
    from raydb.engine.gnn.crews import Crew
    from raydb.engine.gnn.rounds import Heard
    from raydb.engine.graphs.graph import Graph
    from raydb.kernels.graph.halo import Part

# What progress says.
_STEP = "train"


@dataclass(eq=False, slots=True)
class Training:
    """What came of a training.

    model: as it is after the last epoch. losses: the mean loss of training nodes by epoch; of an
    epoch that not all workers joined, of theirs. seconds: since the first epoch began, by epoch of
    this call. joined: the parts that joined, likewise. chosen: what was chosen, and why. replaced:
    how many workers were lost and replaced.
    """

    model: torch.nn.Module
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    joined: list[tuple[int, ...]] = field(default_factory=list)
    chosen: tuple[str, ...] = ()
    replaced: int = 0
    _graph: Any = None
    _asked: Any = None
    _state: bytes = b""

    @property
    def epoch(self) -> int:
        """How many epochs there were, earlier calls included."""
        return len(self.losses)

    def resume(self, epochs: int) -> Training:
        """Go on for some more epochs, with the same arguments, and return what comes of it."""
        asked = replace(self._asked, epochs=self.epoch + epochs)
        return run(self._graph, self.model, asked, (self.losses, self._state))

    def __repr__(self) -> str:
        last = f", loss {self.losses[-1]:.4g}" if self.losses else ""
        return f"<Training: {self.epoch} epochs{last}>"


def run(
    graph: Graph,
    model: torch.nn.Module | str,
    asked: Asked,
    state: tuple[Sequence[float], bytes] | None = None,
) -> Training:
    """Train a model; see `raydb.gnn.train`. state: the losses and what was kept, to go on from."""
    connection = graph._connection  # noqa: SLF001
    with connection._running():  # noqa: SLF001
        checkpoint = None if asked.checkpoint is None else Checkpoint(connection, asked.checkpoint)
        if checkpoint is not None:
            found = checkpoint.read() if asked.resume or state is not None else None
            state = state or found
            if not asked.resume and state is None:
                checkpoint.begin()
        factory = model if isinstance(model, str) else ""
        if isinstance(model, str):
            torch.manual_seed(asked.seed)
            model = imported_model(model)
        _check_model(model)
        divided = Divided(graph, asked)
        job = _Job(graph, model, factory, divided, asked)
        training = Training(model, _graph=graph, _asked=asked)
        if state is not None:
            training.losses = list(state[0])
            job.load(state[1])
        if training.epoch < asked.epochs:
            crew = make_crew(
                asked.parts,
                asked.cluster,
                lambda: Worker(copy.deepcopy(model)).answer,
                connection._open_session().settings[WORKER_TIMEOUT] / 1000,  # noqa: SLF001
                allow_insecure=asked.cluster_insecure,
            )
            try:
                job.train(crew, training, checkpoint)
            finally:
                crew.close()
        training._state = job.state()  # noqa: SLF001
        return training


def _check_model(model: object) -> None:
    if not isinstance(model, torch.nn.Module):
        raise ProgrammingError(
            f"the model is a torch.nn.Module, or 'module:function' that makes one, not {model!r}"
        )
    for name, each in (*model.named_parameters(), *model.named_buffers()):
        if isinstance(each, torch.nn.parameter.UninitializedParameter):
            raise ProgrammingError(f"the model's '{name}' has no size yet; run the model once")
        if each.device.type != "cpu" or each.dtype not in (
            torch.float32,
            torch.float64,
            torch.int64,
            torch.int32,
            torch.bool,
        ):
            raise NotSupportedError(
                f"the model's '{name}' is {each.dtype} on {each.device}; training over parts is"
                " for float32 on the processor"
            )


class _Job:
    """The model of a training, and how its epochs are done."""

    def __init__(
        self, graph: Graph, model: torch.nn.Module, factory: str, divided: Divided, asked: Asked
    ) -> None:
        self._graph, self._model, self._factory = graph, model, factory
        self._divided, self._asked = divided, asked
        self._names, self._widths = _tried(model, divided, asked.target)
        self._said = {"lr": asked.lr, "weight_decay": asked.weight_decay, "steps": 0}
        self._optimizer = adam(model, self._said, {})
        self._all_counts = divided.all_counts
        self._counts: dict[int, list[int]] = {}

    # -- what is kept

    def state(self) -> bytes:
        """Return all that a training goes on from."""
        arrays = arrays_of(self._model) | moments_of(self._model, self._optimizer)
        return encode({"steps": self._said["steps"]}, arrays)

    def load(self, state: bytes) -> None:
        """Go on from what was kept. Raises ProgrammingError for the state of another model."""
        said, arrays = decode(state)
        load_arrays(self._model, arrays)
        self._said["steps"] = said["steps"]
        self._optimizer = adam(self._model, self._said, arrays)

    # -- training

    def train(self, crew: Crew, training: Training, checkpoint: Checkpoint | None) -> None:
        """Do the epochs that are left."""
        asked = self._asked
        rounds = self._rounds(crew, training)
        start, kept = time.monotonic(), training.epoch
        while training.epoch < asked.epochs:
            report(_STEP, training.epoch / asked.epochs)
            heard = rounds.run(lambda part, turn: self._question(part, turn, training.epoch))
            losses = self._combine(heard)
            for loss in losses:
                if not np.isfinite(loss):
                    raise DataError(
                        f"the loss of epoch {training.epoch + 1} is {loss}: a smaller lr than"
                        f" {asked.lr:g} may help, or features of a like size"
                    )
                training.losses.append(loss)
                training.seconds.append(time.monotonic() - start)
                training.joined.append(tuple(sorted(heard)))
            training.replaced = rounds.replaced
            is_last = training.epoch >= asked.epochs
            if checkpoint is not None and (
                is_last or training.epoch - kept >= asked.checkpoint_every
            ):
                checkpoint.write(training.losses, self.state())
                kept = training.epoch
        report(_STEP, 1.0)

    def _rounds(self, crew: Crew, training: Training) -> Rounds:
        """Give the workers their parts, choose what they receive, and return how they are asked."""
        divided, asked = self._divided, self._asked
        hops = len(self._names)
        parts = [divided.part(number, hops) for number in range(asked.parts)]
        numbers = range(asked.parts)
        none = fixed(parts, receives=False, why="")
        relay = make_relay(parts, divided.owner, none.is_received)

        def plan(number: int, chosen: Dependencies) -> bytes:
            said = {"say": "plan", "has_weights": True}
            received = np.flatnonzero(chosen.is_received[number])
            return encode(said, {"received": received, **sent_by_part(relay, number)})

        for number in numbers:
            report("send parts", number / asked.parts)
            said, _ = answers_of(
                crew, {number: [self._part(crew, number, parts[number]), plan(number, none)]}
            )[number]
            self._counts[number] = said["counts"]
        chosen = self._dependencies(crew, parts)
        if any(each.any() for each in chosen.is_received):
            relay = make_relay(parts, divided.owner, chosen.is_received)
            answers = answers_of(crew, {number: [plan(number, chosen)] for number in numbers})
            self._counts = {number: said["counts"] for number, (said, _) in answers.items()}
        # Those without a training node are asked where others want their embeddings.
        active = [n for n in numbers if self._all_counts[n] or relay.row_count]
        reduce = None
        if asked.combine == "partial":
            # In one process none is slow: each waits for the others.
            alpha = math.inf if asked.cluster is None else asked.alpha
            reduce = PartialReduce(active, alpha, asked.staleness)
        training.chosen = (divided.said(parts), f"workers: {crew.said}", chosen.said)

        def setup(number: int) -> list[bytes]:
            return [self._part(crew, number, parts[number]), plan(number, chosen)]

        return Rounds(crew, setup, active, relay, reduce)

    def _dependencies(self, crew: Crew, parts: Sequence[Part]) -> Dependencies:
        asked = self._asked
        if asked.combine == "average":
            return fixed(parts, receives=False, why="each part is trained alone")
        if asked.dependencies != "auto":
            why = f"dependencies='{asked.dependencies}'"
            return fixed(parts, receives=asked.dependencies == "communicate", why=why)
        if len(self._names) < 2 or len(parts) == 1:
            return fixed(parts, receives=False, why="one layer, or one part, has none to receive")
        if asked.cluster is None:
            return fixed(parts, receives=True, why="one process computes nothing twice")
        settings = self._graph._connection._open_session().settings  # noqa: SLF001
        limit = parse_limit(settings[MEMORY_LIMIT])
        room = None if limit is None else limit / 2 / len(parts)
        return measured(crew, parts, self._divided.owner, self._widths, room)

    def _part(self, crew: Crew, number: int, part: Part) -> bytes:
        arrays: dict[str, Any] = {}
        if crew.may_unpickle and not self._factory:
            arrays["model"] = np.frombuffer(_pickled(self._model), np.uint8)
        elif crew.said != "this process" and not self._factory:
            raise ProgrammingError(
                "workers of a cluster import their model: say model='module:function', a function"
                " that makes it"
            )
        more = {"threads": crew.threads, "factory": self._factory, "layers": self._names}
        return self._divided.message(number, part, more, arrays)

    def _question(self, part: int, turn: int, epoch: int) -> bytes:
        asked = self._asked
        said = {
            "say": "epoch",
            "combine": asked.combine,
            "epochs": min(asked.every, asked.epochs - epoch),
            "seed": (asked.seed * 1_000_003 + epoch) * 65_537 % 2**60 + part,
            "round": turn,
            **self._said,
        }
        arrays = arrays_of(self._model)
        if asked.combine == "average":
            arrays |= moments_of(self._model, self._optimizer)
        return encode(said, arrays)

    def _combine(self, heard: Mapping[int, Heard]) -> list[float]:
        """Make the next model of what the workers have answered, and return the losses."""
        numbers = sorted(heard)
        weights = [self._all_counts[number] for number in numbers]
        sums = np.sum([heard[number][0]["losses"] for number in numbers], axis=0)
        losses = [float(each) for each in sums / max(sum(weights), 1)]
        if not np.isfinite(losses).all() or not sum(weights):
            return losses
        arrays = [heard[number][1] for number in numbers]
        if self._asked.combine == "average":
            mean = average(arrays, weights)
            before = moments_of(self._model, self._optimizer)
            for name in [each[2:] for each in mean if each[0] == "m"]:
                first, second = (
                    before.get(f"{each}/{name}", np.zeros_like(mean[f"m/{name}"])) for each in "mv"
                )
                mean[f"v/{name}"] = second_moment(first, mean[f"m/{name}"], second, len(losses))
            load_arrays(self._model, mean)
            self._said["steps"] += len(losses)
            self._optimizer = adam(self._model, self._said, mean)
            return losses
        gradients = [{n[2:]: each for n, each in some.items() if n[0] == "g"} for some in arrays]
        counts = [self._counts[number] for number in numbers]
        every = np.sum(list(self._counts.values()), axis=0).tolist()
        found = combine_gradients(gradients, counts, every, self._layer_of())
        buffers = [{n: each for n, each in some.items() if n[0] == "b"} for some in arrays]
        parameters = {n: each for n, each in arrays_of(self._model).items() if n[0] == "p"}
        load_arrays(self._model, parameters | average(buffers, weights))
        for name, each in self._model.named_parameters():
            each.grad = torch.from_numpy(found[name])
        self._optimizer.step()
        self._said["steps"] += 1
        return losses

    def _layer_of(self) -> dict[str, int]:
        """Return the place of each parameter among the counts of layers; the last is of nodes."""
        found = {}
        for name, _ in self._model.named_parameters():
            layers = [at for at, each in enumerate(self._names) if name.startswith(f"{each}.")]
            found[name] = layers[0] if layers else len(self._names)
        return found


def _tried(model: torch.nn.Module, divided: Divided, target: str) -> tuple[list[str], list[int]]:
    """Return the names of a model's layers by call, and how wide what each takes is.

    Raises ProgrammingError for a model that does not run over the features and labels.
    """
    if not layers_of(model):
        raise NotSupportedError(
            "the model has no layer of PyG's MessagePassing, so that nothing tells how many"
            " neighbours its parts need"
        )
    try:
        names, widths, out = tried_layers(model, torch.from_numpy(divided.sample()))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise ProgrammingError(
            f"the model cannot be run as model(x, edge_index) over {divided.width} features:"
            f" {error}"
        ) from error
    if not isinstance(out, torch.Tensor) or not len(out.shape) or len(out) != 2:
        raise ProgrammingError("the model has to return a row for each node")
    if divided.are_classes and (out.ndim != 2 or out.shape[1] <= int(divided.labels.max())):
        width = out.shape[1] if out.ndim == 2 else 1
        raise ProgrammingError(
            f"the model tells {width} classes apart, and '{target}' has a class"
            f" {int(divided.labels.max())}"
        )
    return names, widths


def _pickled(model: torch.nn.Module) -> bytes:
    """Return a model as processes of this program read it, its class as a place to import."""
    try:
        import cloudpickle  # noqa: PLC0415  (an extra)

        return bytes(cloudpickle.dumps(model))
    except ImportError:
        raise NotSupportedError(
            "a model for other processes needs cloudpickle: pip install 'raydb[gnn]'"
        ) from None
    except Exception as error:
        raise ProgrammingError(f"the model cannot be sent to a process: {error}") from error
