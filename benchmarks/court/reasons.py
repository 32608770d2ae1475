"""What stands beside each metric of another library, and where its code departs from ours."""

from typing import NamedTuple


class Reason(NamedTuple):
    """twin: the nearest of ours, of judging.TWINS. why: the lines that explain a difference."""

    twin: str
    why: str = ""


ONLY_POSITIVE = (
    "takes tokens of positive scores alone (evaluators/utils_from_soft_to_discrete.py, "
    "_get_id_tokens_top_k, line 14; parse_evaluator_args, line 70), deletes in place of masking, "
    "and counts a set that repeats once (faithfulness_measures.py, lines 91 and 189)"
)
UNMASKED = "words are deleted (explain.py, drop_spans: mask is empty by default), ours masked"
ARGMAX = (
    "puts the places of the largest entries of the last hidden state in the place of input ids, "
    "so that another text is read"
)
NO_ROOM = (
    "where the text without any word is within 0.05 of the whole one, its NSD is 0 and its "
    "comprehensiveness 1, whatever the explanation (metrics.py, compute_nsd, line 206; line 307)"
)
ONE_TEXT = "of a single text accuracy is 0 or 1; "
REASONS: dict[str, Reason] = {
    "ferret-xai aopc_compr": Reason(
        "comprehensiveness, tenths",
        f"{ONLY_POSITIVE}; where no score is positive its value is 0 (line 122)",
    ),
    "ferret-xai aopc_compr (all, masked)": Reason("comprehensiveness, tenths"),
    "ferret-xai aopc_suff": Reason(
        "sufficiency, tenths",
        f"{ONLY_POSITIVE}; where no score is positive its value is 1 (line 240)",
    ),
    "ferret-xai aopc_suff (all, masked)": Reason("sufficiency, tenths"),
    "ferret-xai taucorr_loo": Reason(
        "faithfulness_estimate", "Kendall's tau with deleted words, ours Pearson's with masked ones"
    ),
    "EvalxNLP soft comprehensiveness": Reason(
        "soft_nc", f"{ARGMAX} (evaluators/softcomprehensiveness.py, compute_batch, line 73)"
    ),
    "EvalxNLP soft sufficiency": Reason(
        "soft_ns",
        f"{ARGMAX} (evaluators/softsufficiency.py, compute_single_instance, line 148); its name "
        "has an arrow down (line 9), its value is 1 where nothing is lost (line 65)",
    ),
    "EvalxNLP autpc": Reason(
        "deletion",
        f"{ONE_TEXT}[CLS] and [SEP] count as tokens (evaluators/faithfulness_auc.py, line 40)",
    ),
    "EvalxNLP fad": Reason(
        "deletion", f"{ONE_TEXT}ranks by size, whatever the sign (evaluators/FAD.py, line 48)"
    ),
    "EvalxNLP sparseness": Reason(
        "sparseness", "the Gini index, with [CLS] and [SEP] and 0.5 off (sparseness.py, line 42)"
    ),
    "EvalxNLP complexity": Reason(
        "complexity", "entropy over the number of tokens (complexity.py, line 82)"
    ),
    "ice-faithfulness comprehensiveness_nsd": Reason(
        "nc, a fifth",
        f"{NO_ROOM}; mean of deleting and of words of other texts (operators.py)",
    ),
    "ice-faithfulness sufficiency_nsd": Reason("ns, a fifth", "as above"),
    "ice-faithfulness win_rate": Reason(
        "ns, a fifth", "how often its sufficiency beats rationales at random; a tie is a loss"
    ),
    "ice-faithfulness comprehensiveness auc": Reason(
        "comprehensiveness, tenths",
        f"{NO_ROOM}; deletes; [CLS] and [SEP] count for the size (line 369); "
        "the area is not divided by its width of 0.9 (line 394)",
    ),
    "ice-faithfulness sufficiency auc": Reason("sufficiency, tenths", "as above"),
    "ice-faithfulness comprehensiveness_delta (masked)": Reason("comprehensiveness, a fifth"),
    "ice-faithfulness sufficiency_delta (masked)": Reason("sufficiency, a fifth"),
    "explainkit comprehensiveness@3": Reason("comprehensiveness, 3 of 10", UNMASKED),
    "explainkit comprehensiveness@3 (masked)": Reason("comprehensiveness, 3 of 10"),
    "explainkit sufficiency@3": Reason("sufficiency, 3 of 10", UNMASKED),
    "explainkit sufficiency@3 (masked)": Reason("sufficiency, 3 of 10"),
    "explainkit aopc": Reason("comprehensiveness, 5 shares", UNMASKED),
    "explainkit aopc (masked)": Reason("comprehensiveness, 5 shares"),
    "interpreto insertion": Reason("insertion"),
    "interpreto deletion": Reason("deletion"),
    "captum infidelity": Reason(
        "infidelity", "scores are taken as they are, so their scale decides; ours fits one factor"
    ),
    "captum infidelity (normalized)": Reason(
        "infidelity",
        "its factor may be negative (metrics/_core/infidelity.py, line 472), so that the reverse "
        "fares as the truth; ours is 0 or more",
    ),
}
