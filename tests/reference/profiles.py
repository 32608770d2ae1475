"""Parts of the smallest profile, for tests that make one of their own."""

TASK = {
    "train_rows": 8,
    "dev_rows": 8,
    "test_rows": 8,
    "explain_rows": 2,
    "models": ["tiny"],
    "judges": ["faithfulness"],
}
TINY = {"layers": 1, "hidden": 8, "heads": 1, "tokenizer": "minilm"}
