"""What exists: methods, judges, corpora, models, notebooks, profiles, as plain rows."""

from __future__ import annotations

from attreval import config, corpora
from attreval.explain import METHODS
from attreval.workflow import parameters

JUDGES = (
    {
        "name": "pointing",
        "question": "does the most relevant word lie where the evidence must be?",
        "module": "attreval.metrics.pointing_game",
        "source": "Poerner et al. 2018, section 2",
    },
    {
        "name": "agreement@k",
        "question": "do methods select the same tokens?",
        "module": "attreval.metrics.agreement",
        "source": "Kamp et al. 2023, section 3",
    },
    {
        "name": "agreement with people",
        "question": "do methods select what people mark?",
        "module": "attreval.metrics.human_agreement",
        "source": "Kamp et al. 2023, section 3",
    },
    {
        "name": "dynamic k",
        "question": "how many tokens does a profile put forward by itself?",
        "module": "attreval.metrics.dynamic_k",
        "source": "Kamp et al. 2023, section 4",
    },
    {
        "name": "phrases",
        "question": "which phrases does a profile put forward?",
        "module": "attreval.metrics.phrases",
        "source": "after Kamp et al. 2023, section 6",
    },
    {
        "name": "average pairwise difference",
        "question": "how far do explanations move with the training seed?",
        "module": "attreval.metrics.pairwise_difference",
        "source": "Kamp et al. 2023, appendix A",
    },
    {
        "name": "comprehensiveness",
        "question": "does the prediction change when the rationale is erased?",
        "module": "attreval.metrics.erasure",
        "source": "DeYoung et al. 2020; Zhao & Aletras 2023, section 3",
    },
    {
        "name": "sufficiency",
        "question": "does the prediction stay when only the rationale is left?",
        "module": "attreval.metrics.erasure",
        "source": "DeYoung et al. 2020; Zhao & Aletras 2023, section 3",
    },
    {
        "name": "unified comprehensiveness and sufficiency",
        "question": "does the predicted class change, at equal numbers of units for tokens, pairs and spans?",
        "module": "attreval.metrics.unified.faithfulness",
        "source": "Sun et al. 2024, section 2.2",
    },
    {
        "name": "agreement with people",
        "question": "do people mark the same tokens, and the same interactions?",
        "module": "attreval.metrics.unified.plausibility",
        "source": "Sun et al. 2024, section 2.3",
    },
    {
        "name": "simulatability",
        "question": "do explanations help an agent to predict the model?",
        "module": "attreval.metrics.unified.simulatability",
        "source": "Sun et al. 2024, section 2.4",
    },
    {
        "name": "complexity",
        "question": "how evenly is importance spread over the pieces?",
        "module": "attreval.metrics.unified.complexity",
        "source": "Sun et al. 2024, section 2.5",
    },
    {
        "name": "rank correlation of judges",
        "question": "do judges put methods in the same order?",
        "module": "attreval.metrics.rank_correlation",
        "source": "Kendall 1945",
    },
    {
        "name": "judging the judges",
        "question": "can a metric tell the truth, where it was planted?",
        "module": "attreval.metrics.planted.separation",
        "source": "after Chan et al. 2022",
    },
)


def list_methods() -> list[dict]:
    """Explanation methods."""
    return [
        {
            "name": m.name,
            "title": m.title,
            "kind": m.kind,
            "level": m.level,
            "models": list(m.families),
            "evaluations": m.evaluations,
            "signed": m.signed,
            "sampled": m.sampled,
            "limits": list(m.limits),
            "stochastic": m.stochastic,
            "source": m.source,
            "in_papers": {paper: name for paper, (_, name) in m.in_papers.items()},
        }
        for m in METHODS.values()
    ]


def list_corpora() -> list[dict]:
    """Tasks and the corpora they come from."""
    return [
        {
            "name": t.name,
            "title": t.title,
            "labels": list(t.labels),
            "segments": list(t.segments),
            "origin": t.origin,
            "licence": t.licence,
        }
        for t in corpora.TASKS.values()
    ]


def list_models() -> list[dict]:
    """Models that the profiles define."""
    return [
        {
            "profile": profile,
            "name": name,
            "architecture": spec.architecture,
            "from": spec.weights or "scratch" + (f", {spec.embeddings} embeddings" if spec.embeddings else ""),
            "max_length": spec.max_length,
        }
        for profile in config.profiles()
        for name, spec in config.load(profile).models.items()
    ]


def list_notebooks() -> list[dict]:
    """Notebooks and what they may be given."""
    return [
        {"name": name, "parameters": [f"{key} = {field.default!r}" for key, field in schema.model_fields.items()]}
        for name, schema in parameters.NOTEBOOKS.items()
    ]


def list_profiles() -> list[dict]:
    """Profiles with their tasks and methods."""
    loaded = [config.load(name) for name in config.profiles()]
    return [
        {
            "name": p.name,
            "tasks": list(p.tasks),
            "models": list(p.models),
            "methods": len(p.explain.methods),
            "threads": p.threads,
        }
        for p in loaded
    ]


CATALOGUES = {
    "methods": list_methods,
    "judges": lambda: list(JUDGES),
    "corpora": list_corpora,
    "models": list_models,
    "notebooks": list_notebooks,
    "profiles": list_profiles,
}
