"""A classifier behind HTTP: slow and noisy, it rounds, fails one call in ten, bounds callers."""

import json
import random
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import attreval as av

TEXTS = ["we found it superb in the end", "it was superb they said", "a superb one this time"]
METHODS = ["occlusion_1", "kernel_shap", "lime"]
asked: list[float] = []
closed = False


class Service(BaseHTTPRequestHandler):
    """Says how good texts are: superb ones are."""

    def do_POST(self) -> None:
        """Answer, or say that it cannot."""
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.002)
        now = time.monotonic()
        if closed or random.random() < 0.1:
            self.send_error(403 if closed else 503)
            return
        if sum(now - at < 0.05 for at in asked[-30:]) >= 20:
            self.send_response(429)
            self.send_header("Retry-After", "0.05")
            self.end_headers()
            return
        asked.append(now)
        good = [0.2 + 0.6 * ("superb" in text) + random.gauss(0, 0.01) for text in texts]
        rows = json.dumps([[round(1 - p, 2), round(p, 2)] for p in good]).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(rows)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}"


def ask(texts: list[str]) -> list[list[float]]:
    """A row of probabilities for each text."""
    request = urllib.request.Request(URL, json.dumps(texts).encode())
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def wrap() -> object:
    """The service as a model, as a new process would make it."""
    return av.wrap(ask, labels=["bad", "good"], cache="answers", calls=2000)


model = wrap()
print(f"noise {model.noise:.4f}")
assert 0.001 < model.noise < 0.04
found = av.explain(model, TEXTS[:1], METHODS, samples=100)
before = len(asked)
closed = True
try:
    av.explain(model, TEXTS, METHODS, samples=100)
except RuntimeError as error:
    print(f"broken off: {str(error)[:100]}")
else:
    raise AssertionError("a closed service has answered")
closed = False
again = wrap()
first = av.explain(again, TEXTS[:1], METHODS, samples=100)
assert len(asked) == before, "what was paid for is paid again"
assert first[0].words == found[0].words
found = av.explain(again, TEXTS, METHODS, samples=100)
assert len(asked) > before
for one in found:
    for method in METHODS:
        top = one.units[int(one.scores(method).argmax())].text
        assert top == "superb", (one.text, method, top)
print(f"{len(asked)} requests, {again.service.asked} texts asked about by the second model")
found.save("service.html")
print(av.evaluate(again, found, ["comprehensiveness", "nc"]).round(2).to_string())
