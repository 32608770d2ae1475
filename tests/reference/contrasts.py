"""Contrasts of types of explanation, cell by cell and by hand."""

from statistics import mean


def contrast(rows, asked, lower_is_better=("sufficiency", "complexity")):
    """(mean difference, cells in which it is positive, cells) of rows as dictionaries; None without
    a cell.
    """
    sign = -1 if asked.properties[0] in lower_is_better else 1
    keys = [k for k in ("task", "model", "technique", "type", "form") if k != asked.across]
    cells = {}
    for row in rows:
        if row["property"] in asked.properties:
            options = cells.setdefault(tuple(row[k] for k in keys), {}).setdefault(
                row["instance"], {}
            )
            options[row[asked.across]] = sign * row["value"]
            if row[asked.across] in (asked.better, *asked.worse):
                options["random"] = sign * row["chance"]
    found = []
    for cell in cells.values():
        whole = [o for o in cell.values() if {asked.better, *asked.worse} <= set(o)]
        if whole:
            others = [mean(o[w] for o in whole) for w in asked.worse]
            found.append(
                mean(o[asked.better] for o in whole)
                - (max(others) if asked.pick == "best" else mean(others))
            )
    return (mean(found), sum(f > 0 for f in found), len(found)) if found else None
