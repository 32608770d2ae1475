"""python -m attreval.cli"""

from attreval.cli import app

app()
