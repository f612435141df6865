# SPDX-License-Identifier: LGPL-2.1-or-later
# A thin wrapper: meson and ninja build, tools/ does the rest. "make help" lists the targets.

BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= lib
DEPS ?= build run docs test
FUZZ_SECONDS ?= 60
BARE ?= /var/tmp/airlock-deb-test

.PHONY: all agents agents-inside haproxy serve-hour serve-load slurm oci k8s pages session-crash session-long vm workloads gate-survey faults endurance deps demo check unit threads abi clang asan coverage install deb deb-test bench bench-publish hosts conformance fuzz format lint clean help

all: $(BUILD)/build.ninja ## build $(BUILD)/airlock and the library
	ninja -C $(BUILD)
	ln -sfn cli/airlock $(BUILD)/airlock

deps: ## install the missing Debian packages (apt, with sudo when not root)
	tools/deps $(DEPS)

demo: all ## show airlock at work on a sample project
	tools/demo $(BUILD)/airlock

check: ## run every test, as continuous integration does
	BUILD=$(BUILD) tools/check

unit: all ## run only the unit tests
	meson test -C $(BUILD) --print-errorlogs

threads: all ## start 1,000 sandboxes from a program with 8 busy threads (the unit tests start 200)
	AIRLOCK_TEST_SANDBOXES=1000 $(BUILD)/tests/unit/test_threads

session-crash: all ## kill every operation on sessions before each of its calls (the unit tests: every ninth)
	EVERY_CALL=1 $(BUILD)/tests/unit/test_session_crash

session-long: all ## make a session of 1,000 steps (make check: of 60), and fuzz sessions for $(FUZZ_SECONDS) seconds
	AIRLOCK_TEST_STEPS=1000 python3 tests/integration/session_many.py $(BUILD)
	FUZZ_SECONDS=$(FUZZ_SECONDS) python3 tests/integration/session_fuzz.py $(BUILD)

abi: all ## compare the shared library with the last release's interface
	tools/abi $(BUILD)

clang: $(BUILD)-clang/build.ninja ## build with clang and the address and undefined-behaviour sanitizers
	ninja -C $(BUILD)-clang

asan: clang ## run the unit tests with these sanitizers
	meson test -C $(BUILD)-clang --print-errorlogs

coverage: $(BUILD)-coverage/build.ninja ## print how many lines of src/ the tests reach, by module
	tools/deps coverage
	ninja -C $(BUILD)-coverage
	tools/coverage $(BUILD)-coverage

install: all ## install to $(DESTDIR)$(PREFIX)
	meson configure $(BUILD) --prefix=$(PREFIX) --libdir=$(LIBDIR)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD)
	if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi

deb: ## build the Debian packages of the last commit, into $(BUILD)-deb
	tools/deps build docs deb
	tools/deb $(BUILD)-deb

deb-test: deb ## install and test them in a fresh Debian below $(BARE) (as root)
	tools/deps bare
	tools/deb-test $(BARE) $(BUILD)-deb

gate-survey: all ## count how often the gate would ask: DIRS="a b", each with two releases of a project in old/ and new/
	tools/gate-survey --airlock $(BUILD)/airlock $(DIRS)

vm: all ## test Debian's own kernels in virtual machines (as root; VM_ARGS='--minutes 10 6.1')
	tools/deps vm
	tools/vm $(VM_ARGS)

workloads: all ## run real projects with and without airlock and compare (WORKLOADS='redis gitday' WORKLOAD_ARGS=--publish)
	tools/workloads --deps --airlock $(BUILD)/airlock $(WORKLOAD_ARGS) $(WORKLOADS)

agents: all ## run the real agents from npm, with a model that answers from a script, behind airlock (AGENT_ARGS='--agents claude,codex --publish')
	tests/agents/run.py --airlock $(BUILD)/cli/airlock $(AGENT_ARGS)

agents-inside: all ## run the same agents inside, as `airlock agent` does (AGENT_ARGS='--agents claude --backend bubblewrap --publish')
	tests/agents/inside.py --airlock $(BUILD)/cli/airlock $(AGENT_ARGS)

bench: all ## measure airlock and other sandboxes: tables and $(BUILD)/bench.json (QUICK=1, SECTIONS=build,grep)
	bench/run $(if $(QUICK),--quick) $(if $(SECTIONS),--sections $(SECTIONS)) $(BUILD)/airlock

bench-publish: all ## measure everything, and write bench/results.json, docs/bench.svg, README.md and bench/README.md
	bench/run --json bench/results.json $(BUILD)/airlock
	bench/publish

hosts: all ## run curl, git, npm, pip, apt, java and others through the network gate, and torture it (minutes; installs them)
	tools/deps hosts test
	command -v npm >/dev/null || tools/deps npm
	BUILD=$(BUILD) tools/check tests/hosts/programs.py tests/hosts/torture.py

pages: all ## try the page of airlock ui in Chromium; pictures go to $(BUILD)/pages
	tools/deps pages
	tests/pages/pages.py --pictures $(BUILD)/pages $(BUILD) $(PAGES)

