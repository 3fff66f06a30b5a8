# Names only: `make help` prints them. Everything works on a clean checkout.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

# Each module is tested as its users see it, whatever the machine is set to.
export GOWORK  := off
export GOFLAGS := -buildvcs=false

GOLANGCI_VERSION := v2.15.0
TOOLS    := $(CURDIR)/.cache/tools
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

MODULES   := $(patsubst %/go.mod,%,$(wildcard ./go.mod ./*/go.mod ./*/*/go.mod ./*/*/*/go.mod))
# What needs databases, and waits for real clocks.
SQL       := $(filter ./backends/% ./examples/%,$(MODULES))
FAST      := $(filter-out $(SQL),$(MODULES))
TESTFLAGS ?=
FUZZTIME  ?= 10s
CHECKS    ?= 1000
ONLY      ?=

# $(call each,MODULES,COMMAND): COMMAND in each module; the first failure is the last.
each = for module in $(1); do (cd $$module && $(2)) || exit 1; done

.PHONY: help
help: ## Print these names.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: ## Test all modules but the SQL stores, in under two minutes. TESTFLAGS="-v -run X".
	@$(call each,$(FAST),go test $(TESTFLAGS) ./...)

.PHONY: race
race: ## The same under the race detector.
	@$(call each,$(FAST),CGO_ENABLED=1 go test -race $(TESTFLAGS) ./...)

.PHONY: test-sql
test-sql: ## Test the SQL stores, on PostgreSQL where FENCEDSQL_POSTGRES is its DSN. Three minutes.
	@$(call each,$(SQL),go test $(TESTFLAGS) ./...)

# The race detector makes SQLite's driver, which is C made into Go, 15 to 25 times slower.
.PHONY: race-sql
race-sql: ## The same under the race detector, without SQLite.
	@$(call each,$(SQL),CGO_ENABLED=1 go test -race -skip 'SQLite|/SQLite' $(TESTFLAGS) ./...)

.PHONY: lint
lint: $(GOLANGCI) ## Lint every module by the allow-list in .golangci.yml.
	@$(GOLANGCI) config verify
	@$(call each,$(MODULES),$(GOLANGCI) run ./...)

.PHONY: fmt
fmt: $(GOLANGCI) ## Format every module as lint wants it.
	@$(call each,$(MODULES),$(GOLANGCI) fmt ./...)

# Of exactly this version, in no go.mod: about two minutes once, then cached.
$(GOLANGCI):
	@mkdir -p $(TOOLS)/$(GOLANGCI_VERSION)
	GOBIN=$(TOOLS)/$(GOLANGCI_VERSION) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@ln -f $(TOOLS)/$(GOLANGCI_VERSION)/golangci-lint $@

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (10s).
	@$(call each,$(FAST),go list ./... | while read -r package; do \
		targets=$$(go test -list '^Fuzz' $$package | awk '/^Fuzz/') || exit 1; \
		for target in $$targets; do \
			echo "fuzz $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package </dev/null || exit 1; \
		done; \
	done)

.PHONY: ci-random
ci-random: ## Random histories from a fresh seed, printed, and a short fuzz. SEED=, CHECKS=.
	@seed=$(or $(SEED),$$(date +%s%N)); \
	echo "random: make ci-random SEED=$$seed CHECKS=$(CHECKS)"; \
	cd tests; \
	FENCED_SEED=$$seed go test -count=1 $(TESTFLAGS) ./linear ./stress; \
	go test -count=1 $(TESTFLAGS) ./random -rapid.seed=$$seed -rapid.checks=$(CHECKS)
	@$(MAKE) fuzz FUZZTIME=$(FUZZTIME)

.PHONY: mutants
mutants: ## Break the library on purpose, and want a named test to fail each time. ONLY=REGEXP.
	@go run ./internal/mutants -only '$(ONLY)'

.PHONY: mutants-sql
mutants-sql: ## The same for the SQL stores, on the PostgreSQL that FENCEDSQL_POSTGRES names. ONLY=REGEXP.
	@go run ./internal/mutants -list backends/fencedsql/tests/mutants.txt -only '$(ONLY)'

.PHONY: tla
tla: ## Check the specification, its mutants, and traces of the code against it.
	@tla/run quick
	@$(MAKE) traces

.PHONY: tla-long
tla-long: ## The same within wider bounds.
	@tla/run long
	@$(MAKE) traces

# Records what the store does, and checks that the specification allows it.
.PHONY: traces
traces:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	(cd tests && FENCED_TRACES=$$dir go test -count=1 -run 'TestRecord|TestTraces' ./trace ./walk) && \
	tla/run trace $$dir/*.jsonl

.PHONY: bench
bench: ## Print the ratios to the floor, beside what was promised.
	@cd bench && go run .

.PHONY: bench-report
bench-report: ## Measure what people would use instead as well; write bench/RESULTS.md and plots.
	@cd bench && go run ./peers

.PHONY: cover
cover: ## Statement coverage of the library by the root module's tests.
	@mkdir -p .cache
	@go test -coverpkg=. -coverprofile=.cache/cover.out ./... >/dev/null
	@go tool cover -func=.cache/cover.out | awk '$$3 != "100.0%"'

.PHONY: deps
deps: ## Prove that the root module needs only what it may.
	@bash .ci/deps

.PHONY: tidy-check
tidy-check: ## Every go.mod and go.sum is as `go mod tidy` would leave it.
	@$(call each,$(MODULES),go mod tidy -diff)

.PHONY: clean
clean: ## Remove what was built here, the linter included.
	@rm -rf .cache bin
