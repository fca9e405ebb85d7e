"""Motif texts: what they stand for, and that writing a motif and reading it are inverse."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raydb.engine.table_functions.motif.motif_text import WrittenMotif, motif_text, read_motif
from raydb.errors import ProgrammingError
from raydb.kernels.motif.shape import MAX_EDGES, MAX_VERTICES, Motif, is_connected

SHAPES = {
    "path(4)": "a->b, b->c, c->d",
    "cycle(2)": "a->b, b->a",
    "cycle(5)": "a->b, b->c, c->d, d->e, e->a",
    "star_out(3)": "a->b, a->c, a->d",
    "star_in(3)": "b->a, c->a, d->a",
    "clique(4)": "a->b, a->c, a->d, b->c, b->d, c->d",
    "scatter_gather(3)": "a->b, a->c, a->d, b->e, c->e, d->e",
    "bipartite(2,3)": "a->c, a->d, a->e, b->c, b->d, b->e",
    "bipartite( 1 , 1 )": "a->b",
    "CLIQUE(2)": "a->b",
}


@pytest.mark.parametrize(("shape", "edges"), SHAPES.items())
def test_a_shape_stands_for_its_edges(shape, edges):
    written = read_motif(shape, "motif_count")
    assert written.names == tuple("abcdefgh"[: written.motif.vertex_count])
    assert motif_text(written) == edges


def test_vertices_are_in_the_order_of_the_text():
    text = " 7 ->x,{X->Straße,x->_y1} ,7->7a".replace("7a", "x")
    written = read_motif(text, "motif_count")
    assert written.names == ("7", "x", "straße", "_y1")
    assert written.motif == Motif(4, ((0, 1), (1, 2), (1, 3), (0, 1)), (0, 1, 1, 2))


@st.composite
def motifs(draw):
    """Return motifs whose vertices are in the order of their edges, as texts have them."""
    vertex = st.integers(0, MAX_VERTICES - 1)
    edge = st.tuples(vertex, vertex).filter(lambda ends: ends[0] != ends[1])
    edges = draw(st.lists(edge, min_size=1, max_size=MAX_EDGES))
    assume(is_connected(tuple(edges)))
    places = {}
    for ends in edges:
        for each in ends:
            places.setdefault(each, len(places))
    steps = draw(st.lists(st.booleans(), min_size=len(edges) - 1, max_size=len(edges) - 1))
    groups = [0]
    for step in steps:
        groups.append(groups[-1] + step)
    numbered = tuple((places[one], places[other]) for one, other in edges)
    return Motif(len(places), numbered, tuple(groups))


@given(
    motifs(), st.sampled_from(["abcdefgh", "12345678", ["v1", "w", "x", "y", "z", "_", "q", "ä"]])
)
def test_a_written_motif_reads_as_itself(motif, names):
    written = WrittenMotif(motif, tuple(names[: motif.vertex_count]))
    text = motif_text(written)
    assert read_motif(text, "motif_count") == written
    assert read_motif(text.upper().replace(" ", ""), "motif_count").motif == motif


@pytest.mark.parametrize(
    "text",
    ["a--b, b->c", "!b->a, a->b", "a->b, !a->b, {b--c, c->a}, !c->*", "a->b, !*->b, !b->a"],
)
def test_edges_either_way_and_absent_ones_read_as_written(text):
    assert motif_text(read_motif(text, "motif_count")) == text


def test_an_absent_edge_either_way_is_two():
    assert motif_text(read_motif("a->b, !b--a", "f")) == "a->b, !b->a, !a->b"


@given(st.text(alphabet="ab1->{},( )_cycle!*", max_size=30))
def test_any_text_is_a_motif_or_an_error_in_a_sentence(text):
    try:
        written = read_motif(text, "motif_count")
    except ProgrammingError as error:
        assert str(error).startswith("motif of motif_count()")  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert len(written.names) == written.motif.vertex_count
