"""Agreement sentences: the right verb, the right subject, and words that the model may see."""

import pyarrow.parquet as pq
import spacy
from hypothesis import given
from hypothesis import strategies as st
from reference import pointing as slow
from reference.models import instance

from attreval.core.records import Evidence
from attreval.core.tables import read_instances, write_instances
from attreval.texts.rows import Counts
from compendium.corpora import subject_verb as sv
from compendium.corpora.table import with_words


def sentence(*rows):
    """A Sentence from (word, tag, head, relation) rows."""
    return sv.ParsedSentence(*(tuple(column) for column in zip(*rows, strict=True)))


# the keys to the old cabinet are here
SUBJECT = ("The", "DT", 1, "det"), ("keys", "NNS", 6, "nsubj")
BETWEEN = (
    ("to", "IN", 1, "prep"),
    ("the", "DT", 5, "det"),
    ("old", "JJ", 5, "amod"),
    ("cabinet", "NN", 2, "pobj"),
)
KEYS = sentence(*SUBJECT, *BETWEEN, ("are", "VBP", 6, "ROOT"), ("here", "RB", 6, "advmod"))


def test_the_subject_agrees_across_an_attractor_with_its_verb_auxiliary_or_copula():
    (found,) = sv.find_agreements(KEYS)
    assert (
        found == sv.Agreement(1, 6, 1) == sv.choose_agreement(KEYS)
        and sv.count_attractors(KEYS, found) == 1
    )
    verb = [("has", "VBZ", 3, "aux"), ("been", "VBN", 3, "auxpass"), ("eaten", "VBN", 3, "ROOT")]
    assert sv.find_agreements(sentence(("Bread", "NN", 3, "nsubjpass"), *verb)) == [
        sv.Agreement(0, 1, 0)
    ]
    copula = sentence(
        ("Loaves", "NNS", 2, "nsubj"), ("are", "VBP", 2, "cop"), ("warm", "JJ", 2, "root")
    )
    assert sv.find_agreements(copula) == [sv.Agreement(0, 1, 1)]


def test_what_is_no_agreement():
    for rows in [
        [("Loaves", "NNS", 1, "nsubj"), ("is", "VBZ", 1, "ROOT")],  # numbers differ
        [("It", "PRP", 1, "nsubj"), ("is", "VBZ", 1, "ROOT")],  # no noun
        [
            ("Bread", "NN", 2, "nsubj"),
            ("must", "MD", 2, "aux"),
            ("rise", "VB", 2, "ROOT"),
        ],  # no present tense
        [("Is", "VBZ", 0, "ROOT"), ("bread", "NN", 0, "nsubj")],  # the verb is first
        [("Does", "VBZ", 2, "aux"), ("bread", "NN", 2, "nsubj"), ("rise", "VB", 2, "ROOT")],
        [
            ("Bread", "NN", 0, "nsubj"),
            ("rises", "VBZ", 0, "ROOT"),
        ],  # its own head: the tree is broken
        [("Bread", "NN", 1, "dobj"), ("rises", "VBZ", 1, "ROOT")],
    ]:
        assert sv.find_agreements(sentence(*rows)) == []
        assert sv.choose_agreement(sentence(*rows)) is None


@st.composite
def trees(draw):
    n = draw(st.integers(1, 8))
    tags = st.sampled_from(["NN", "NNS", "VBZ", "VBP", "VBN", "DT"])
    relations = st.sampled_from(["nsubj", "nsubjpass", "nsubj:pass", "aux", "cop", "det", "ROOT"])
    return [(f"w{at}", draw(tags), draw(st.integers(0, n - 1)), draw(relations)) for at in range(n)]


@given(tree=trees())
def test_agreements_are_those_of_a_walk_through_the_tree(tree):
    made = sentence(*tree)
    found = sv.find_agreements(made)
    assert [(a.subject, a.verb) for a in found] == slow.agreements([row[1:] for row in tree])
    for a in found:
        assert sv.count_attractors(made, a) == slow.attractors(made.tags, a.subject, a.verb)
        assert slow.feature(made.tags[a.verb]) == a.number
    assert sv.choose_agreement(made) in (found or [None])


def instance_of(row):
    (made,) = with_words("agreement_parsed", [row], Counts(), lambda line: None)
    return made


def test_rare_words_become_their_tags_and_nothing_of_the_verb_is_seen():
    row = sv.make_row("a", KEYS, sv.choose_agreement(KEYS), {"the", "to", "keys"})
    made = instance_of(row)
    tags = ("DT", "NNS", "IN", "DT", "JJ", "NN")
    assert (
        made.segments == ("the keys to the JJ NN",)
        and made.word_texts() == made.segments[0].split()
    )
    assert made.evidence == Evidence(
        marks=made.evidence.marks, spans=((1, 2, 0),), tags=tags, attractors=1
    )
    assert (made.label, made.split) == (1, "test")


