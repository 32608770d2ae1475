"""The study: corpora, papers, workflow and site on top of the library; it lives in a checkout."""
