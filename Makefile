# The front door. What is longer than a line is a script in scripts/; what a program measures is in bench/.

# By the shell, because make's own functions take a path with a blank for two.
export CARGO_TARGET_DIR := $(shell realpath -m -- "$(or $(CARGO_TARGET_DIR),target)")

# The programs beside `foretop` that need nothing but cargo.
PROGRAMS := -p foretop-tools -p foretop-play -p foretop-sched -p foretop-sim -p foretop-tunnel

.DEFAULT_GOAL := help
.PHONY: help run test flakes fuzz lint soak bench web build programs all dist packages mpi kernel python playback-demo screenshots host-load-study mpi-tree-study wan-study kernel-study study clean

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  make run ARGS='--listen 127.0.0.1:0' hands arguments to \`foretop up\`; its page is at the address that it prints."

run: build ## Installs what is missing, builds, and measures this host until Ctrl-C.
	@exec "$$CARGO_TARGET_DIR/release/foretop" up $(ARGS)

test: ## Installs what is missing and runs every test; PART=rust,mpi runs these parts, PART=list names them.
	@scripts/test.sh $(PART)

flakes: ## Runs compiled tests again and again on a busy machine and prints what failed how often (MINUTES=60 PART=rust,servers SEED=1).
	@scripts/flakes.sh

fuzz: ## Looks for inputs that break a decoder, a minute for each (FORETOP_FUZZ_SECONDS, FORETOP_FUZZ_RUNS).
	@scripts/fuzz.sh

soak: build ## Lets a node suffer faults for ten minutes and checks that it lost nothing (SECONDS=600 SEED=7).
	@cargo build --release -p soak --locked
	@"$$CARGO_TARGET_DIR/release/soak" --answers-within 50ms --foretop "$$CARGO_TARGET_DIR/release/foretop"

lint: ## Checks form and habits of all code (rustfmt, clippy, ruff, mypy, tsc, shellcheck), and whose code comes with it.
	@scripts/lint.sh

bench: dist ## Measures Foretop beside its peers and writes docs/figures.md (about 20 minutes).
	@scripts/bench.sh

web: ## Builds the page into web/dist, unless it is there and newer than its sources.
	@scripts/build-web.sh

build: web ## Builds the program `foretop` with the page in it: all that a node needs.
	@scripts/check-disk.sh && scripts/install-system-packages.sh cargo cc
	@cargo build --release -p foretop --locked

programs: build ## Builds the programs beside `foretop`: foretop-tools, -play, -sched, -sim, -tunnel.
	@cargo build --release $(PROGRAMS) --locked

all: ## Builds everything: the programs beside `foretop`, those that run under MPI, `foretop-kernel`, the Python package.
	@scripts/build-all.sh

dist: web ## Builds the program `foretop` as it is released and benched: optimized across crates, which takes longer.
	@scripts/install-system-packages.sh cargo cc
	@cargo build --profile dist -p foretop $(PROGRAMS) --locked

packages: ## Makes Debian packages, a tarball and a wheel in target/packages (docs/howto/install.md).
	@scripts/check-disk.sh && scripts/make-packages.sh

mpi: ## Builds the programs that run under MPI, for Open MPI and MPICH; `foretop mpi` finds them.
	@scripts/mpi.sh build

kernel: ## Builds the program that measures the kernel, which needs clang; `foretop kernel` finds it.
	@scripts/kernel.sh build

python: ## Builds the Python package and installs it into .venv.
	@scripts/python-package.sh release

playback-demo: ## Serves the demo of playback in browsers, over links as slow as one chooses, until Ctrl-C.
	@scripts/playback-demo.sh

screenshots: build ## Makes the pictures of the page and the terminal view in docs/images.
	@scripts/screenshots.sh

host-load-study: programs ## Makes the study of host load and its table from its traces (RECORD=1 records them anew, 80 minutes).
	@scripts/host-load-study.sh $(if $(RECORD),--record)

mpi-tree-study: programs mpi ## Makes the study of trees of collectives, on emulated hosts as root (25 minutes; ARGS=--quick, ARGS='--rounds 3 --pairs 5').
	@scripts/mpi-tree-study.sh $(ARGS)

wan-study: programs mpi ## Makes the study of collectives over sites, on this machine without root (20 minutes; ARGS=--quick, ARGS='--iterations 1000').
	@"$${FORETOP_BIN:-$${CARGO_TARGET_DIR:-target}/release/foretop}" mpi study wan --out "$${CARGO_TARGET_DIR:-target}/wan-study" $(ARGS)

kernel-study: programs mpi kernel ## Makes the study of the kernel, as root (25 minutes; ARGS=--quick, ARGS='--only devices'); without root, what needs none.
	@"$${FORETOP_BIN:-$${CARGO_TARGET_DIR:-target}/release/foretop}" kernel study --out "$${CARGO_TARGET_DIR:-target}/kernel-study" $(ARGS)

# For one version: what this was called in 0.1.0.
study:
	@echo 'make study is called make host-load-study' >&2; exit 2

clean: ## Removes everything that was built or fetched into this folder.
	@cargo clean
	@rm -rf web/dist web/node_modules web/playback/dist web/playback/playback.wasm web/test-results web/playwright-report .venv
