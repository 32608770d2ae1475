# The packages of requirements.lock, checked by their sha256, and attreval itself; the checkout is mounted, and results go there (docs/cluster.md).
#   docker build --tag attreval .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" attreval run --profile quick
FROM python:3.11-slim

# the registry's torch brings CUDA; a smaller image without it: --build-arg PIP_OPTIONS="--extra-index-url <index of torch's CPU builds>"
ARG PIP_OPTIONS=""
ENV HOME=/tmp PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# LightGBM takes OpenMP from the system
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY requirements.lock requirements.torch /build/
RUN pip install --no-deps --require-hashes --requirement /build/requirements.lock \
    && pip install $PIP_OPTIONS --requirement /build/requirements.torch
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
RUN pip install --no-deps /build && rm -rf /build

WORKDIR /work
ENTRYPOINT ["attreval"]
CMD ["--help"]