def test_words_keep_the_boundaries_of_the_corpus_and_come_back_from_newer_and_older_tables(
    tmp_path,
):
    odd = sentence(("can't:-)", "NN", 1, "nsubj"), ("is", "VBZ", 1, "ROOT"))
    path = tmp_path / "t.parquet"
    made = instance_of(sv.make_row("a", odd, sv.choose_agreement(odd), {"can't:-)"}))
    assert made.word_texts() == ["can't:-)"]
    write_instances(path, [made], {})
    (again,) = read_instances(path)
    assert (again.evidence.tags, again.evidence.spans, again.evidence.attractors) == (
        ("NN",),
        ((0, 1, 0),),
        0,
    )
    assert again.word_texts() == made.word_texts()
    pq.write_table(pq.read_table(path).drop_columns(["classes", "tags", "attractors"]), path)
    (old,) = read_instances(path)
    assert (old.evidence.classes, old.evidence.tags, old.evidence.attractors) == ((), (), None)
    assert old.evidence.spans == ((0, 1, 0),)


def test_the_vocabulary_is_the_most_frequent_words_and_can_be_read_from_the_table():
    many = [(KEYS, sv.choose_agreement(KEYS))] * 3
    # of equal counts the alphabetically first
    assert sv.most_frequent(many, 2) == {
        "the",
        "cabinet",
    }
    rows = [instance_of(sv.make_row("a", s, found, {"the", "to"})) for s, found in many]
    assert sv.vocabulary_of(rows) == {"the", "to"}


TREE = """# sent_id = 1
# text = The baker's loaves aren't here
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2-3\tbaker's\t_\t_\t_\t_\t_\t_\t_\t_
2\tbaker\tbaker\tNOUN\tNN\t_\t4\tnmod:poss\t_\t_
3\t's\t's\tPART\tPOS\t_\t2\tcase\t_\t_
4\tloaves\tloaf\tNOUN\tNNS\t_\t7\tnsubj\t_\t_
4.1\tghost\t_\tVERB\tVB\t_\t_\t_\t_\t_
5\tare\tbe\tAUX\tVBP\t_\t7\tcop\t_\t_
6\tn't\tnot\tPART\tRB\t_\t7\tadvmod\t_\t_
7\there\there\tADV\tRB\t_\t0\troot\t_\t_
"""


def write_known(folder, words):
    """A table of agreement_parsed that holds these words."""
    made = [(word, "NN", len(words), "dep") for word in words[:-1]]
    whole = sentence(
        *made, (words[-1], "NN", len(words), "nsubj"), ("is", "VBZ", len(words), "ROOT")
    )
    path = folder / "agreement_parsed.parquet"
    write_instances(
        path, [instance_of(sv.make_row("a", whole, sv.choose_agreement(whole), set(words)))], {}
    )
    return path


def test_gold_trees_are_read_without_ranges_and_empty_nodes(tmp_path):
    long = "".join(f"{at}\tx\tx\tX\tDT\t_\t0\tdep\t_\t_\n" for at in range(1, 60))
    none = "1\tRun\trun\tVERB\tVB\t_\t0\troot\t_\t_\n"
    short = "1\tBread\tbread\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n"
    short += "2\trises\trise\tVERB\tVBZ\t_\t0\troot\t_\t_\n"
    path = tmp_path / "en_ewt-ud-dev.conllu"
    path.write_text("\n".join([TREE, TREE, long, none, short, "# only a comment\n"]))
    sources = {
        "ud_ewt/en_ewt-ud-dev.conllu": path,
        "agreement_parsed": write_known(tmp_path, ["the", "loaves"]),
    }
    counts = Counts()
    made, plain = map(instance_of, sv.build_agreement_ud(sources, counts))
    assert made.segments == ("the NN POS loaves",) and (plain.segments, plain.label) == (("NN",), 0)
    assert (made.label, made.evidence.spans, made.evidence.attractors) == (1, ((3, 4, 0),), 0)
    assert counts.dropped == {"a sentence seen before": 1, "more than 50 words": 1}
    assert counts.noted == {"sentences without such a subject and verb": 1}


def test_the_number_of_a_form_shows_against_the_other():
    known = {("is", "are"): 0, ("have", "has"): 1, ("passes", "pass"): 0, ("pass", "passes"): 1}
    known |= {("edit", "edit"): None, ("kiss", "kiss"): None, ("ran", "run"): None}
    assert {forms: sv.number_of(*forms) for forms in known} == known


class Parser:
    """Stands in for spaCy's pipeline: `loaves` is the subject of the verb `are` or `is`."""

    def __init__(self):
        pipeline = spacy.blank("en")
        self.vocab = pipeline.vocab
        self.tokenizer = pipeline.tokenizer

    def pipe(self, texts, batch_size):
        for text in texts:
            document = self.tokenizer(text) if isinstance(text, str) else text
            verb = next(token.i for token in document if token.text in ("are", "is"))
            for token in document:
                token.tag_ = {"loaves": "NNS", "oven": "NN", "are": "VBP", "is": "VBZ"}.get(
                    token.text, "DT"
                )
                token.dep_ = "nsubj" if token.text == "loaves" else "dep"
                token.head = document[verb]
            yield document


