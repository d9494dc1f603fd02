# `make run` starts the desk, `make test` proves it; both do all the set-up on a fresh machine.
# Needed: Go, node with npm. ARGS goes to the desk: make run ARGS='--listen :9000'.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

ARGS ?=
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT := DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y --no-install-recommends

# Everything but the browser tests, which get the machine to themselves at the end.
PACKAGES = $$(go list ./... | grep -v '/e2e')

help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

run: assets ## start the desk on this machine
	go run . $(ARGS)

assets: static/dist/app.js ## scripts and styles, from npm and static/

# npm is asked only when the lockfile changed; its scripts do not run.
static/node_modules/.installed: static/package.json static/package-lock.json static/.npmrc
	npm --prefix static ci --ignore-scripts --no-audit --no-fund
	touch $@

static/dist/app.js: static/node_modules/.installed $(wildcard static/src/*)
	cp static/src/icon.svg static/dist/
	go tool esbuild static/src/app.js static/src/app.css --bundle --minify --format=iife --target=es2022,chrome123,firefox121,safari17.5 --outdir=static/dist --log-level=warning

generate: ## pages from their templates, tables from ../shared/dicom-standard
	go tool templ generate -log-level error -path views
	if [ -d "$${FILMROOM_SHARED:-../shared}/dicom-standard" ]; then go generate ./dicom; fi

fmt: ## format Go and templates
	gofmt -w .
	go tool templ fmt -log-level error views

lint: ## what must be clean besides the tests
	@unformatted=$$(gofmt -l . | grep -v '_templ\.go$$' || true); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:" $$unformatted; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

test: assets chromium dcmtk lint ## all tests, the browser's too
	go test -race -count=1 -timeout 8m $(PACKAGES)
	@for p in dicom dicom/deid; do FILMROOM_SHARED=/none go test -count=1 -timeout 2m -cover ./$$p | awk '{print} \
		match($$0, /coverage: [0-9.]+/) {covered = substr($$0, RSTART+10, RLENGTH-10)} \
		END {if (covered+0 < 90) {print "its own tests, without samples, must cover 90 % of '$$p'"; exit 1}}'; done
	go test -count=1 -timeout 4m ./sqlite # what takes too long under the race detector and needs it not
	go test -count=1 -timeout 4m -run AgreeWithTheModel ./sqlite -rapid.checks=2 -rapid.steps=500 # and two long lives
	E2E=1 go test -race -count=1 -timeout 8m ./e2e/...

test-mongo: assets chromium ## the stores and the whole desk on the server at TEST_MONGODB_URI
	@: "$${TEST_MONGODB_URI:?must name a MongoDB server whose databases filmroom_* may be dropped: mongodb://127.0.0.1:27017}"
	go test -race -count=1 -timeout 10m ./mongo/...
	E2E=1 go test -race -count=1 -timeout 10m ./e2e/...

FUZZED = dicom:FuzzRead dicom:FuzzWrite dicom:FuzzCharset dicom/deid:FuzzApply dicom/preview:FuzzRender

soak: ## kill -9 a hundred times, fuzz 60 s a target; not in CI
	for t in $(FUZZED); do go test -run '^$$' -fuzz "^$${t#*:}$$" -fuzztime 60s -fuzzminimizetime 20x ./$${t%:*}; done
	go test -count=1 -timeout 30m -run AgreeWithTheModel ./sqlite -rapid.checks=400 -rapid.steps=50
	go test -count=1 -timeout 60m -run AgreeWithTheModel ./sqlite -rapid.checks=1 -rapid.steps=10000
	SOAK=1 go test -count=1 -timeout 60m -v -run 'TestSoak' ./e2e/

bench: ## one table of what the desk does in a second
	@BENCH=1 go test -count=1 -timeout 40m -v -run '^TestBench$$' ./e2e | grep -v '^=== '

chromium:
	@if [ -z "$${CHROMIUM:-}" ] && ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then \
		command -v apt-get >/dev/null || { echo "the browser tests need chromium: install it, or name it in CHROMIUM"; exit 1; }; \
		$(SUDO) apt-get update -q && $(APT) chromium; \
	fi

# dcmdump reads what the desk wrote with other eyes; without it those tests skip and say so.
dcmtk:
	@if [ -n "$${CI:-}" ] && ! command -v dcmdump >/dev/null && command -v apt-get >/dev/null; then \
		$(SUDO) apt-get update -q && $(APT) dcmtk; \
	fi

.PHONY: help run assets generate fmt lint test test-mongo soak bench chromium dcmtk
