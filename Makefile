# SPDX-License-Identifier: MIT
# The front door. Each target sets up what it needs (tools/bootstrap) and calls Meson and ninja.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
export JOBS

.DEFAULT_GOAL := help
.PHONY: help build demo test test-roms test-kill verify verify-gpu record bench bench-gpu bench-dynamics bench-machine bench-swarm report \
	test-hostile test-tsan fuzz fuzz-kernel fuzz-parsers check check-gpu lint fmt install dist wheel clean
DOTMATRIX = $(BUILD)/src/cli/dotmatrix

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

build: ## build the library, the command and the tests into build/
	@tools/bootstrap
	@tools/build $(BUILD)

demo: ## devices tested, a comparison with mGBA, and an agent that learns STARFALL before your eyes: runs/demo/index.html
	@tools/bootstrap
	@TARGETS="src/cli/dotmatrix roms" tools/build $(BUILD)
	@tools/demo $(BUILD)

test: build ## run every test; the last line counts them
	@$(BUILD)/tests/dm-tests --jobs $(JOBS)

verify: build ## every ROM of ours in lockstep with mGBA and PyBoy (roms/suite.json)
	@$(DOTMATRIX) verify --suite roms/suite.json --roms $(BUILD)/roms $(ARGS)

verify-gpu: build ## the same on a GPU
	@$(DOTMATRIX) verify --suite roms/suite.json --roms $(BUILD)/roms --dut-backend vec_cuda $(ARGS)

record: build ## what the references do in verify, for a machine that has none of them (DIR=build-portable/recorded)
	@$(DOTMATRIX) verify --suite roms/suite.json --roms $(BUILD)/roms --record $(or $(DIR),build-portable/recorded)

bench: build ## our games on this CPU beside mGBA and PyBoy, with a report; GAMES= a folder, ROMS= files, ENVS=, ARGS=
	@tools/bench $(BUILD) cpu

bench-gpu: build ## the same with machines on a GPU as well
	@tools/bench $(BUILD) gpu

report: build ## tables, plots and a page from all of runs/bench/, into runs/reports/<time>
	@ls runs/bench/*.json >/dev/null 2>&1 || { echo "report: there is nothing in runs/bench; make bench" >&2; exit 1; }
	@$(DOTMATRIX) report runs/bench/*.json --out runs/reports/$$(date +%Y%m%d-%H%M%S)

bench-swarm: build ## many machines on DEVICE= (cpu or cuda) alone, and what the kernel needs; GAMES=, ROMS=, ENVS=, ARGS=
	@tools/bench $(BUILD) $(or $(DEVICE),cpu)-alone

bench-dynamics: build ## the dynamics kernels on DEVICE= (cpu:1): figures and plots go to runs/dynamics
	@$(BUILD)/src/cli/dotmatrix dynamics bench --device $(or $(DEVICE),cpu:1) --out runs/dynamics $(ARGS)

bench-machine: build ## one machine on one thread beside mGBA, gambatte and PyBoy; GAMES= a folder, ROMS= files, ARGS=
	@tools/bench $(BUILD) machine

test-roms: build ## run the public test ROMs in the folder DM_TEST_ROMS=
	@$(BUILD)/tests/dm-test-roms --expect tests/roms/expected.txt

test-kill: build ## runs of the real models, killed ten times each and resumed; DATA= a folder with mnist/ and tinyshakespeare.txt
	@DM_TEST_KILL_DATA=$(or $(DATA),../shared/data) $(BUILD)/tests/dm-tests train/kill

test-hostile: build ## wrong numbers, files and disks given to every subcommand; ONLY= rows with this text in their name
	@python3 -B tests/hostile/hostile.py $(DOTMATRIX) --jobs $(JOBS) $(if $(ONLY),--only '$(ONLY)') $(ARGS)

fuzz: ## random ROMs under ASan and UBSan; FRAMES= how many, SEED=, ROMS= files to change
	@tools/bootstrap
	@test -d build-fuzz || meson setup build-fuzz -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-fuzz --quiet tests/dm-fuzz-rom
	@build-fuzz/tests/dm-fuzz-rom --frames $(or $(FRAMES),1000000) --seed $(or $(SEED),1) $(ROMS)

fuzz-kernel: ## texts of all kinds against the kernel compiler under ASan and UBSan; SECONDS= how long, SEED=
	@tools/bootstrap
	@test -d build-fuzz || meson setup build-fuzz -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C build-fuzz --quiet tests/dm-fuzz-kernel
	@build-fuzz/tests/dm-fuzz-kernel --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1) kernels/*.py

FUZZER = build-fuzz-libfuzzer
fuzz-parsers: ## every parser of files under ASan and UBSan, guided by coverage (clang): SECONDS= each, TARGET= one
	@tools/bootstrap --check
	@test -d $(FUZZER) || CC=clang meson setup $(FUZZER) -Dfuzzer=true -Dportable=true -Dbuildtype=debugoptimized \
		-Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
	@ninja -C $(FUZZER) --quiet tests/dm-fuzz
	@tools/fuzz-all --seconds $(or $(SECONDS),60) --jobs $(JOBS) $(if $(TARGET),--only $(TARGET)) --out runs/fuzz

test-tsan: ## threads under ThreadSanitizer: the pool, swarms on the CPU, the producer of data sets, training (minutes)
	@tools/bootstrap
	@test -d build-tsan || meson setup build-tsan -Dbuildtype=debugoptimized -Dc_args=-w -Db_sanitize=thread -Db_lundef=false >/dev/null
	@JOBS=$(JOBS) tools/build build-tsan
	@for group in base/thread base/progress swarm/ synth/produce nn/model train/trainer; do \
		TSAN_OPTIONS=halt_on_error=1:exitcode=66 build-tsan/tests/dm-tests --jobs $(JOBS) $$group || exit 1; done

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

VERSION = $(shell sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
dist: ## a tarball of the commit that is checked out, into dist/
	@mkdir -p dist
	@git archive --prefix=dotmatrix-$(VERSION)/ HEAD >dist/dotmatrix.tar
	@gzip -n <dist/dotmatrix.tar >dist/dotmatrix-$(VERSION).tar.gz && rm dist/dotmatrix.tar
	@echo dist/dotmatrix-$(VERSION).tar.gz

wheel: ## the Python package as one wheel, tried with each Python that is here, into dist/
	@tools/bootstrap
	@tools/wheel dist

clean: ## remove what was built
	rm -rf build build-*
