# jjm: make demo builds it and runs its main job; make test passes its tests.

GO      ?= go
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo development)
LDFLAGS  = -s -w -X main.version=$(VERSION)
BUILD    = $(GO) build -ldflags '$(LDFLAGS)'

# The same for programs, tests and lint: each package is compiled once.
export CGO_ENABLED = 0
export GOFLAGS += -trimpath

.PHONY: build demo test test-all units test-faults test-hostile test-settings race race-short lint vet nice-vet tools bench fuzz clean install uninstall check

build:
	$(BUILD) -o bin/ ./cmd/jjm ./cmd/jjm-gatekeeper ./cmd/jjm-daemon ./cmd/jjm-wrapper

# jjm itself: PREFIX (/usr/local), DESTDIR; scripts/install.list says what goes
# where. Each gatekeeper's language is a folder of scripts with an install.sh of
# its own, which takes the same three words. Settings go by the environment.
export DESTDIR PREFIX SYSCONFDIR STATE LIBEXECDIR PERLDIR DATADIR
install: build
	@sh scripts/install.sh install
uninstall:
	@sh scripts/install.sh uninstall
check:
	@sh scripts/install.sh check
LANGUAGES = gram blahp arc
.PHONY: $(foreach do,install uninstall check,$(LANGUAGES:%=$(do)-%))
install-gram: ; @sh scripts/gram/install.sh install
install-blahp: ; @sh scripts/blahp/install.sh install
install-arc: ; @sh scripts/arc/install.sh install
$(LANGUAGES:%=uninstall-%):
	@sh scripts/$(@:uninstall-%=%)/install.sh uninstall
$(LANGUAGES:%=check-%):
	@sh scripts/$(@:check-%=%)/install.sh check

# The main job, for real: a daemon with the embedded batch system, a
# Monte-Carlo grid job, its record and its tar, checked byte for byte.
demo: build
	sh scripts/demo.sh

# Everything that must be true, in minutes; as root on Debian with the real
# batch systems. Packages that wait rather than work are begun first, and vet
# takes what they leave of the processors; the short race comes after them. One build of the
# programs serves all; accounts without privileges reach it. Test programs, and what compiles and links
# them, spend memory rather than time on garbage. At the end come the tables that
# tests made, of faults and what became of local jobs.
WAITING = ./test/survival ./test/hostile ./test/gatekeepers ./adapters/condor ./adapters/sge ./adapters/testbed ./adapters/slurm ./test/door ./test/identity ./test/bench ./engine ./adapters/command ./adapters/conformance ./run ./etc/examples ./adapters/pbs ./test/advertise
test: tools
	sh scripts/testbed/with.sh $(MAKE) --no-print-directory test-all
test-all: build
	@$(MAKE) --no-print-directory -j2 nice-vet units
	@$(MAKE) --no-print-directory race-short
units:
	@bin=$$(mktemp -d) && tables=$$(mktemp -d) && chmod 755 $$bin && cp bin/jjm* $$bin && { \
		GOGC=400 JJM_BIN=$$bin JJM_TABLES=$$tables $(GO) test -count=1 -timeout 40m -vet=off -p 7 -parallel 24 $(WAITING) ./... ; \
		status=$$? ; cat /dev/null $$tables/* ; rm -rf $$bin $$tables ; exit $$status ; }
nice-vet:
	@nice $(MAKE) --no-print-directory vet

# The whole campaign: 500 random kills of the daemon, every failpoint, and each
# fault of each real batch system at each moment. Half an hour.
test-faults: build
	JJM_FAULTS=whole sh scripts/testbed/with.sh \
		$(GO) test -count=1 -timeout 100m -parallel 8 -v -run 'Survival|Failpoint|Faults' ./test/survival
	JJM_FAULTS=whole $(GO) test -count=1 -timeout 60m -run 'Crash|Property' ./engine

# Tries of each setting whether the test that is said to show it fails in a jjm without it.
test-settings:
	JJM_MUTANTS=all $(GO) test -count=1 -timeout 6h -v -run TestSettings_AProof ./test/house

# The whole campaign of hostile accounts: attacks in full size.
test-hostile: build
	JJM_HOSTILE=whole sh scripts/testbed/with.sh $(GO) test -count=1 -timeout 60m -v ./test/hostile

# The daemon's packages under the race detector, one after another. It is a C
# library, so cgo is on here and nowhere else, and gcc is needed (tools). The short
# form is part of make test, after the units, which run the same tests without it:
# it fails for data races, not for what the detector makes late.
RACING  = ./adapters ./adapters/idealize ./adapters/local ./run/... ./sandbox ./store ./plan ./xmldb/... ./wire/... ./publish/... ./gate/... ./gatekeeper/... ./engine/... ./app
RACING_SHORT = ./adapters/idealize ./gate ./run/asuser
RACE = nice env CGO_ENABLED=1 $(GO) test -race -count=1 -vet=off
race: tools
	@if command -v gcc >/dev/null 2>&1; then $(RACE) -p 1 -timeout 60m $(RACING); \
	else echo "race: NOT TESTED: it needs gcc" >&2; [ "$${CI:-}" != true ]; fi
race-short: tools
	@if ! command -v gcc >/dev/null 2>&1; then echo "race: NOT TESTED: it needs gcc" >&2; [ "$${CI:-}" != true ]; exit; fi; \
	out=$$(mktemp) && $(RACE) -short -p 1 -timeout 20m $(RACING_SHORT) >$$out 2>&1; status=$$?; \
	cat $$out; races=$$(grep -c 'WARNING: DATA RACE' $$out); built=$$(grep -c '^ok\|^--- ' $$out); rm -f $$out; \
	if [ "$$races" -gt 0 ]; then echo "race: $$races data races" >&2; exit 1; fi; \
	if [ "$$status" -ne 0 ] && [ "$$built" = 0 ]; then exit 1; fi

# Before a commit: vet, and the linter. Tests go without it: in an empty cache it
# compiles itself and reads every dependency, 160 core-seconds.
lint: vet
	$(GO) tool staticcheck ./...
vet:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$bad" ]; then echo "gofmt: these files are not formatted:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...

# What the tests need besides Go: installed when root on Debian, else named.
tools:
	@sh scripts/testbed/tools.sh

# Figures beside what they are compared with. PERFORMANCE.md keeps one run.
bench: build
	sh scripts/bench.sh

# Each fuzz target for FUZZTIME; tests replay what they found.
FUZZTIME ?= 30s
fuzz:
	sh scripts/fuzz.sh $(FUZZTIME)

clean:
	rm -rf bin
