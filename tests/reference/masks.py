"""Uniform random masking of a batch, one token at a time, with numbers drawn one at a time."""


def masked_batch(batch, rng):
    """Lists of ids: half of the texts with a drawn share of their tokens masked, special tokens
    never.
    """
    half = len(batch) // 2
    if len(batch) % 2 == 0:
        rng.integers(2)
    elif rng.integers(2) == 1:
        half += 1
    chosen = list(rng.permutation(len(batch)))[:half]
    out = []
    for at, tokens in enumerate(batch):
        ids = [int(i) for i in tokens.ids]
        if at in chosen:
            share = rng.random()
            for place in range(len(ids)):
                number = rng.random()
                if number < share and not tokens.special[place]:
                    ids[place] = tokens.mask_id
        out.append(ids)
    return out
