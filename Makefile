# Two commands matter: `make demo` and `make test`. Both install what they need (as root, by Debian package name).

CARGO ?= cargo
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')
ARCH = $(firstword $(subst -, ,$(TRIPLE)))
AGENT = $(TARGET)/agents/rocksalt-agent-$(ARCH)
SMALL_AGENT = $(TARGET)/agents/rocksalt-agent-small-$(ARCH)
BUILD_AGENT = $(FLAGS)='$(STATIC) $(LEAN)' $(CARGO) rustc --locked --profile agent --package rocksalt-agent --bin rocksalt-agent --target $(TRIPLE)
BUILT_AGENT = $(TARGET)/$(TRIPLE)/agent/rocksalt-agent
TESTBED = $(TARGET)/debug/rocksalt-testbed
# The agent and the released binary are static: they run on any Linux, whatever C library it has, or none.
FLAGS = CARGO_TARGET_$(shell echo '$(TRIPLE)' | tr a-z- A-Z_)_RUSTFLAGS
# What the agents can do without; only tried with the linker that rustc brings for x86_64.
LEAN_x86_64 = -C link-arg=-Wl,--no-eh-frame-hdr -C link-arg=-Wl,-T,$(CURDIR)/crates/agent/agent.ld
LEAN = -C force-unwind-tables=no $(LEAN_$(ARCH))
# The outliner shares stretches of code that functions have in common; elsewhere it is on by itself. Only for the small
# agent: it makes the compiling of states a tenth slower. A flag of the last step, where all code is generated, so that
# both agents share what they consist of.
OUTLINER_x86_64 = -C llvm-args=-enable-machine-outliner=always
# The linker keeps one of functions that came out the same; nothing here compares addresses of functions.
FOLD_x86_64 = -C link-arg=-Wl,--icf=all
STATIC = -C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs

# All cargo runs share one target directory, and see the same agents: a change of either would build all anew.
export CARGO_TARGET_DIR := $(TARGET)
export ROCKSALT_AGENTS := $(TARGET)/agents
export ROCKSALT_SKIPPED := $(TARGET)/skipped

.DEFAULT_GOAL := help
# The order of the steps matters, and cargo uses all cores by itself.
.NOTPARALLEL:
.PHONY: help demo test build fuzz bench clean-testbed forget-skipped tools agent whole-agent check unit hosts e2e api

help:
	@echo 'make demo           three throw-away hosts, and what rocksalt does with them'
	@echo 'make test           everything that a change must pass'
	@echo 'make build          the release binary, with the agent in it'
	@echo 'make bench          us and others, side by side on the same hosts'
	@echo 'make fuzz           fuzz targets, ten minutes each (FUZZ_SECONDS=600)'
	@echo 'make clean-testbed  end all throw-away hosts and delete their base roots'

demo:
	@scripts/install demo
	@CARGO='$(CARGO)' TARGET='$(TARGET)' scripts/build-demo
	@TARGET='$(TARGET)' scripts/demo

test: forget-skipped tools agent check unit hosts e2e api
	@scripts/skipped

build: tools agent
	$(FLAGS)='$(STATIC)' $(CARGO) rustc --locked --release --package rocksalt --bin rocksalt --target $(TRIPLE) -- $(FOLD_$(ARCH))
	@mkdir -p $(TARGET)/release
	@cp $(TARGET)/$(TRIPLE)/release/rocksalt $(TARGET)/release/rocksalt
	@ls -l $(TARGET)/release/rocksalt

bench: build
	$(CARGO) build --locked --package rocksalt-testkit
	@test -x bench/run || { echo 'bench/run is missing in this checkout' >&2; exit 1; }
	$(FLAGS)='$(STATIC)' $(CARGO) build --locked --release --package rocksalt-sls --example compile --target $(TRIPLE)
	@mkdir -p $(TARGET)/release/examples
	@cp $(TARGET)/$(TRIPLE)/release/examples/compile $(TARGET)/release/examples/compile
	$(FLAGS)='$(STATIC)' $(CARGO) build --locked --release --package rocksalt-client --example load --target $(TRIPLE)
	@cp $(TARGET)/$(TRIPLE)/release/examples/load $(TARGET)/release/examples/load
	TARGET='$(TARGET)' bench/run --install --write
	TARGET='$(TARGET)' bench/http --install --write

fuzz: tools
	@TARGET='$(TARGET)' scripts/fuzz

clean-testbed:
	$(CARGO) build --locked --package rocksalt-testkit
	$(TESTBED) clean

# The steps of `make test`, in their order; each can be run alone.

forget-skipped:
	@rm -f $(ROCKSALT_SKIPPED)

tools:
	@scripts/install

agent: whole-agent
	$(BUILD_AGENT) --no-default-features -- $(OUTLINER_$(ARCH)) $(FOLD_$(ARCH))
	@cmp -s $(BUILT_AGENT) $(SMALL_AGENT) || cp $(BUILT_AGENT) $(SMALL_AGENT)

whole-agent:
	@mkdir -p $(TARGET)/agents
	$(BUILD_AGENT) -- $(FOLD_$(ARCH))
	@cmp -s $(BUILT_AGENT) $(AGENT) || cp $(BUILT_AGENT) $(AGENT)

check:
	@scripts/with fmt $(CARGO) fmt --all --check
	@scripts/with clippy $(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy
	@scripts/with deny $(CARGO) deny --log-level error check bans licenses sources

unit:
	$(CARGO) test --locked --workspace --exclude e2e --exclude rocksalt-testkit
	python3 -B -m unittest discover -s bench/tests

hosts:
	$(CARGO) test --locked --package rocksalt-testkit

e2e:
	$(CARGO) build --locked --package rocksalt
	$(CARGO) test --locked --package e2e

# What the daemon answers is held against its own document.
api:
	$(CARGO) build --locked --package rocksalt
	@TARGET='$(TARGET)' scripts/schemathesis
