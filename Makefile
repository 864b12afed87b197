# The two commands of the README are `make demo` and `make test`; each sees to what it needs.
SHELL := /bin/bash
PREFIX ?= /usr/local
LIBDIR ?= lib
BINARY := target/release/tapline
MANUAL := target/manual

.PHONY: help demo test browser dashboard engines azurite bench lint deny sbom reproducible checksums package aarch64 soak soak-cycles faults kernels install deb rpm static image wheel fuzz clean

help:
	@echo "make demo     build the program and show it: two test hosts, real traffic, a capture (root)"
	@echo "make test     run every test (root)"
	@echo "make browser  open the pages of reports in a headless Chromium and check them, pictures into target/browser"
	@echo "make dashboard  the Grafana dashboard and the alert rules, evaluated by a Prometheus that scrapes every command (root)"
	@echo "make engines  read the program's tables with Spark in local mode, and compare with tshark"
	@echo "make azurite  upload to Azurite, a server of Azure Blob Storage for tests, and read the objects back"
	@echo "make bench    measure beside other tools, and write docs/benchmarks.md and a page with charts (root)"
	@echo "make lint     formatting, clippy, rustdoc; packages every published crate, without building it"
	@echo "make deny     licences and sources of the dependencies; advisories where they can be fetched"
	@echo "make sbom     what the program and the libraries are made of (CycloneDX), into target/sbom"
	@echo "make same-build    what would make two builds differ: the machine's name in the program, crates that are built differently in two places"
	@echo "make reproducible  build the release twice in two places, compare bit by bit, into target/release-files"
	@echo "make checksums     checksums of target/release-files, signed with the ssh key KEY"
	@echo "make package  package every published crate and build it from its package; uploads nothing"
	@echo "make aarch64  the filter engine's tests on aarch64, emulated; needs rustup"
	@echo "make soak     commands of every kind at once for SOAK_MINUTES (60), with flat memory and descriptors (root)"
	@echo "make soak-cycles  10 000 cycles of attaching and of receiving, 10 000 changes of classes, 1000 of captures (root, two hours)"
	@echo "make faults   20 000 failing system calls in every command, and limits and kills; FAULTS and SEED choose (root, FAULTS_SECONDS at most, 2 x 3600)"
	@echo "make random   3000 random command lines for each kind of object, with ip(8) and with tapline; RANDOM_LINES and SEED choose (root)"
	@echo "make iproute2-tests  iproute2's own tests of ip and bridge, with tapline in their place (root)"
	@echo "make sandbox-calls  every system call left out of every list, one at a time: a test has to fail (root, half an hour)"
	@echo "make kernels  tests on Debian's kernels 5.10, 6.1, 6.12, 6.18 and the newest in QEMU, and a table in docs/limits.md (root, an hour)"
	@echo "make fuzz     each fuzz target for FUZZ_SECONDS (60); needs a nightly toolchain"
	@echo "make fuzz-coverage  the code that the seeds of each fuzz target reach, into target/fuzz-coverage/coverage.md; needs a nightly toolchain"
	@echo "make libpcap-programs  libpcap's own test programs over libtapline_pcap and over libpcap, compared (root)"
	@echo "make libpcap-fuzz      libpcap's fuzz targets over libtapline_pcap, LIBPCAP_FUZZ_SECONDS (3600) at the same time"
	@echo "make deb      Debian packages into target/deb; root also tries them in a new Debian 12"
	@echo "make rpm      RPM packages into target/rpm; root also tries them in a new root"
	@echo "make static   the program as one file for every Linux (musl), into target/static; needs rustup"
	@echo "make image    an OCI image with that file, into target/image; made without a daemon"
	@echo "make wheel    the Python package, with the C library in it, into target/wheel"
	@echo "make install  program, manual pages, completions and the C libraries below PREFIX ($(PREFIX)); libraries into LIBDIR ($(LIBDIR))"

demo: build
	$(BINARY) demo

.PHONY: build
build:
	@packaging/need.sh build
	cargo build --release --locked -p tapline-cli

# libtapline_c.a, of which packaging/c-library.sh makes libtapline. Only a static library alone is optimised as a whole.
C_LIBRARY := target/c-library/libtapline_c.a

.PHONY: c-library
c-library:
	@packaging/need.sh build
	cargo rustc --profile c-library --locked -p tapline-c --lib --crate-type staticlib

# libtapline_pcap, which packaging/pcap-library.sh installs.
PCAP_LIBRARY := target/c-library/libtapline_pcap.so

.PHONY: pcap-library
pcap-library:
	@packaging/need.sh build
	cargo rustc --profile c-library --locked -p tapline-pcap --lib --crate-type cdylib

test:
	@packaging/need.sh test
	@tools/test.sh

# The program that the checks below run. `make test` builds it, too; with IS_BUILT set it is not built again. Built alone, it and
# what it depends on would be compiled once more, because the tests turn on other features of dependencies.
PROGRAM := target/debug/tapline

