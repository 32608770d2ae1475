"""interpreto (Poché et al. 2025): Insertion and Deletion with a step a word."""

import torch
from exported import Asked, Opened, Said, serve


def make(world: Opened):
    """Ask both about an output that holds the given scores."""
    from interpreto import Granularity, Occlusion
    from interpreto.attributions.metrics import Deletion, Insertion

    network = world.network
    tokenizer = world.tokenizer
    explain = Occlusion(network, tokenizer, granularity=Granularity.TOKEN)
    known: dict = {}

    def judge(one: Asked) -> Said:
        if one.id not in known:
            read = tokenizer(one.text, return_tensors="pt", return_offsets_mapping=True)
            known[one.id] = explain(read, torch.tensor([[one.target]]))[0]
        output = known[one.id]
        output.attributions = torch.tensor([one.scores])
        for kind in (Insertion, Deletion):
            steps = len(one.words) + 1
            curve = kind(network, tokenizer, n_perturbations=steps)
            yield kind.__name__.lower(), curve([output])[0], kind is Insertion

    return judge


if __name__ == "__main__":
    serve("interpreto", make)
