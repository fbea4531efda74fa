# SPDX-License-Identifier: MIT
# The front door. Each target sets up what it needs (tools/bootstrap) and calls Meson.
BUILD ?= build
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.DEFAULT_GOAL := help
.PHONY: help build test clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

build: ## build the library, the command and the tests into build/
	@tools/bootstrap
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) . >/dev/null
	@meson compile -C $(BUILD) | tail -n 1

test: build ## run every test; the last line counts them
	@$(BUILD)/tests/dm-tests --jobs $(JOBS)

clean: ## remove what was built
	rm -rf build build-*
