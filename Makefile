# make demo   train a digit classifier, eagerly and compiled
# make test   every check: ruff, import-linter, mypy, tests, the examples in the docs
# make test-quick  the checks that find most mistakes, in less than a minute
# make test-all    every case of make test, which runs a share of some and no long ones; the scalar target; random
#                  programs, the array API's tests
# make test-scalar the tests with code for one lane and one thread (AGNESI_TARGET=scalar)
# make bench  the speed table beside the peers (SUITES="calls rows" to choose, QUICK=1 for a short run,
#             CASES="Conv3d|GRU" for cases of such names)
# make peers  values and gradients of networks beside PyTorch's, and the share of its names
# make names  which of PyTorch's names for networks there are; writes docs/torch-names.md
# make conformance  the public tests of the array API standard (EXAMPLES=100 for more of each)
# make pictures  draws the call trees of docs/architecture.md again, from runs
# make coverage  which functions of NumPy and SciPy there are, with gradients, compiled natively
# make fuzz   20 000 random programs, always the same (PROGRAMS=2000 for fewer)
# make fuzz-new  random programs never tried before, for 45 seconds (SECONDS=600; SEED= repeats a run)
# make hostile  attacks the compile cache (kills, races, damaged entries, interrupts, forks, another user, full disks,
#               other versions), checkpoints, and graphs in files
# make growth  random programs of n and 2n: the compiled one's time grows as the eager one's does
# make lint   the checks that run no test
#
# Each makes the virtual environment that it needs; PYTHON=/path/to/python3 chooses the interpreter.

PYTHON ?= python3
TORCH ?= torch==2.13.0
SUITES ?=
QUICK ?=
CASES ?=
EXAMPLES ?= 20
PROGRAMS ?= 20000
SECONDS ?= 45
SEED ?=
QUICKLY := tests/test_house.py tests/core tests/schedule/test_*.py tests/rewrite tests/errors tests/compiler/jit/test_jit.py \
	tests/compiler/tracing/test_python_numbers.py tests/schedule/transforms/test_repeated_work.py tests/ops/test_edges.py \
	tests/ops/test_accumulation.py tests/autodiff/test_vmap.py tests/nn/test_layers.py docs README.md \
	$(addprefix --ignore=tests/core/,test_depth.py support/test_gc_pause.py support/test_interrupts.py)

TYPES = $(VENV)/bin/mypy && $(VENV)/bin/mypy tests/api/test_typing.py

# Tests and what they start find their bytecode again, where nothing may be written beside sources,
# too: pytest's rewritten assertions alone take a tenth of a run to make.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/bytecode

# Most of what is installed is never imported: what is, Python compiles then.
PIP_FLAGS := -qq --disable-pip-version-check --no-input --no-compile
VENV := .venv
BENCH := .venv-bench

.PHONY: demo test test-quick test-all test-scalar lint bench peers names pictures conformance coverage pytensor fuzz fuzz-new \
	growth hostile clean

demo: $(VENV)/.ready
	$(VENV)/bin/python examples/digits.py

# mypy takes one processor for longer than tests take to be collected, and runs beside them; what it
# says comes last.
test: $(VENV)/.ready
	$(VENV)/bin/ruff check
	$(VENV)/bin/lint-imports --no-logo
	@{ $(TYPES); } > $(VENV)/types.log 2>&1 & types=$$!; \
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.log; exit $$((tests | types))

test-quick: $(VENV)/.ready
	$(VENV)/bin/ruff check
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal $(QUICKLY)

test-all: export AGNESI_EVERY_CASE = 1
test-all: test test-scalar fuzz conformance

test-scalar: $(VENV)/.ready
	AGNESI_TARGET=scalar $(VENV)/bin/python -m pytest -n 2 --dist worksteal tests

lint: $(VENV)/.ready
	$(VENV)/bin/ruff check
	$(VENV)/bin/lint-imports --no-logo
	$(TYPES)

fuzz: $(VENV)/.ready
	$(VENV)/bin/python -m tests.fuzz --programs $(PROGRAMS) --seed 0

fuzz-new: $(VENV)/.ready
	$(VENV)/bin/python -m tests.fuzz --seconds $(SECONDS) --first $(if $(SEED),--seed $(SEED))

hostile: $(VENV)/.ready
	$(VENV)/bin/python -m tests.hostile

growth: $(VENV)/.ready
	$(VENV)/bin/python -m tests.fuzz.growth --programs $(if $(QUICK),20,200) $(if $(SEED),--seed $(SEED))

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks $(if $(QUICK),--quick) $(if $(CASES),--cases "$(CASES)") $(SUITES)

peers: $(BENCH)/.ready
	$(BENCH)/bin/python -m pytest benchmarks/tests
	$(BENCH)/bin/python -m benchmarks.names

conformance: $(VENV)/.ready
	$(VENV)/bin/python -m pip install $(PIP_FLAGS) --editable '.[conformance]'
	$(VENV)/bin/python tools/conformance.py --max-examples $(EXAMPLES)
	$(VENV)/bin/python tools/conformance.py --max-examples $(EXAMPLES) --jit

names: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.layer_names

pictures: $(VENV)/.ready
	$(VENV)/bin/python -m tools.pictures

coverage: $(VENV)/.ready
	$(VENV)/bin/python tools/names.py $(if $(LIST),--list)
	$(VENV)/bin/python tools/theano_names.py $(if $(LIST),--list)

# PyTensor's own tests through agnesi.compat.theano: make pytensor CHECKOUT=its sources.
pytensor: $(VENV)/.ready
	$(VENV)/bin/python tools/pytensor_tests.py $(CHECKOUT)

$(VENV)/.ready: pyproject.toml
	@$(call make_venv,$(VENV))
	@echo "installing agnesi and its development tools into $(VENV)"
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $@

# torch comes first: once the pinned build is there, no other package can bring in a larger one.
$(BENCH)/.ready: pyproject.toml
	@$(call make_venv,$(BENCH))
	@echo "installing agnesi and the peers (PyTorch, JAX, PyTensor, numexpr) into $(BENCH)"
	@$(BENCH)/bin/python -m pip install $(PIP_FLAGS) '$(TORCH)'
	@$(BENCH)/bin/python -m pip install $(PIP_FLAGS) --editable '.[bench]'
	@touch $@

clean:
	rm -rf $(VENV) $(BENCH) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

# Debian and Ubuntu ship python3 without the module that puts pip into a new environment.
define make_venv
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "agnesi needs Python 3.11 or newer; choose one with: make PYTHON=/path/to/python3" >&2; exit 1; }; \
$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	|| { echo "this Python cannot make virtual environments; on Debian or Ubuntu run:" >&2; \
	     echo "    sudo apt-get install python3-venv" >&2; exit 1; }; \
test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
endef
