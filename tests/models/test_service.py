"""A served model is slow, noisy, rounds, fails at times, limits its rate and costs money."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
from reference import case
from reference.functions import by_words

import attreval as av
from attreval.models import service
from attreval.models.service import NoAnswer, Service, describe, is_transient, read_error

TEXT = "the film was truly superb and the plot was fine"
METHODS = ["occlusion_1", "lime", "kernel_shap"]
NAMES = ["bad", "good"]
rng = np.random.default_rng(0)


def planted(text):
    """The probability of `good`: one word matters, two matter a little."""
    worth = -1.5 + 3 * ("superb" in text) + 0.4 * ("fine" in text) - 0.2 * ("plot" in text)
    return 1 / (1 + np.exp(-worth))


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        server = self.server
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests += 1
        time.sleep(0.001)
        if server.refuses_from and server.answered.total() >= server.refuses_from:
            server.refused += 1
            return self.reply(401)
        if server.requests % 10 == 3:
            return self.reply(503)
        if server.requests % 17 == 5:
            return self.reply(429, {"Retry-After": "0.01"})
        server.answered[text] += 1
        p = round(float(np.clip(planted(text) + server.rng.normal(0, 0.003), 0, 1)), 2)
        return self.reply(200, {}, json.dumps([round(1 - p, 2), p]).encode())

    def reply(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server on this machine that counts; pauses are short."""
    monkeypatch.setattr(service, "PAUSES", (0.001,) * 5)
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.requests = made.refused = made.refuses_from = 0
    made.answered = Counter()
    made.rng = np.random.default_rng(1)
    made.url = f"http://127.0.0.1:{made.server_port}"
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}).start()
    yield made
    made.shutdown()
    made.server_close()


def wrapped(server, **more):
    """The server as a classifier: a request a text."""
    url = server.url

    def ask_server(texts):
        found = []
        for text in texts:
            with urlopen(url, json.dumps(text).encode(), timeout=10) as answer:
                found.append(json.load(answer))
        return found

    return av.wrap(ask_server, labels=NAMES, **more)


def test_the_planted_word_is_found_and_a_second_run_asks_nothing(server, tmp_path):
    tables = []
    for _ in range(2):
        before = server.requests
        model = wrapped(server, cache=tmp_path / "answers")
        (found,) = av.explain(model, TEXT, METHODS, samples=100)
        tables.append(found.words)
        for method in METHODS:
            assert found.units[found.scores(method).argmax()].text == "superb"
        assert model.noise == found.noise and 0.001 < model.noise < 0.02
    assert tables[0] == tables[1] and server.requests == before
    (kept,) = (tmp_path / "answers").iterdir()
    assert "superb" not in kept.read_text() and len(kept.read_text().split("\n")) > 100


def test_a_run_that_broke_off_pays_for_the_rest_alone(server, tmp_path):
    whole = wrapped(server, cache=tmp_path / "whole")
    av.explain(whole, TEXT, METHODS, samples=100)
    needed = len(whole.service.kept) - 1  # without the noise
    server.answered.clear()
    server.refuses_from = needed // 2
    broken = wrapped(server, cache=tmp_path / "answers")
    said = (
        r"ask_server failed in try 1 of a text with HTTPError: .*401.*answers are kept in .*swers"
    )
    with pytest.raises(NoAnswer, match=said):
        av.explain(broken, TEXT, METHODS, samples=100)
    assert server.refused == 1  # nobody asks on, to find out which text it was
    (file,) = (tmp_path / "answers").iterdir()
    with file.open("a") as torn:
        torn.write('\n["0123", [0.5, ')
    kept = len(broken.service.kept) - 1
    assert kept >= needed // 2 - 8 - service.TOGETHER  # 8 to measure the noise
    server.refuses_from = 0
    server.answered.clear()
    resumed = wrapped(server, cache=tmp_path / "answers")
    assert not server.answered
    av.explain(resumed, TEXT, METHODS, samples=100)
    paid = needed - kept
    assert paid <= server.answered.total() <= paid + 3 * service.TOGETHER < needed
    wrapped(server, cache=tmp_path / "answers")
    assert len(resumed.service.kept) - 1 == needed


