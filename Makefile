# jjm: make demo builds it and runs its main job; make test passes its tests.

GO      ?= go
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo development)
LDFLAGS  = -s -w -X main.version=$(VERSION)
BUILD    = CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'

.PHONY: build demo test test-all test-faults lint tools bench fuzz clean

build:
	$(BUILD) -o bin/ ./cmd/jjm ./cmd/jjm-gatekeeper ./cmd/jjm-daemon ./cmd/jjm-wrapper

# The main job, for real: a daemon with the embedded batch system, a
# Monte-Carlo grid job, its record and its tar, checked byte for byte.
demo: build
	sh scripts/demo.sh

# Everything that must be true, in minutes; as root on Debian with the real
# batch systems. Most tests wait rather than work: four packages at once.
test: tools
	sh scripts/testbed/with.sh $(MAKE) --no-print-directory test-all
test-all: lint build
	$(GO) test -count=1 -timeout 20m -p 4 ./...

# The whole campaign: 500 random kills of the daemon, every failpoint, and each
# fault of each real batch system at each moment. About an hour.
test-faults: build
	JJM_FAULTS=whole sh scripts/testbed/with.sh \
		$(GO) test -count=1 -timeout 100m -v -run 'Survival|Failpoint|Faults' ./test/...
	JJM_FAULTS=whole $(GO) test -count=1 -timeout 60m -run 'Crash|Property' ./engine

lint:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$bad" ]; then echo "gofmt: these files are not formatted:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

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
