# SPDX-License-Identifier: MIT
# The front door. Each target sets up what it needs (tools/bootstrap) and calls Meson and ninja.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
export JOBS
comma := ,

.DEFAULT_GOAL := help
.PHONY: help build demo test test-roms bench bench-machine fuzz check check-gpu lint fmt install clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: ## build the library, the command and the tests into build/
	@tools/bootstrap
	@tools/build $(BUILD)

demo: build ## show what this machine offers, and test its devices
	@$(BUILD)/src/cli/dotmatrix info --selftest

test: build ## run every test; the last line counts them
	@$(BUILD)/tests/dm-tests --jobs $(JOBS)

bench: build ## many machines on DEVICE= (cpu); ROMS= files or folders; figures go to runs/bench/swarm.json
	@mkdir -p runs/bench
	@$(BUILD)/bench/dm-bench-swarm --device $(or $(DEVICE),cpu) --envs $(or $(ENVS),1$(comma)64$(comma)1024) \
		--stage emulate_only$(comma)full_step $(addprefix --roms ,$(ROMS)) --json runs/bench/swarm.json $(ARGS)

bench-machine: build ## one machine beside libmgba, gambatte and PyBoy; ROMS= files or folders, ARGS= its options
	@$(BUILD)/bench/dm-bench-machine $(ARGS) $(ROMS)

test-roms: build ## run the public test ROMs in the folder DM_TEST_ROMS=
	@$(BUILD)/tests/dm-test-roms --expect tests/roms/expected.txt

fuzz: ## random ROMs under ASan and UBSan; FRAMES= how many, SEED=, ROMS= files to change
	@tools/bootstrap
	@test -d build-fuzz || meson setup build-fuzz -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-fuzz --quiet tests/dm-fuzz-rom
	@build-fuzz/tests/dm-fuzz-rom --frames $(or $(FRAMES),1000000) --seed $(or $(SEED),1) $(ROMS)

check: ## format, warnings as errors (gcc and clang), lint, all tests under ASan and UBSan
	@tools/bootstrap --check
	@tools/check

check-gpu: ## on a machine with a GPU: its tests, compute-sanitizer and benchmarks (ARGS= for options)
	@tools/gpu-check $(ARGS)

lint: ## clang-tidy and cppcheck alone
	@tools/bootstrap --check
	@tools/check lint

fmt: ## format the C sources in place
	@tools/bootstrap --check
	@tools/check fmt

install: build ## install under PREFIX= (default /usr/local), inside DESTDIR= if given
	@meson configure $(BUILD) --prefix "$(abspath $(PREFIX))"
	@tools/build $(BUILD)
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild --quiet

clean: ## remove what was built
	rm -rf build build-*
