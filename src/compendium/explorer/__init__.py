"""The explorer of single texts: the outputs of a run (read), compressed, as one page (page and
js/).
"""