def test_probes_keep_the_attractors_of_the_file_and_drop_what_the_parser_does_not_find(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sv, "load_parser", lambda folder: Parser())
    lines = [
        "the loaves of the oven are warm . <eos>",
        "the oven is warm <eos>",
        "x y are <eos>",
        "the " * 60 + "is",
    ]
    (tmp_path / "text").write_text("\n".join(lines) + "\n")
    (tmp_path / "gold").write_text("5\tare\tis\t7\n2\tis\tare\t0\n2\tran\trun\t0\n60\tis\tare\t0\n")
    sources = {sv.TEXT: tmp_path / "text", sv.GOLD: tmp_path / "gold", sv.PARSER: tmp_path}
    sources["agreement_parsed"] = write_known(tmp_path, ["the", "of", "loaves"])
    counts = Counts()
    (row,) = sv.build_agreement_linzen(sources, counts)
    made = instance_of(row)
    assert made.segments == ("the loaves of the NN",)
    assert (made.label, made.evidence.attractors, made.evidence.spans) == (1, 7, ((1, 2, 0),))
    assert sum(counts.dropped.values()) == 3 == len(counts.dropped)


def test_the_sentences_of_wikipedia_keep_their_words_tags_and_attractors(tmp_path):
    """Columns as in the file of Linzen et al. (2016); places count from 1."""
    head = [
        "sentence",
        "pos_sentence",
        "verb_pos",
        "subj_index",
        "verb_index",
        "n_diff_intervening",
    ]
    rows = [
        ['the loaves of " NN are warm', "DT NNS IN `` NN VBP JJ", "VBP", "2", "6", "1"],
        ["bread rises", "NN VBZ", "VBZ", "1", "2", "0"],
        ["bread rose", "NN VBD", "VBD", "1", "2", "0"],
        ["is bread good", "VBZ NN JJ", "VBZ", "2", "1", "0"],
        ["bread " * 51, "NN " * 51, "VBZ", "1", "2", "0"],
        ["bread is", "NN", "VBZ", "1", "2", "0"],
    ]
    path = tmp_path / "agr.tsv"
    path.write_text("\n".join("\t".join(cells) for cells in [head, *rows]) + "\n")
    counts = Counts()
    made = [instance_of(row) for row in sv.build_agreement_whole({sv.WIKIPEDIA: path}, counts)]
    assert [one.segments for one in made] == [('the loaves of " NN',), ("bread",)]
    found = [(one.label, one.evidence.spans, one.evidence.attractors) for one in made]
    assert found == [(1, ((1, 2, 0),), 1), (0, ((0, 1, 0),), 0)]
    assert made[0].evidence.tags == ("DT", "NNS", "IN", "``", "NN")
    assert [one.id for one in made] == [
        f"agreement_whole/{one.split}/wikipedia-{at}" for at, one in enumerate(made)
    ]
    assert sorted(counts.dropped.values()) == [1, 3]


def test_the_whole_corpus_is_parsed_to_its_end_with_its_own_vocabulary(tmp_path, monkeypatch):
    sources = {name: tmp_path / f"{name}.parquet" for name in sv.PARSED}
    for name, path in sources.items():
        write_instances(
            path,
            [instance(f"a {name}{at} loaves are", name=f"{at}", split="test") for at in range(9)],
            {},
        )
    monkeypatch.setattr(sv, "load_parser", lambda folder: Parser())
    monkeypatch.setattr(sv, "SIZES", {"agreement_whole": (None, 3)})
    rows = list(sv.build_agreement_whole(sources | {sv.PARSER: tmp_path}, Counts()))
    assert len(rows) == 18 and all(
        row.id.startswith(f"agreement_whole/{row.split}/") for row in rows
    )
    assert sorted({word for row in rows for word in row.segments[0].split()}) == [
        "DT",
        "a",
        "bbc0",
        "loaves",
    ]


def test_the_parsed_corpus_is_cut_split_by_beginning_and_free_of_repeats(tmp_path, monkeypatch):
    texts = {name: tmp_path / f"{name}.parquet" for name in ("imdb", "bbc")}
    for name, path in texts.items():
        rows = [
            instance(f"the loaves are {name} {at}", name=f"{at}", split="test") for at in range(3)
        ]
        rows += [instance("a oven a loaves are same", name="same", split="test")]
        rows += [instance("never reached loaves are", name="late", split="test")]
        write_instances(path, rows, {})
    monkeypatch.setattr(sv, "load_parser", lambda folder: Parser())
    monkeypatch.setattr(sv, "SIZES", {"agreement_parsed": (21, 3_000)})
    counts = Counts()
    rows = list(sv.build_agreement_parsed(texts | {sv.PARSER: tmp_path}, counts))
    assert {row.segments for row in rows} == {("the loaves",), ("a oven a loaves",)}
    assert len(rows) == len({row.id for row in rows}) == 7
    assert len({row.split for row in rows if row.segments == ("the loaves",)}) == 1
    assert counts.dropped == {"a sentence seen before": 1}
    assert counts.noted == {"sentences of imdb": 4, "sentences of bbc": 4}