def test_calls_are_a_bound_and_said_before(server, tmp_path):
    few = wrapped(server, calls=40)
    asked = few.service.asked
    said = f"be asked about 101 texts, and calls=40 leaves {40 - asked}; allow more calls"
    with pytest.raises(NoAnswer, match=said):
        av.explain(few, TEXT, "lime", samples=101)
    assert few.service.asked == asked == server.requests
    for calls in (40, 70):
        before = server.requests
        model = wrapped(server, calls=calls, cache=tmp_path)
        said = f"asked about {calls} texts, and calls={calls} allows no more; .* kept in "
        with pytest.raises(NoAnswer, match=said):
            av.explain(model, TEXT, "lime", samples=101)
        assert calls - 30 < server.requests - before <= calls
    with pytest.raises(NoAnswer, match="calls=7 allows no more; with cache=, a folder"):
        av.wrap(by_words, labels=NAMES, calls=7)


def test_evaluation_says_the_bound_beforehand_and_the_noise_on_its_page(tmp_path):
    def ask(texts):
        p = np.clip([planted(text) for text in texts] + rng.normal(0, 0.003, len(texts)), 0, 1)
        return np.column_stack([1 - p, p])

    lines = []
    model = av.wrap(ask, labels=NAMES, calls=5000)
    texts = [f"{word} superb" for word in ("film", "plot", "cast")] + ["fine", "fine plot"]
    labels = ["good"] * 3 + ["bad"] * 2
    table = {"text": texts, "label": labels}
    out = tmp_path / "out"
    found = av.evaluate_texts(model, table, out, methods=["occlusion_1", "lime"], say=lines.append)
    most = sum(1 + n + 1 + max(2, n * n) for n in (2, 2, 2, 1, 2))
    said = f"at most {most} texts to explain the first 5, and metrics and documents about more"
    assert [line for line in lines if said in line and "calls= leaves 4,992" in line]
    assert found.noise == model.noise > 0
    page = (out / "report.html").read_text()
    assert f"a probability varies by {model.noise:.2g} (standard deviation" in page


def test_noise_is_measured_and_scores_within_it_are_not_told_apart():
    def ask(texts):
        worth = [0.5 + 0.2 * ("good" in t) + 0.2 * ("fine" in t) - 0.1 * ("so" in t) for t in texts]
        p = np.array(worth) + rng.normal(0, 0.003, len(texts))
        return np.column_stack([1 - p, p])

    measured = [av.wrap(ask, labels=NAMES).noise for _ in range(20)]
    assert 0.0025 < np.mean(measured) < 0.005
    assert np.mean([av.wrap(ask, labels=NAMES, repeats=9).noise for _ in range(20)]) < 0.002
    model = av.wrap(ask, labels=NAMES)
    alike, apart = av.explain(model, ["so good fine", "so good"], ["occlusion_1", "kernel_shap"])
    for method, size in (("occlusion_1", 1 / 0.6), ("kernel_shap", 1)):
        (said,) = alike.remarks[method]
        assert said.startswith("'") and ") is not told from '" in said
        limit = float(said.split("differ by up to ")[1].split(" for no")[0])
        assert limit == pytest.approx(2 * np.sqrt(2) * model.noise * size, rel=0.3)
    assert not apart.remarks
    again = av.explain(model, "so good fine", "occlusion_1")[0]
    assert again.words == av.explain(model, "so good fine", "occlusion_1")[0].words


def test_an_exact_function_has_no_noise_and_no_memory():
    asked = Counter()

    def ask(texts):
        asked.update(texts)
        return by_words(texts)

    model = av.wrap(ask, labels=NAMES)
    assert model.noise == 0 and not model.service.kept and asked.total() == 8
    for _ in range(2):
        assert not av.explain(model, "good film", "occlusion_1")[0].remarks
    assert asked["good film"] == 4 and not model.service.kept


def test_nothing_is_explained_where_there_is_nothing_but_noise():
    def coin(texts):
        p = rng.random(len(texts))
        return np.column_stack([1 - p, p])

    with pytest.raises(ValueError, match=r"allowed is 0.1.* repeats=\d+ asks about each text"):
        av.wrap(coin, labels=NAMES)
    assert 0.01 < av.wrap(coin, labels=NAMES, repeats=100).noise < 0.05

    def beside(texts):  # the same answer to the same call each time
        return [[0.4 + 0.01 * len(texts), 0.6 - 0.01 * len(texts)]] * len(texts)

    with pytest.raises(ValueError, match=r"beside another than alone .*by 0\.01.*text alone"):
        av.wrap(beside, labels=NAMES)


