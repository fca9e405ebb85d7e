"""Motif texts: what they stand for, and that writing a motif and reading it are inverse."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raydb.engine.table_functions.motif.motif_text import motif_text, read_motif
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
    motif, names = read_motif(shape, "motif_count")
    assert names == tuple("abcdefgh"[: motif.vertex_count])
    assert motif_text(motif, names) == edges


def test_vertices_are_in_the_order_of_the_text():
    motif, names = read_motif(" 7 ->x,{X->Straße,x->_y1} ,7->7a".replace("7a", "x"), "motif_count")
    assert names == ("7", "x", "straße", "_y1")
    assert motif == Motif(4, ((0, 1), (1, 2), (1, 3), (0, 1)), (0, 1, 1, 2))


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
    text = motif_text(motif, names)
    assert read_motif(text, "motif_count") == (motif, tuple(names[: motif.vertex_count]))
    assert read_motif(text.upper().replace(" ", ""), "motif_count")[0] == motif


@given(st.text(alphabet="ab1->{},( )_cycle", max_size=30))
def test_any_text_is_a_motif_or_an_error_in_a_sentence(text):
    try:
        motif, names = read_motif(text, "motif_count")
    except ProgrammingError as error:
        assert str(error).startswith("motif of motif_count()")  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert len(names) == motif.vertex_count