.PHONY: program
program:
	@packaging/need.sh build
	[ -n "$(IS_BUILT)" ] || cargo build --locked -p tapline-cli

# Debian's Chromium takes 124 MB of download, so that make test does without it.
browser: program
	@packaging/need.sh browser
	tools/browser.sh $(PROGRAM) target/browser

# Prometheus takes 19 MB of download.
dashboard: program
	@packaging/need.sh dashboard
	tools/dashboard.sh $(PROGRAM)

# PySpark takes 400 MB of download and needs Java, so that make test does without it.
engines: program
	@packaging/need.sh engines
	tools/engines.sh $(PROGRAM) target/engines

# Azurite takes 190 MB of packages and needs Node.js, so that make test does without it.
azurite: program
	@packaging/need.sh azurite
	tools/azurite.sh $(PROGRAM) target/azurite

# What the bench of flows compares with is unpacked into target/flow-peers.
bench: build c-library pcap-library
	@packaging/need.sh bench
	@tools/flow-peers.sh target/flow-peers
	cargo bench --locked -p tapline-lab --bench capture -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench pull -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench c_library -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench tcpdump -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench queues -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench recorder -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench flows -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench index -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench latency -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench filter -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench filter_kernel -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench count -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench read -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench netlink -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench article -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench ping -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench send -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench winpcap -- $(BENCH_FLAGS)
	cargo bench --locked -p tapline-lab --bench report

# A check links nothing: any file serves as LLVM's fuzzer, which otherwise is compiled.
lint:
	@packaging/need.sh lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked
	CUSTOM_LIBFUZZER_PATH=$(CURDIR)/lab/fuzz/Cargo.toml cargo check --locked --manifest-path lab/fuzz/Cargo.toml --target-dir target
	cargo package --workspace --exclude tapline-lab --locked --no-verify --allow-dirty --quiet

deny:
	@packaging/need.sh build
	@packaging/deny.sh

# CI runs sbom, which takes seconds, and same-build, which takes minutes; reproducible takes two release builds.
RELEASE_FILES := target/release-files
sbom:
	@packaging/need.sh sbom
	@packaging/sbom.sh target/sbom

.PHONY: same-build
same-build: program
	@packaging/need.sh sbom
	@tools/same-build.sh $(PROGRAM)

reproducible:
	@packaging/need.sh build
	@packaging/reproducible.sh $(RELEASE_FILES)

checksums:
	@packaging/checksums.sh $(RELEASE_FILES) "$(KEY)"

package:
	@packaging/need.sh build
	cargo package --workspace --exclude tapline-lab --locked $(PACKAGE_FLAGS)

aarch64:
	@packaging/need.sh aarch64
	@tools/aarch64.sh

SOAK_MINUTES ?= 60
soak:
	@packaging/need.sh test
	TAPLINE_SOAK_MINUTES=$(SOAK_MINUTES) cargo test --locked -p tapline-cli --test main soak:: -- --nocapture

soak-cycles:
	@packaging/need.sh test
	TAPLINE_SOAK_CYCLES=10000 cargo test --locked -p tapline-bpf --test main soak:: -- --nocapture
	TAPLINE_SOAK_CYCLES=10000 cargo test --locked -p tapline-ring --test main soak:: -- --nocapture
	TAPLINE_SOAK_CHANGES=10000 cargo test --locked -p tapline --test main count::leaks:: -- --nocapture
	TAPLINE_SOAK_CHANGES=1000 cargo test --locked -p tapline --test main change_all:: -- --nocapture

FAULTS ?= 20000
FAULTS_SECONDS ?= 3600
SEED ?= 1
faults:
	@packaging/need.sh test
	TAPLINE_FAULTS=$(FAULTS) TAPLINE_FAULTS_SECONDS=$(FAULTS_SECONDS) TAPLINE_SEED=$(SEED) cargo test --locked -p tapline-cli --test main faults:: -- --nocapture --test-threads=1

RANDOM_LINES ?= 3000
.PHONY: random
random:
	@packaging/need.sh test
	TAPLINE_RANDOM_LINES=$(RANDOM_LINES) TAPLINE_SEED=$(SEED) cargo test --locked -p tapline-cli --test main net::random:: -- --nocapture

# iproute2's tests are Debian's, or those in IPROUTE2_SOURCE.
.PHONY: iproute2-tests
iproute2-tests: program
	@packaging/need.sh test
	@tools/iproute2-tests.sh $(PROGRAM)

# Lists by name, or all.
SANDBOX_CALLS ?= all
.PHONY: sandbox-calls
sandbox-calls:
	@packaging/need.sh test
	TAPLINE_SANDBOX_CALLS="$(SANDBOX_CALLS)" cargo test --locked -p tapline-cli --test main sandbox::campaign:: -- --nocapture

