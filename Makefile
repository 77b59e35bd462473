# notifyd. `make help` prints what stands behind ## below.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BINARY   := bin/notifyd
FUZZTIME ?= 20s
ROUNDS   ?= 300

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## one static file, bin/notifyd
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BINARY) ./cmd/notifyd

.PHONY: demo
demo: build ## run notifyd with a throw-away store and signed notifications that it sends itself (options: ARGS=--once)
	$(BINARY) demo $(ARGS)

.PHONY: test
test: check ## everything that must be green: check, then all tests on both databases with the race detector
	@scripts/need-postgres
	@race=$$(scripts/race) && set -x && \
	  CGO_ENABLED=$${race:+1} go test $$race -shuffle=on -timeout 9m ./...

.PHONY: check
check: ## no tests of behaviour: vet, gofmt, module sums, generated files, and the rules of the house
	@scripts/formatted
	go mod verify
	go vet ./...
	@scripts/generated --verify
	go test -count=1 -run '^TestHouse' ./cmd/notifyd

.PHONY: fuzz
fuzz: ## every fuzz target of the module, 20 s each (FUZZTIME=10m)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz

.PHONY: cover
cover: ## coverage per package, and coverage.out for `go tool cover -html=coverage.out`
	@scripts/need-postgres
	go test -coverpkg=./cmd/...,./internal/...,./client -coverprofile=coverage.out ./...
	@go tool cover -func=coverage.out | tail -n 1

.PHONY: chaos
chaos: ## the long forms of the tests that kill processes and break stores (ROUNDS=300)
	@scripts/need-postgres
	NOTIFYD_CHAOS_ROUNDS=$(ROUNDS) NOTIFYD_DELIVERY_EVENTS=10000 NOTIFYD_TEST_SIMULATED_ORDERS=20000 \
	  go test -count=1 -run 'Chaos|DeliveriesSurvive|ASimulatedProvider' -timeout 0 -v ./internal/crashtest

.PHONY: man
man: build ## the manual pages of all commands, in bin/man (read one: man bin/man/notifyd-serve.1)
	$(BINARY) man bin/man

.PHONY: captures
captures: ## make the generated files (captures and throw-away keys in testdata/) again
	@scripts/generated --write

.PHONY: codes
codes: ## write docs/codes.md from the texts in the program
	@go run ./cmd/notifyd help codes --markdown >docs/codes.md.new && mv docs/codes.md.new docs/codes.md

.PHONY: bench
bench: build bench-build ## how fast: against peers and floors, in under 15 minutes on two cores; writes docs/performance.* (BENCH="-rounds 7")
	bin/bench run -docs docs -json bin/bench.json $(BENCH)

.PHONY: bench-full
bench-full: build bench-build ## the whole matrix, with five million settled orders that are made once and kept; takes hours
	bin/bench run -full -docs docs -json bin/bench-full.json $(BENCH)

.PHONY: bench-parse
bench-parse: ## Go benchmarks of parse + verify + map beside other libraries, and the tests of the benchmark
	cd bench && go vet ./... && go test -bench . -benchmem -cpu 1 ./...

.PHONY: bench-build
bench-build:
	cd bench && CGO_ENABLED=0 go build -trimpath -o ../bin/bench .

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin coverage.out