conformance: all ## test airlock mcp and airlock serve with the official clients, the inspector and the conformance suite (npm)
	ninja -C $(BUILD) tests/conformance/mcp_fixture
	tools/conformance $(BUILD)

serve-load: all ## airlock serve under load and with bad clients (SERVE_SECONDS=3600 for an hour of full load)
	tests/serve/load.py $(BUILD) $(or $(SERVE_SECONDS),60)

serve-hour: all ## an hour of everything that clients of airlock serve do: nothing may grow or be left behind (SERVE_SECONDS=900)
	tests/serve/hour.py $(BUILD) $(or $(SERVE_SECONDS),3600)

haproxy: all ## two airlock serve behind a real HAProxy, with the configuration of contrib/haproxy
	tools/deps haproxy
	tests/serve/haproxy.py $(BUILD)

slurm: all ## commands and servers under a real Slurm on loopback, with munge and HAProxy (as root; ten minutes; installs them)
	tools/deps slurm
	tests/slurm/slurm.py $(BUILD) $(SLURM_TESTS)

oci: all ## the image of contrib/oci with a real podman, rootless and as root (as root; ten minutes; installs it)
	tools/deps oci
	rm -rf $(BUILD)/oci-root
	DESTDIR=$(abspath $(BUILD))/oci-root meson install --no-rebuild --quiet -C $(BUILD)
	[ -e $(BUILD)/oci-base.tar ] || contrib/oci/build-image --base $(BUILD)/oci-base.tar
	tests/oci/oci.py $(BUILD)/oci-root $(BUILD)/oci-base.tar $(OCI_TESTS)

k8s: ## check the manifests of contrib/k8s offline, by the schemas and types of npm packages
	command -v npm >/dev/null || tools/deps npm
	tools/deps haproxy
	mkdir -p $(BUILD)-k8s
	cd $(BUILD)-k8s && npm install --silent --no-save --prefix . kubernetes-models@4.5.1 typescript@5.8.3 yaml@2.9.1
	cd $(BUILD)-k8s && node $(CURDIR)/tests/k8s/check.mjs $(CURDIR)/contrib/k8s
	contrib/haproxy/make-config contrib/k8s/servers --dns --bind :8080 >$(BUILD)-k8s/haproxy.cfg
	haproxy -c -f $(BUILD)-k8s/haproxy.cfg 2>/dev/null

fuzz: $(BUILD)-fuzz/build.ninja ## run each libFuzzer target for $(FUZZ_SECONDS) seconds
	ninja -C $(BUILD)-fuzz
	tools/fuzz $(BUILD)-fuzz $(FUZZ_SECONDS)

faults: $(BUILD)-faults/build.ninja ## make every system call and allocation of a run fail, one at a time, and check the result (hours)
	ninja -C $(BUILD)-faults
	ln -sfn cli/airlock $(BUILD)-faults/airlock
	tests/faults/walk.py $(BUILD)-faults --log $(BUILD)-faults/walk.log

endurance: all ## do ten thousand runs in a row: nothing may grow or be left behind
	tools/endurance $(BUILD)

format: ## format the C files
	tools/lint --fix

lint: $(BUILD)-clang/build.ninja ## check the format of the C files, shellcheck, Python syntax; then clang-tidy and cppcheck (minutes)
	tools/deps build test lint
	tools/lint
	tools/analyze $(BUILD)-clang

clean: ## remove every build directory
	rm -rf $(BUILD) $(BUILD)-clang $(BUILD)-coverage $(BUILD)-fuzz $(BUILD)-faults $(BUILD)-deb $(BUILD)-k8s

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 15

$(BUILD)/build.ninja:
	meson setup $(BUILD)

# For clang's warnings and for the sanitizers in one. Without optimization: that would take three times as long to build,
# and saves the unit tests less.
$(BUILD)-clang/build.ninja:
	CC=clang meson setup -Doptimization=0 -Db_lundef=false -Db_sanitize=address,undefined \
		-Dc_args='-fno-sanitize-recover=all -g1 -DAIRLOCK_SANITIZED' $(BUILD)-clang

# The fault walker identifies the callers by frame pointers.
$(BUILD)-faults/build.ninja:
	meson setup -Dc_args=-fno-omit-frame-pointer $(BUILD)-faults

# Counters that are mapped from a file, not written at exit; without LLVM_PROFILE_FILE in the environment they go nowhere.
$(BUILD)-coverage/build.ninja:
	CC=clang meson setup -Doptimization=1 $(BUILD)-coverage -Dc_link_args=-fprofile-instr-generate=/dev/null \
		-Dc_args='-fprofile-instr-generate=/dev/null -fcoverage-mapping -mllvm -runtime-counter-relocation=true'

$(BUILD)-fuzz/build.ninja:
	CC=clang meson setup -Dfuzz=true -Dtests=false -Db_lundef=false -Db_sanitize=address,undefined \
		-Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all' $(BUILD)-fuzz
