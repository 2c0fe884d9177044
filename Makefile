# jjm: make demo builds it and runs its main job; make test passes its tests.

GO      ?= go
# The version's number is in internal/version; a package of a distribution may set the commit.
COMMIT  ?= $(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null)
LDFLAGS  = -s -w -X jjm/internal/version.commit=$(COMMIT)
BUILD    = $(GO) build -ldflags '$(LDFLAGS)'

# The same for programs, tests and lint: each package is compiled once.
export CGO_ENABLED = 0
export GOFLAGS += -trimpath

.PHONY: build demo test-settings lint vet tools bench fuzz clean install uninstall check

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

# The tests come in tiers; CONTRIBUTING.md describes them, and test/tiers/tiers.go
# says which packages and batch systems each of them has. Where programs are run, it builds
# them first.
#
#   make unit             what needs no daemon, batch system or account: while writing
#   make test             everything that must be true, in minutes; as root on Debian
#                         with the real batch systems
#   make test-faults      a campaign, by name; make campaign runs every test in full size,
#                         without make bench, fuzz, test-settings and the linter
TIERS = $(GO) run ./test/tiers
.PHONY: unit test test-faults test-operations test-hostile test-gatekeepers test-systems campaign race
unit:
	@$(TIERS) unit
test: tools vet
	@$(TIERS) test
test-faults: tools
	@$(TIERS) faults
test-operations: tools
	@$(TIERS) operations
test-hostile: tools
	@$(TIERS) hostile
test-gatekeepers: tools
	@$(TIERS) gatekeepers
test-systems: tools
	@$(TIERS) systems
campaign: tools vet
	@$(TIERS) campaign

# The daemon's packages under the race detector. It is a C library, so cgo is on here
# and nowhere else, and gcc is needed (tools).
race: tools
	@if command -v gcc >/dev/null 2>&1; then $(TIERS) race; \
	else echo "race: NOT TESTED: it needs gcc" >&2; [ "$${CI:-}" != true ]; fi

# Tries of each setting whether the test that is said to show it fails in a jjm without it.
test-settings:
	JJM_MUTANTS=all $(GO) test -count=1 -timeout 6h -v -run TestSettings_AProof ./test/house

# Before a commit: vet, and the linter. Tests go without it: in an empty cache it
# compiles itself and reads every dependency, 160 core-seconds.
lint: vet
	$(GO) tool staticcheck ./...
	@$(TIERS) lint
vet:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$bad" ]; then echo "gofmt: these files are not formatted:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...

# What the tests need besides Go: installed when root on Debian, else named.
# A campaign of systems needs Prometheus and Chromium as well.
test-systems campaign: TOOLS = prometheus chromium
tools:
	@sh scripts/testbed/tools.sh $(TOOLS)

# Figures beside what they are compared with. PERFORMANCE.md keeps one run.
bench: build
	sh scripts/bench.sh

# Each fuzz target for FUZZTIME; tests replay what they found.
FUZZTIME ?= 30s
fuzz:
	sh scripts/fuzz.sh $(FUZZTIME)

clean:
	rm -rf bin
