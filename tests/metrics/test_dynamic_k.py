"""Dynamic k, people, phrases, chunks and seeds against slow twins: ties, constants, one
token, NaN.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import agreement as slow_agreement
from reference import dynamic as slow
from reference import models
from reference.chunking import chunked
from scipy.signal import find_peaks
from scipy.stats import chisquare

from attreval.core.records import Evidence
from attreval.metrics import agreement, marked, phrases
from attreval.metrics import dynamic_k as dynamic
from attreval.metrics import scored_text as people
from attreval.metrics.phrases import chosen_chunks, find_chunks
from attreval.metrics.scored_text import ScoredText
from compendium.papers.kamp2023.tables import selection_scores

# few, so that plateaus are common; sums are exact
few = st.sampled_from([-1.0, -0.25, 0.0, 0.5, 2.0])
profile = st.lists(few, min_size=0, max_size=12).map(np.array)
some = st.lists(few, min_size=1, max_size=8).map(np.array)
FLAT = [np.zeros(0), np.array([1.0]), np.full(5, 0.3)]


@given(scores=profile)
def test_released_peaks_equal_the_code_step_by_step_and_the_papers_their_definition(scores):
    mean = scores.mean() if len(scores) else 0.0
    assert dynamic.local_maxima(scores).tolist() == slow.released_peaks(scores.tolist(), mean)
    assert dynamic.local_maxima(scores, dynamic.PAPER).tolist() == slow.paper_peaks(scores.tolist())


def test_worked_examples():
    for rule, scores, peaks in (
        ("plateau_ends", [0.6, 0.6, 0.1, 0.2], [0]),
        ("plateau_ends", [0.1, 0.2, 0.6, 0.6], [2]),
        ("around", [3.0, 1.0, 2.0], [0]),
        ("around", [3.0, 1.0, 3.0], []),
        ("released", [0.0, 2.0, 0.0, 6.0], [1, 3]),  # reaches the mean of 2
        ("paper", [0.0, 2.0, 0.0, 6.0], []),  # does not exceed it; the other is at the end
    ):
        found = dynamic.local_maxima(np.array(scores), dynamic.PEAK_RULES[rule])
        assert found.tolist() == peaks, (rule, scores)


def test_every_choice_takes_any_profile_and_refuses_what_is_not_finite():
    for name, choose in dynamic.CHOICES.items():
        for scores in FLAT:
            assert len(choose(scores)) <= 2, name  # a quarter of five is two
        found = choose(np.array([0.0, 5.0, 1.0, 0.0, 0.5, 3.0, 0.2, 0.1]))
        assert 1 in found and 3 not in found and sorted(set(found)) == list(found), name
        for bad in (np.nan, np.inf, -np.inf):
            with pytest.raises(ValueError, match=f"position 1 is {bad}"):
                choose(np.array([1.0, bad, 2.0]))


def test_choices_by_hand():
    scores = np.array([0.0, 5.0, 4.5, 4.9, 0.0, 3.0, 0.0, 0.0])
    for choose, found in {
        dynamic.local_maxima: [1, 3, 5],
        dynamic.prominent_peaks: [1, 5],
        dynamic.distant_peaks: [1, 5],
        dynamic.above_mean: [1, 2, 3, 5],
        dynamic.largest_gap: [1, 2, 3, 5],
        dynamic.above_deviation: [1, 2, 3],
        dynamic.quarter: [1, 3],
    }.items():
        assert choose(scores).tolist() == found, choose
    assert dynamic.quarter(scores[:5]).tolist() == [1, 3]
    long = np.random.default_rng(0).random(60)
    assert (long[dynamic.wavelet_peaks(long)] >= long.mean()).all()
    assert dynamic.prominent_peaks(np.array([9.0, 1.0, 1.0, 8.0])).tolist() == [0, 3]  # ends count


@given(selections=arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 7))))
def test_agreement_of_selections_of_any_size(selections):
    found = agreement.agreement_of(list(selections))
    np.testing.assert_allclose(found, slow.agreement_of(selections.tolist()), atol=1e-12)


@given(a=some, k=st.integers(1, 6), data=st.data())
def test_random_ties_give_one_of_the_possible_values(a, k, data):
    b = np.array(data.draw(st.lists(few, min_size=len(a), max_size=len(a))))
    possible = [
        slow.agreement_of([[i in chosen for i in range(len(a))] for chosen in (one, other)])
        for one in slow_agreement.selections(a.tolist(), k)
        for other in slow_agreement.selections(b.tolist(), k)
    ]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    found = agreement.agreement_at_k([a, b], k, rng)
    assert min(abs(found - p) for p in possible) < 1e-12


def test_random_ties_are_even():
    rng = np.random.default_rng(0)
    scores = np.array([2.0, 1, 1, 1, 0])
    counts = np.sum([agreement.draw_top_k(scores, 2, rng) for _ in range(3000)], axis=0)
    assert counts[0] == 3000 and counts[4] == 0 and chisquare(counts[1:4]).pvalue > 0.001


@given(scores=some, k=st.integers(1, 8), data=st.data())
def test_people_who_vote_by_their_share(scores, k, data):
    n = len(scores)
    share = data.draw(arrays(float, n, elements=st.sampled_from([0, 1 / 3, 1.0])))
    chosen = [dynamic.select(list(one), n) for one in slow_agreement.selections(scores.tolist(), k)]
    expected = [slow.share_agreement(one.tolist(), share) for one in chosen]
    found = marked.agreement_with_share(scores, share, k)
    np.testing.assert_allclose(found, np.mean(expected), atol=1e-12)
    found = marked.selection_with_share(chosen[0], share)
    np.testing.assert_allclose(found, expected[0], atol=1e-12)


@given(
    marks=arrays(int, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.integers(0, 1))
)
def test_overlap_of_any_number_of_people(marks):
    sets = [set(np.flatnonzero(person).tolist()) for person in marks]
    np.testing.assert_allclose(people.overlap(marks), slow.overlap(sets), atol=1e-12)
    np.testing.assert_allclose(people.relevance(marks), np.mean(marks, axis=0))


@given(scores=some)
def test_phrases(scores):
    peaks = dynamic.local_maxima(scores).tolist()
    assert phrases.find_phrases(scores) == slow.phrases(scores.tolist(), peaks)
    chosen = phrases.phrase_tokens(phrases.find_phrases(scores), len(scores))
    assert chosen[peaks].all() and phrases.true_runs(chosen) == phrases.find_phrases(scores)


@given(scores=some)
def test_each_token_goes_to_its_nearest_peak(scores):
    peaks = dynamic.local_maxima(scores)
    assume(len(peaks))
    found = phrases.nearest_peaks(scores, peaks)
    size = sum(map(abs, scores))
    np.testing.assert_array_equal(found, phrases.nearest_peaks(100 * scores, peaks))
    for i, number in enumerate(found):
        distances = [abs(scores[i] - scores[p]) / size + abs(i - p) for p in peaks]
        assert distances[number] <= min(distances) + 1e-12


def test_phrases_by_hand():
    scores = np.array([0.0, 4.0, 3.0, 4.0, 0.0, 2.0, 0.0])
    assert dynamic.local_maxima(scores).tolist() == [1, 3, 5]
    # two peaks with nothing low between them are one phrase
    assert phrases.find_phrases(scores) == [(1, 4), (5, 6)]
    assert phrases.find_phrases(np.ones(4)) == []
    assert (phrases.nearest_peaks(np.ones(2), np.zeros(0, int)) == -1).all()
    assert phrases.phrase_f1([(0, 2), (5, 6)], [(1, 3)]) == pytest.approx(2 * 0.5 * 1 / 1.5)
    assert phrases.phrase_f1([], [(1, 2)]) == 0 and np.isnan(phrases.phrase_f1([], []))
    assert phrases.phrase_f1([(0, 1)], [(1, 2)]) == 0


def test_phrases_of_people_are_the_same_for_the_metric_and_for_the_table(tiny):
    """What at least half of them mark; where there is no such token, what anybody marks."""
    scores = np.array([3.0, 0.0, 2.0, 0.0])
    selected = phrases.phrase_tokens(phrases.find_phrases(scores), 4)
    bare = models.instance("good bad slow film")
    for marks, marked_by_most, f1 in (
        ([[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1]], [1, 0, 0, 0], 2 / 3),
        ([[1, 0, 0, 0], [0, 0, 1, 0], [0] * 4], [1, 0, 1, 0], 1.0),
    ):
        marks = np.array(marks, dtype=float)
        text = ScoredText(replace(bare, evidence=Evidence(marks)), tiny.tokens(bare), {"m": scores})
        given = people.majority(people.relevance(marks))
        assert given.tolist() == marked_by_most
        *_, of_table = selection_scores(selected, given)
        assert phrases.phrases.function(text, "m") == of_table == f1


several = arrays(float, st.tuples(st.integers(2, 4), st.integers(1, 3), st.just(3)), elements=few)


@given(runs=several, itself=st.booleans())
def test_average_pairwise_difference(runs, itself):
    found = agreement.average_pairwise_difference(list(runs), itself)
    np.testing.assert_allclose(found, slow.differences(runs.tolist(), itself), atol=1e-12)


def test_profiles_are_normalised_and_padded():
    matrix = agreement.profile_matrix([np.array([1.0, -3.0]), np.zeros(3), np.array([2.0])], 4)
    assert matrix.tolist() == [[0.25, -0.75, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    with pytest.raises(ValueError, match="at least two runs; got 1"):
        agreement.average_pairwise_difference([matrix])
    with pytest.raises(ValueError, match="same instances"):
        agreement.average_pairwise_difference([matrix, matrix[:1]])


def test_chance_equals_every_way_to_choose():
    for n, k, m in ((1, 1, 2), (4, 2, 2), (4, 1, 3), (5, 3, 2), (3, 9, 2), (4, 2, 3)):
        found = agreement.agreement_at_k([np.zeros(n)] * m, k)
        assert found == pytest.approx(slow.chance(n, k, m)), (n, k, m)


TOKENS = "the old man of the sea , who was un ##beliv ##able , slept ."
SOME = sorted({*TOKENS.split(), "a", "##s", "not", "film", "It", "n't"})
WORDS = st.lists(st.sampled_from(SOME), max_size=25)


def test_a_phrase_begins_at_its_function_word():
    chunks = [0, 0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 4, 5, 6]
    assert find_chunks(TOKENS.split()).tolist() == chunks


@given(tokens=WORDS)
def test_chunks_are_those_of_the_slow_twin(tokens):
    sizes = [len(part) for part in chunked(tokens)]
    of_tokens = np.repeat(range(len(sizes)), sizes)
    assert find_chunks(tokens).tolist() == of_tokens.tolist()


@given(tokens=WORDS.filter(bool), data=st.data())
def test_a_chunk_is_chosen_where_one_of_its_tokens_is(tokens, data):
    chunks = find_chunks(tokens)
    flags = st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens))
    selections = np.array([data.draw(flags), data.draw(flags)])
    found = chosen_chunks(selections, chunks)
    assert found.shape == (2, chunks.max() + 1)
    for row, chosen in zip(selections, found, strict=True):
        assert set(np.flatnonzero(chosen)) == set(chunks[row])
    with pytest.raises(ValueError, match=f"do not fit chunks of {len(tokens)}"):
        chosen_chunks(np.ones(len(tokens) + 1, bool), chunks)


@given(scores=st.lists(st.floats(-5, 5), min_size=3, max_size=30, unique=True).map(np.array))
def test_without_ties_scipy_finds_the_same_inner_peaks(scores):
    found, _ = find_peaks(scores, height=scores.mean())
    assert [p for p in dynamic.local_maxima(scores) if 0 < p < len(scores) - 1] == found.tolist()


@given(scores=some)
def test_scipy_finds_the_same_plateaus(scores):
    """It too takes the left middle of an inner plateau."""
    found, _ = find_peaks(scores, height=scores.mean(), plateau_size=2)
    without = dynamic.local_maxima(scores, dynamic.PeakRule(plateaus=False))
    assert sorted({*dynamic.local_maxima(scores)} - {*without}) == found.tolist()
