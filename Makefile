# The commands that people type. Each installs what it needs first (NO_INSTALL=1 only says what is
# missing); everything else is CMake's business: see CMakePresets.json and CONTRIBUTING.md.
#
#   make run ARGS="--for 20s --no-traffic"     a gateway with two simulated GPU workers
#   make test                                  what has to pass on every change
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
ARGS ?=
RELEASE := build/release
BINARY := $(RELEASE)/sluice
export BOOTSTRAP_QUIET := 1

# Without a terminal Ninja would print a line for every file: then it prints failures alone.
NINJA_FLAGS := $(shell [ -t 1 ] || echo --quiet)

# $(call configure,PRESET,FLAGS): CMake's chatter is kept in a file and shown when it fails.
define configure
	@mkdir -p build/$(1)
	@cmake --preset $(1) $(2) > build/$(1)/configure.log 2>&1 \
		|| { cat build/$(1)/configure.log; exit 1; }
endef
# $(call build,PRESET,TARGETS)
define build
	@echo "building $(2) in build/$(1) with $(JOBS) jobs"
	@cmake --build build/$(1) --target $(2) -j $(JOBS) -- $(NINJA_FLAGS)
endef
# A tree that was configured with tests keeps them, so that run and test can take turns.
WITHOUT_TESTS = $$(grep -qs SLUICE_TESTS:BOOL=ON $(RELEASE)/CMakeCache.txt || echo -DSLUICE_TESTS=OFF)

.PHONY: help run build test test-all lint format sanitize fuzz bench
help:
	@echo "make run | build | test | test-all | lint | format | sanitize | fuzz | bench   (README.md)"

run: build
	@exec $(BINARY) demo $(ARGS)

build:
	@tools/bootstrap build
	$(call configure,release,$(WITHOUT_TESTS))
	$(call build,release,sluice)

test:
	@tools/bootstrap test
	$(call configure,release,-DSLUICE_TESTS=ON)
	$(call build,release,all)
	@ctest --test-dir $(RELEASE) --output-on-failure --no-tests=error -j $(JOBS) -LE long

# The label `long` marks what takes minutes: more events, longer histories.
test-all:
	@tools/bootstrap test
	$(call configure,release,-DSLUICE_TESTS=ON)
	$(call build,release,all)
	@ctest --test-dir $(RELEASE) --output-on-failure --no-tests=error -j $(JOBS)

# ASan with UBSan, then TSan. The label `nosan` marks what measures time or compiles nothing.
sanitize:
	@tools/bootstrap sanitize
	$(call configure,asan,-DSLUICE_TESTS=ON)
	$(call build,asan,all)
	@ctest --test-dir build/asan --output-on-failure --no-tests=error -j $(JOBS) -LE 'long|nosan'
	$(call configure,tsan,-DSLUICE_TESTS=ON)
	$(call build,tsan,all)
	@ctest --test-dir build/tsan --output-on-failure --no-tests=error -j $(JOBS) -LE 'long|nosan'

# The long form of what `make test` does for ten seconds each; a random seed, which is printed.
FUZZ ?=
FUZZ_SECONDS ?= 120
FUZZ_SEED ?= 0
fuzz:
	@tools/bootstrap test
	$(call configure,release,-DSLUICE_TESTS=ON)
	$(call build,release,fuzzers)
	@python3 tests/fuzz/run.py long --bin $(RELEASE)/tests/fuzz --seconds $(FUZZ_SECONDS) \
		--jobs $(JOBS) --seed $(FUZZ_SEED) $(FUZZ)

# The project's own lint and the format check also run in `make test`; clang-tidy is here alone,
# because it takes as long as a build. TIDY=src/core limits it to what matches.
TIDY ?= /src/
lint:
	@tools/bootstrap lint
	$(call configure,release,-DSLUICE_TESTS=ON)
	$(call build,release,sluice_lint)
	@$(RELEASE)/sluice_lint .
	@tools/format --check
	@run-clang-tidy-19 -quiet -j $(JOBS) -p $(RELEASE) '$(TIDY)' 2> build/tidy.err \
		|| { tail -n 20 build/tidy.err; exit 1; }

format:
	@tools/bootstrap test
	@tools/format

# Figures, not a test: the core alone, then the gateway beside nginx on the same upstream.
bench:
	@tools/bootstrap bench
	$(call configure,release,$(WITHOUT_TESTS))
	$(call build,release,sluice)
	@$(BINARY) bench core $(ARGS)
	@$(BINARY) bench gateway $(ARGS)

# Names that are promised and whose step is still to come. They fail, so that no script takes
# silence for success.
define later
.PHONY: $(1)
$(1):
	@echo "make $(1): $(2)" >&2; exit 2
endef
$(eval $(call later,differential,arrives with the Redis backend))
$(eval $(call later,faults,arrives with the fault harness))
$(eval $(call later,soak,arrives with the fault harness))
$(eval $(call later,interop,arrives with the tests against real clients))
$(eval $(call later,package,arrives with the Debian package))
$(eval $(call later,docs,arrives with the documentation site; today read docs/README.md))