def test_names_of_classes_are_votes():
    sure = {"good film", "a good film"}
    asked = Counter()

    def ask(texts):
        asked.update(texts)
        return np.array(NAMES)[[int(text in sure) for text in texts]]

    model = av.wrap(ask, labels=NAMES, outputs="labels", repeats=10)
    (found,) = av.explain(model, "good film", "occlusion_1")
    assert found.probabilities["good"] == pytest.approx(10.5 / 11)
    assert found.scores("occlusion_1") == pytest.approx([np.log(21)] * 2)
    assert asked["good film"] == asked["film"] == 10
    assert model.noise == pytest.approx(np.sqrt(0.5 / 9 * 8.5 / 9 / 10), rel=0.01)
    for wrong, said in (
        (lambda texts: ["good"] * (len(texts) + 1), "one of bad, good for each of 2 texts"),
        (lambda texts: ["fine"] * len(texts), r"got \['fine', 'fine'\]"),
        (lambda texts: "good", "got 'good'"),
        (lambda texts: [NAMES[i] for i in rng.integers(2, size=len(texts))], "nothing to explain"),
    ):
        with case(said), pytest.raises(ValueError, match=said):
            av.wrap(wrong, labels=NAMES, outputs="labels", repeats=10 if "got" in said else 3)


def test_what_is_asked_for_wrongly_is_told(tiny):
    for more, said in (
        ({"outputs": "words"}, "known; there are: classes, independent, value, labels"),
        ({"repeats": 0}, "repeats and calls are 1 or more; got 0"),
        ({"calls": 0}, "got 1 and 0"),
    ):
        with case(said), pytest.raises(ValueError, match=said):
            av.wrap(by_words, labels=NAMES, **more)
    for more in ({"cache": "x"}, {"calls": 9}, {"repeats": 2}, {"outputs": "labels"}):
        with pytest.raises(ValueError, match="a module with its tokenizer needs none of them"):
            av.wrap(tiny.network, tiny.tokenizer, **more)


def test_another_prompt_label_or_number_of_answers_is_another_cache(tmp_path):
    def make(prompt):
        def ask(texts):
            return by_words([prompt + text for text in texts])

        return ask

    def add(texts):
        return by_words(texts)

    for function, more in (
        (make("is"), {}),
        (make("was"), {}),
        (make("is"), {"labels": NAMES[::-1]}),
        (make("is"), {"repeats": 2}),
        (add, {}),
        (add, {}),
    ):
        av.wrap(function, **({"labels": NAMES} | more), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 5

    class Judge:
        def __init__(self, prompt):
            self.prompt = prompt

        def ask(self, texts):
            return by_words([self.prompt + NAMES[0] + text for text in texts])

    typed = [eval(f"lambda texts: texts + [{word!r}]") for word in NAMES]  # has no file
    for one, other in ((Judge("is").ask, Judge("was").ask), typed, (by_words, np.sin)):
        assert describe(one) == json.loads(json.dumps(describe(one))) != describe(other)


def test_errors_of_connections_are_tried_again_and_others_are_not(monkeypatch):
    pauses = []
    monkeypatch.setattr(service.time, "sleep", pauses.append)

    class Elsewhere(Exception):
        """As other packages have it."""

    class ReadTimeout(Elsewhere):
        pass

    refused = Elsewhere()
    refused.response = type("Response", (), {"status_code": 400, "headers": {}})
    for error, again in (
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (OSError("network"), True),
        (ReadTimeout(), True),
        (HTTPError("", 500, "", {}, None), True),
        (HTTPError("", 429, "", {"Retry-After": "7"}, None), True),
        (HTTPError("", 404, "", {}, None), False),
        (HTTPError("", 503, "", {"Retry-After": "6000"}, None), False),
        (refused, False),
        (FileNotFoundError("x"), False),
        (TypeError("x"), False),
    ):
        fails = [error, error]

        def ask(texts, fails=fails):
            if len(texts) == 1 and fails:
                raise fails.pop()
            return by_words(texts)

        pauses.clear()
        one = Service(ask, "it")
        with case(repr(error)):
            if again:
                assert one.once(["good"]).shape == (1, 2) and one.asked == 3
                assert pauses == ([7, 7] if read_error(error)[1] else [1, 2])
            else:
                told = NoAnswer if read_error(error)[0] else type(error)
                with pytest.raises(told):
                    one.once(["good"])
                assert one.asked == 1 and not pauses
    assert not is_transient(ValueError())
    pauses.clear()
    with pytest.raises(NoAnswer, match="failed in try 7 of a text with ConnectionError"):
        Service(lambda texts: (_ for _ in ()).throw(ConnectionError()), "it").once(["good"] * 8)
    assert pauses == [1, 1, 1, 1, 2, 4, 8, 16, 32]
