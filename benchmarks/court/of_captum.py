"""captum: infidelity of scores over which words are there. Its sensitivity takes no scores."""

import torch
from exported import Asked, Opened, Said, serve

DRAWS = 64


def make(world: Opened):
    """Ask infidelity, with words erased to the mask token with a probability of one half."""
    from captum.metrics import infidelity

    network = world.network
    tokenizer = world.tokenizer

    def judge(one: Asked) -> Said:
        read = tokenizer(one.text, return_tensors="pt")["input_ids"]

        def predict(there: torch.Tensor) -> torch.Tensor:
            ids = read.repeat(len(there), 1)
            ids[:, 1:-1] = torch.where(there > 0, ids[:, 1:-1], tokenizer.mask_token_id)
            with torch.no_grad():
                return network(input_ids=ids).logits.softmax(dim=-1)[:, one.target]

        def erase(there: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            gone = torch.randint(2, there.shape).float()
            return gone, there - gone

        there = torch.ones(1, len(one.words))
        scores = torch.tensor([one.scores])
        value = infidelity(predict, erase, there, scores, n_perturb_samples=DRAWS)
        yield "infidelity", value.item(), False
        value = infidelity(predict, erase, there, scores, n_perturb_samples=DRAWS, normalize=True)
        yield "infidelity (normalized)", value.item(), False

    return judge


if __name__ == "__main__":
    serve("captum", make)
