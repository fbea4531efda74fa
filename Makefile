# SPDX-License-Identifier: MIT
# The front door. Each target sets up what it needs (tools/bootstrap) and calls Meson and ninja.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
export JOBS

.DEFAULT_GOAL := help
.PHONY: help build test install clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

build: ## build the library, the command and the tests into build/
	@tools/bootstrap
	@tools/build $(BUILD)

test: build ## run every test; the last line counts them
	@$(BUILD)/tests/dm-tests --jobs $(JOBS)

install: build ## install under PREFIX= (default /usr/local), inside DESTDIR= if given
	@meson configure $(BUILD) --prefix "$(abspath $(PREFIX))"
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --quiet

clean: ## remove what was built
	rm -rf build build-*