# The kernels stay in target/kernels.
kernels:
	@packaging/need.sh test
	cargo test --workspace --test main --locked --no-run
	@tools/kernels.sh target/kernels

FUZZ_SECONDS ?= 60
fuzz:
	@packaging/need.sh fuzz
	@tools/fuzz.sh $(FUZZ_SECONDS)

.PHONY: fuzz-coverage
fuzz-coverage:
	@packaging/need.sh fuzz
	@tools/fuzz-coverage.sh target/fuzz-coverage target/fuzz-coverage/coverage.md

# libpcap's sources are Debian's, or those in LIBPCAP_SOURCE.
.PHONY: libpcap-programs libpcap-fuzz
libpcap-programs: pcap-library
	@packaging/need.sh libpcap
	@tools/libpcap-programs.sh $(PCAP_LIBRARY)

LIBPCAP_FUZZ_SECONDS ?= 3600
libpcap-fuzz:
	@packaging/need.sh libpcap
	@tools/libpcap-fuzz.sh $(LIBPCAP_FUZZ_SECONDS)

# Wireshark's folder for capture plug-ins: that of the installed tshark, or below a PREFIX of one's own.
EXTCAP ?= $(shell packaging/extcap-folder.sh $(PREFIX))
# Where zsh looks. Debian's looks elsewhere for files of packages.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
# With KEEP_DEBUG the program and the shared libraries keep their debugging information.
install: build c-library pcap-library
	rm -rf $(MANUAL)
	$(BINARY) generate $(MANUAL)
	packaging/extcap.sh $(DESTDIR)$(EXTCAP) $(PREFIX)/bin/tapline
	if [ -n "$$KEEP_DEBUG" ]; then install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/tapline; \
		else packaging/split-debug.sh $(BINARY) $(DESTDIR)$(PREFIX)/bin .debug; fi
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(MANUAL)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -D -m 644 $(MANUAL)/completions/tapline.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tapline
	install -D -m 644 $(MANUAL)/completions/_tapline $(DESTDIR)$(ZSH_COMPLETIONS)/_tapline
	install -D -m 644 $(MANUAL)/completions/tapline.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tapline.fish
	install -D -m 644 packaging/grafana/tapline.json $(DESTDIR)$(PREFIX)/share/tapline/grafana.json
	install -D -m 644 packaging/prometheus/tapline-alerts.yml $(DESTDIR)$(PREFIX)/share/tapline/prometheus-alerts.yml
	packaging/c-library.sh $(C_LIBRARY) $(DESTDIR)$(PREFIX) $(PREFIX) $(LIBDIR)
	packaging/pcap-library.sh $(PCAP_LIBRARY) $(DESTDIR)$(PREFIX) $(LIBDIR)

# Debugging information goes into a package of its own. Root also has the packages installed, used and purged in a new Debian 12,
# which takes two minutes.
DEB := target/deb
deb: build c-library pcap-library
	@packaging/need.sh deb
	rm -rf $(DEB)
	KEEP_DEBUG=1 $(MAKE) --no-print-directory install DESTDIR=$(DEB)/tree PREFIX=/usr LIBDIR=lib \
		EXTCAP=/usr/lib/$$(dpkg-architecture --query DEB_HOST_MULTIARCH)/wireshark/extcap ZSH_COMPLETIONS=/usr/share/zsh/vendor-completions
	packaging/deb.sh $(DEB)/tree $(DEB)
	[ "$$(id -u)" -ne 0 ] || packaging/deb-check.sh $(DEB)

# Root also has them installed, used, verified and erased in a new root.
RPM := target/rpm
rpm: build c-library pcap-library
	@packaging/need.sh rpm
	rm -rf $(RPM)
	KEEP_DEBUG=1 $(MAKE) --no-print-directory install DESTDIR=$(RPM)/tree PREFIX=/usr LIBDIR=lib64 \
		EXTCAP=/usr/lib64/wireshark/extcap
	packaging/rpm.sh $(RPM)/tree $(RPM)
	[ "$$(id -u)" -ne 0 ] || packaging/rpm-check.sh $(RPM)

STATIC := target/static
static:
	@packaging/need.sh static
	packaging/static.sh $(STATIC)

IMAGE := target/image
image: static
	@packaging/need.sh image
	packaging/image.sh $(STATIC)/tapline $(IMAGE)

WHEEL := target/wheel
wheel: c-library
	@packaging/need.sh wheel
	rm -rf $(WHEEL)
	packaging/c-library.sh $(C_LIBRARY) $(WHEEL)/library
	packaging/licences.sh $(WHEEL)/third-party-licences.txt "$$(rustc -vV | sed -n 's/^host: //p')" -p tapline-c
	packaging/python-wheel.sh $(WHEEL)/library/libtapline.so $(WHEEL) $(WHEEL)/third-party-licences.txt

clean:
	cargo clean
