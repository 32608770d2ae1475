# The packages of requirements.lock and attreval itself; the checkout is mounted, and results go there (docs/cluster.md).
#   docker build --tag attreval .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" attreval run --profile quick
FROM python:3.11-slim

# torch without CUDA, as the results were made with; for GPUs: --build-arg TORCH_INDEX=https://pypi.org/simple
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV HOME=/tmp PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

COPY requirements.lock /build/
RUN pip install --extra-index-url "$TORCH_INDEX" --requirement /build/requirements.lock
COPY pyproject.toml README.md LICENSE /build/
COPY src /build/src
RUN pip install --no-deps /build && rm -rf /build

WORKDIR /work
ENTRYPOINT ["attreval"]
CMD ["--help"]
