# make report: everything from raw text to the rendered site.   make test: the tests.   make help: the rest.

# says what is wanted, and does nothing where this Python will do
CHECK := import sys; v = sys.version_info[:3]; \
  (3, 11) <= v[:2] <= (3, 14) or sys.exit("Python 3.11 to 3.14 is needed; found %d.%d.%d at %s; set PYTHON=..." % (v + (sys.executable,))); \
  import importlib.util as u; u.find_spec("ensurepip") or sys.exit("%s makes no environments; on Debian and Ubuntu: apt install python%d.%d-venv" % ((sys.executable,) + v[:2]))
PYTHON ?= $(or $(shell for one in python3 python3.13 python3.12 python3.11 python3.14; do \
  $$one -c '$(CHECK)' 2>/dev/null && echo $$one && break; done),python3)
PROFILE ?= quick
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet --no-input
PEERS := ferret captum interpreto
ONLY ?=
TEXTS ?= 5
REPEATS ?= 5
GROWTH ?= 1,10,100
DEVICE ?= cpu
COURT := ferret explainkit ice interpreto captum $(if $(EVALXNLP),evalxnlp)
COURT_SEED ?= 7
ENVS := benchmarks/.envs

.PHONY: help report test library promises smoke lab lint format doctor lock clean quarto publish bench court
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 12

report: $(READY)  ## fetch the corpora, run PROFILE (quick), render the site, say in a line how many numbers are as committed (others fail nothing: attreval verify does)
	@$(BIN)/attreval run --profile $(PROFILE)

test: $(READY)  ## all tests: units, properties, golden values, the smoke workflow, the site in a browser
	@$(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder --durations 10

LIBRARY := api core evaluation methods metrics models properties test_demo.py test_library_alone.py
library: $(READY)  ## the tests of the library alone
	@$(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder $(LIBRARY:%=tests/%)

promises:  ## what README promises, from an empty home: the wheel into an empty environment, the demo, one's own model
	@$(PYTHON) tests/promises.py

smoke: $(READY)  ## the whole workflow on a few dozen rows and tiny models
	@$(BIN)/attreval run --profile smoke

lab: $(READY)  ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab --notebook-dir notebooks

lint: $(READY)  ## check style and types, and that notebooks carry no outputs
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/nbstripout --verify notebooks/*.ipynb && $(BIN)/mypy

format: $(READY)  ## mend style, strip notebook outputs
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; $(BIN)/nbstripout notebooks/*.ipynb

doctor: $(READY)  ## say what this machine has, and what follows
	@$(BIN)/attreval doctor

quarto: $(READY)  ## install Quarto from its Python package (downloads a release), so that rendering uses it
	@$(PIP) install '.[quarto]'

publish: report  ## commit the run of PROFILE (quick): results/reference, docs/fidelity.md and the links to it, without any corpus text
	@$(BIN)/attreval publish --profile $(PROFILE)
	@$(BIN)/attreval demo --out docs/images/demo.svg

bench: $(READY) $(foreach peer,$(or $(ONLY),$(PEERS)),$(ENVS)/$(peer)/.ready)  ## cost beside ferret, captum, interpreto: ONLY=ferret TEXTS=5 REPEATS=5
	@$(BIN)/python benchmarks/run.py --count $(TEXTS) --repeats $(REPEATS) --growth "$(GROWTH)" --device $(DEVICE) \
	  $(if $(ONLY),--only $(ONLY)) $(if $(MODEL),--model $(MODEL)) $(if $(CSV),--texts $(CSV)) $(if $(WHAT),--what '$(WHAT)')

HELD := benchmarks/.inputs/court
court: $(READY) $(foreach peer,$(COURT),$(ENVS)/$(peer)/.ready)  ## other libraries' metrics on trial: EVALXNLP=folder COURT_SEED=7 TEXTS=30
	@$(BIN)/attreval trial --export $(HELD) --world backdoor_bert --seed $(COURT_SEED) --texts $(if $(filter file,$(origin TEXTS)),30,$(TEXTS))
	@for peer in $(COURT); do TRANSFORMERS_VERBOSITY=error EVALXNLP=$(EVALXNLP) \
	  $(ENVS)/$$peer/bin/python benchmarks/court/of_$$peer.py $(HELD) $(HELD)/$$peer.jsonl || exit 1; done
	@$(BIN)/python benchmarks/court/judging.py $(HELD) $(COURT:%=$(HELD)/%.jsonl)

# what a build of torch for GPUs asks for, and brings itself
CUDA := cuda-bindings cuda-toolkit nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton

# what has no wheel on one Python or another; none of it is compiled. All else must have one, on the oldest macOS that torch is built for
SOURCES := connection-pool lime immutables

lock:  ## resolve the dependencies into requirements.lock; versions that still fit stay, UPGRADE=--upgrade takes the newest
	@rm -rf .lock-venv && $(PYTHON) -m venv .lock-venv && .lock-venv/bin/python -m pip install --quiet --quiet uv
	@printf '%s\n' $(CUDA) | .lock-venv/bin/uv pip compile --quiet --universal --python-version 3.11.0 --extra test \
	  --generate-hashes --no-annotate --custom-compile-command 'make lock' --no-emit-package torch --excludes - $(UPGRADE) \
	  pyproject.toml requirements.torch --output-file requirements.lock
	@for on in '3.11.0 x86_64-manylinux_2_28' '3.14.0 aarch64-apple-darwin'; do set -- $$on; \
	  sed -n 's/ \\$$//; /^[a-zA-Z0-9][^ ]*==/p' requirements.lock requirements.torch \
	  | MACOSX_DEPLOYMENT_TARGET=14.0 .lock-venv/bin/uv pip compile --quiet --no-deps --only-binary :all: $(SOURCES:%=--no-binary %) \
	    --python-version $$1 --python-platform $$2 - > /dev/null || exit 1; done
	@rm -rf .lock-venv

COMMITTED := README.md full quick controls benchmark

clean:  ## remove results and the site; what is committed, downloads, tables and .venv stay
	@rm -rf _site .snakemake _variables.yml _explorer.yml paper/notebooks paper/tables paper/figures && find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} +
	@find results/reference -mindepth 1 -maxdepth 1 $(COMMITTED:%=! -name %) -exec rm -rf {} +

$(READY): requirements.lock requirements.torch pyproject.toml
	@$(PYTHON) -c '$(CHECK)'
	@echo "setup 1 of 3: virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "setup 2 of 3: $$(grep -c == requirements.lock) packages, each checked by its sha256, about two minutes"
	@$(PIP) install --no-deps --require-hashes --requirement requirements.lock
	@$(PIP) install --requirement requirements.torch
	@echo "setup 3 of 3: attreval itself"
	@$(PIP) install --no-deps --editable .
	@touch $@

# what a peer asks for and does not need to run (interpreto: CUDA 11) is left out: NAME.alone.txt is installed without it
$(ENVS)/%/.ready: benchmarks/environments/%.txt $(wildcard benchmarks/environments/*.alone.txt)
	@echo "setup: environment of $* in $(ENVS)/$*, about two minutes"
	@$(PYTHON) -m venv $(ENVS)/$*
	@$(ENVS)/$*/bin/python -m pip --disable-pip-version-check --quiet --quiet --no-input install --requirement $<
	@$(if $(wildcard benchmarks/environments/$*.alone.txt),$(ENVS)/$*/bin/python -m pip --disable-pip-version-check --quiet --quiet --no-input install --no-deps --requirement benchmarks/environments/$*.alone.txt)
	@touch $@
