"""explainkit (Mohammadi): comprehensiveness and sufficiency of the top 3, and AOPC, by deletion as
its defaults have it and with the mask token.
"""

from exported import Asked, Opened, Said, serve

TOP = 3  # as in its README


def make(world: Opened):
    """Ask its functions through a pipeline."""
    from explainkit.explain import Explainer
    from explainkit.faithfulness import aopc, comprehensiveness, sufficiency
    from explainkit.hf import from_pipeline
    from transformers import pipeline

    network = world.network
    tokenizer = world.tokenizer
    predict = from_pipeline(pipeline("text-classification", model=network, tokenizer=tokenizer))
    known: dict = {}

    def judge(one: Asked) -> Said:
        if one.id not in known:
            known[one.id] = Explainer(predict).explain(one.text, target=one.target)
        given = known[one.id].model_copy(update={"scores": one.scores, "method": one.method})
        for mask, said in (("", ""), (tokenizer.mask_token, " (masked)")):
            value = comprehensiveness(given, predict, k=TOP, mask=mask)
            yield f"comprehensiveness@3{said}", value, True
            yield f"sufficiency@3{said}", sufficiency(given, predict, k=TOP, mask=mask), False
            yield f"aopc{said}", aopc(given, predict, mask=mask), True

    return judge


if __name__ == "__main__":
    serve("explainkit", make)
