"""ICE (`ice-faithfulness`): a text at its default share of 0.2, its areas, and with masks alone."""

import torch
from exported import Asked, Opened, Said, serve

DRAWS = 20  # rationales at random that a text is compared with; the default of 100 says no other
LEAST = 1.0  # by how much [CLS] and [SEP] lie below all words, so that they come last


def make(world: Opened):
    """Ask the evaluator, and its scorer for the plain drop with tokens masked."""
    from ice import ICEConfig, ICEEvaluator, MaskOperator, compute_auc_over_k

    network = world.network
    tokenizer = world.tokenizer
    judge_one = ICEEvaluator(network, tokenizer, ICEConfig(n_permutations=DRAWS, device="cpu"))
    mask = MaskOperator(tokenizer, "mask")
    texts = dict.fromkeys(one.text for one in world.asked)
    read_all = [tokenizer(text, return_tensors="pt") for text in texts]
    pool = [(read["input_ids"], read["attention_mask"], 0) for read in read_all]
    judge_one._pre_build_retrieval_pool(pool, 0.2)  # as evaluate_dataset does

    def judge(one: Asked) -> Said:
        read = tokenizer(one.text, return_tensors="pt")
        ids = read["input_ids"][0]
        attended = read["attention_mask"][0]
        low = min(one.scores) - LEAST
        scores = torch.tensor([low, *one.scores, low])
        found = judge_one.evaluate_single(ids, attended, scores, one.target)
        for name in ("comprehensiveness_nsd", "sufficiency_nsd", "win_rate"):
            yield name, found[name], True
        given = (judge_one.scorer, ids, attended, scores, one.target, judge_one.operators[0])
        for name in ("comprehensiveness", "sufficiency"):
            yield f"{name} auc", compute_auc_over_k(*given, metric=name)["auc"], True
        top = torch.zeros_like(attended)
        top[scores.argsort(descending=True)[: int(0.2 * len(one.scores))]] = 1
        whole = (ids, attended, top, one.target, mask)
        drop = judge_one.scorer.compute_comprehensiveness(*whole)["comprehensiveness_delta"]
        yield "comprehensiveness_delta (masked)", drop, True
        kept = judge_one.scorer.compute_sufficiency(*whole)["sufficiency_delta"]
        yield "sufficiency_delta (masked)", kept, True

    return judge


if __name__ == "__main__":
    serve("ice-faithfulness", make)
