"""python -m attreval"""

from attreval.cli import app

app()
