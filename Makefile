# SPDX-License-Identifier: GPL-2.0-or-later
# accperf: `make` leaves build/accperf, which runs in place.
#
#   make V=1            show the commands
#   make WERROR=1       warnings are errors (CI)
#   make SAN=1          the same tree under ASan and UBSan, in build/asan
#   make unit           unit tests;        make unit SAN=1 under the sanitizers
#   make fuzz           libFuzzer targets; make workloads: the test programs
#   make install PREFIX=/usr/local DESTDIR=; make uninstall; make dist
#
# Adding a .c file to one of the folders in SRC_DIRS, a bpf/NAME.bpf.c, a tests/unit/u-NAME.c, a
# tests/fuzz/f-NAME.c or a tests/workloads/NAME.c needs no line here. A workload that needs flags
# of its own names them in its first lines: `// cflags: -O2` and `// libs: -lz`.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
CC := gcc
CLANG ?= clang
BPFTOOL ?= $(shell command -v bpftool || ls /usr/sbin/bpftool /sbin/bpftool 2>/dev/null | head -n 1)
LLVM_STRIP ?= $(shell command -v llvm-strip || command -v llvm-strip-14)

Q := $(if $(V),,@)
say = $(if $(or $(V),$(findstring s,$(firstword -$(MAKEFLAGS)))),,@printf '  %-8s %s\n' '$(1)' '$(patsubst $(CURDIR)/%,%,$(2))')

B := build$(if $(SAN),/asan)
LIBS_PC := libbpf libdw libelf libzstd zydis libxxhash jansson yaml-0.1
CFLAGS_PC := $(shell pkg-config --cflags libbpf libdw libelf libzstd libxxhash jansson yaml-0.1)
LDLIBS := -lbpf -ldw -lelf -lzstd -lz -lprotobuf-c -lZydis -ljansson -lyaml -lm -ldl -lpthread
CLI_LIBS = $(if $(TOP_OK),$(shell pkg-config --libs ncursesw))
# Under the sanitizers: what compiles in half the time of -O1 -g. Warnings are the plain build's; what xxhash must
# inline through pointers, -Og cannot.
OPT ?= $(if $(SAN),-Og,-O2)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Wformat=2 $(if $(WERROR),-Werror)
CFLAGS += -std=gnu11 $(OPT) $(if $(SAN),-g1,-g) -fno-omit-frame-pointer $(if $(SAN),-w -DXXH_NO_INLINE_HINTS \
	-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined,$(WARN))
CPPFLAGS += -D_GNU_SOURCE -DACCPERF_VERSION='"$(VERSION)"' -Iinclude -Iuser -I. -Ibuild/include $(CFLAGS_PC)
LDFLAGS += $(if $(SAN),-fsanitize=address$(,)undefined)
, := ,

# Every folder of user/ is library, but for the commands, top and the exact engine's tool (user/exact/exact.mk builds that).
SRC_DIRS := kmod-free $(filter-out user/cli user/top,$(patsubst %/,%,$(wildcard user/*/)))
# `accperf daemon` serves by libmicrohttpd, which it loads when it does; without its header, or with SKIP_HTTP=1, it
# records all the same.
HTTP_OK := $(if $(SKIP_HTTP),,$(shell pkg-config --exists libmicrohttpd && echo yes))
LIB_SRC := $(filter-out $(if $(HTTP_OK),user/daemon/http_none.c,user/daemon/http.c user/daemon/http_library.c),$(wildcard $(addsuffix /*.c,$(SRC_DIRS))))
# `accperf top` draws with ncurses; without it, or with SKIP_TOP=1, the command is left out and all else builds.
TOP_OK := $(if $(SKIP_TOP),,$(shell pkg-config --exists ncursesw && echo yes))
CLI_SRC := $(wildcard user/cli/*.c) $(if $(TOP_OK),$(wildcard user/top/*.c))
BPF_SRC := $(wildcard bpf/*.bpf.c)
SKEL := $(BPF_SRC:bpf/%.bpf.c=build/include/%.skel.h)
PROTO := $(wildcard user/view/*.proto)
PB_SRC := $(PROTO:user/view/%.proto=build/include/%.pb-c.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(PB_SRC:build/%.c=$(B)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/%.o)
UNIT_SRC := $(wildcard tests/unit/u-*.c)
UNIT := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
FUZZ_SRC := $(wildcard tests/fuzz/f-*.c)
FUZZ := $(FUZZ_SRC:tests/fuzz/%.c=build/fuzz/%)
WORK_SRC := $(wildcard tests/workloads/*.c)
WORK := $(WORK_SRC:tests/workloads/%.c=build/workloads/%)

include user/html/html.mk
.DEFAULT_GOAL := all
all: $(B)/accperf
ifeq ($(TOP_OK),)
all: top-missing
top-missing:
	@echo '  SKIP     accperf top: install libncurses-dev and run make again'
.PHONY: top-missing
endif
ifeq ($(HTTP_OK),)
all: http-missing
http-missing:
	@echo '  SKIP     what accperf daemon serves: install libmicrohttpd-dev and run make again'
.PHONY: http-missing
endif
.DELETE_ON_ERROR:
.SECONDARY:

$(B)/accperf: $(CLI_OBJ) $(B)/libaccperf.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(CLI_OBJ) -Wl,--whole-archive $(B)/libaccperf.a -Wl,--no-whole-archive $(LDLIBS) $(CLI_LIBS)

$(B)/libaccperf.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What the linker leaves out of the product where it may: scripts/shape --unreached reads the list. Without optimisation no
# function is copied into its callers, so each that is used is reached.
unreached:
	$(Q)$(MAKE) --no-print-directory B=build/unreached CFLAGS='-std=gnu11 -O0 -w -ffunction-sections -fdata-sections' \
		LDFLAGS='-Wl,--gc-sections,--print-gc-sections' build/unreached/accperf 2>build/unreached.txt || \
		{ cat build/unreached.txt >&2; exit 1; }
.PHONY: unreached

# Generated code is not held to our warnings.
$(B)/include/%.pb-c.o: build/include/%.pb-c.c
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -std=gnu11 $(OPT) -g -fno-omit-frame-pointer $(if $(SAN),-fsanitize=address$(,)undefined) -w -c -o $@ $<

build/include/%.pb-c.c: user/view/%.proto
	$(call say,PROTO,$@)
	$(Q)mkdir -p $(@D) && protoc-c -Iuser/view --c_out=$(@D) $<

$(B)/%.o: %.c Makefile | $(SKEL) $(PB_SRC)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# What .incbin takes in, no compiler tells.
$(B)/user/model/catalogue.o: user/model/devices.json user/model/accelerators.json
$(B)/user/offload/calib_gpu.o: user/offload/kernels.cl user/offload/kernels.ptx

# BPF: CO-RE against the small type header in bpf/, so the build host needs no BTF of its own. Once for all builds.
build/bpf/%.bpf.o: bpf/%.bpf.c Makefile
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(subst x86_64,x86,$(subst aarch64,arm64,$(shell uname -m))) \
		-Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) -Iinclude -Ibpf -I/usr/include/$(shell $(CC) -print-multiarch) $(shell pkg-config --cflags libbpf) -MMD -MP -MT $@ -c -o $@ $<
	$(Q)$(LLVM_STRIP) -g $@

build/include/%.skel.h: build/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@

unit: $(UNIT)
# main() of those that have none
$(B)/unit/main.a: tests/unit/main.c tests/unit/unit.h
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests $(CFLAGS) -c -o $(B)/unit/main.o $< && $(AR) rcs $@ $(B)/unit/main.o
$(B)/unit/%: tests/unit/%.c $(B)/unit/main.a $(B)/libaccperf.a
	$(call say,UNIT,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) -Itests $(CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) -o $@ $< $(B)/unit/main.a $(B)/libaccperf.a $(LDLIBS) -lcmocka

# What of the library the targets reach, with the fuzzer's instrumentation, then each target against it. Which parts that
# are, the linker tells of a target with the plain library; what it drops there and not here, it finds there again.
FUZZ_FLAGS := -std=gnu11 -gline-tables-only -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-Wno-unused-parameter -Wno-unknown-attributes
FUZZ_OBJ := $(LIB_SRC:%.c=build/fuzz/obj/%.o) $(PB_SRC:%.c=build/fuzz/obj/%.o)
fuzz: build/fuzz/reached
	$(Q)$(MAKE) --no-print-directory fuzz-targets FUZZ_OBJ="$$(cat build/fuzz/reached)"
fuzz-targets: $(FUZZ)
build/fuzz/reached: $(FUZZ_SRC:tests/fuzz/%.c=build/fuzz/%.reached)
	$(Q)for name in $$(sort -u $^); do printf '%s\n' $(FUZZ_OBJ) | grep "/$$name$$"; done | tr '\n' ' ' >$@
build/fuzz/%.reached: build/fuzz/%.o build/libaccperf.a
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -Wl,-Map,$@.map -o $@.linked $^ $(LDLIBS) && \
		sed -n 's/^build\/libaccperf\.a(\([^)]*\)).*/\1/p' $@.map | sort -u >$@ && rm $@.map $@.linked
build/fuzz/obj/%.o: %.c Makefile | $(SKEL) $(PB_SRC)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
build/fuzz/library.a: $(FUZZ_OBJ)
	$(call say,FUZZLIB,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
build/fuzz/f-%.o: tests/fuzz/f-%.c | $(SKEL) $(PB_SRC)
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
build/fuzz/f-%: build/fuzz/f-%.o build/fuzz/library.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ build/libaccperf.a $(LDLIBS)

# First-lines flags of a test program: `// cflags: ...` and `// libs: ...`.
flags_of = $(shell sed -n '1,8s|^// $(1): *||p' $(2))
workloads: $(WORK) $(B)/mkprofile $(B)/simcounts $(B)/tripjudge
$(B)/mkprofile: tests/mkprofile.c $(B)/libaccperf.a
	$(call say,TOOL,$@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(B)/libaccperf.a $(LDLIBS)
$(B)/simcounts $(B)/tripjudge: $(B)/%: tests/%.c $(wildcard tests/counts/*.[ch]) $(B)/libaccperf.a
	$(call say,TOOL,$@)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(LDFLAGS) -o $@ $< $(wildcard tests/counts/*.c) $(B)/libaccperf.a $(LDLIBS)
build/workloads/%: tests/workloads/%.c
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -g -Iinclude -Itests/workloads $(or $(call flags_of,cflags,$<),-O2) -o $@ $< $(call flags_of,libs,$<) -lm -lpthread

-include user/exact/exact.mk scripts/man.mk

BINDIR := $(DESTDIR)$(PREFIX)/bin
install: all
	$(Q)install -d $(BINDIR) && install -m 0755 build/accperf $(BINDIR)/accperf
	$(Q)$(MAKE) --no-print-directory install-extra
uninstall: uninstall-extra
	$(Q)rm -f $(BINDIR)/accperf
install-extra uninstall-extra::
DIST ?= .
dist:
	$(Q)git archive --prefix=accperf-$(VERSION)/ -o $(DIST)/accperf-$(VERSION).tar.gz HEAD && echo $(DIST)/accperf-$(VERSION).tar.gz
clean:
	$(Q)rm -rf build

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(BPF_SRC:%.bpf.c=build/%.bpf.d) $(UNIT:=.d) $(FUZZ_OBJ:.o=.d) $(FUZZ:=.d)
.PHONY: all unit fuzz fuzz-targets workloads install install-extra uninstall uninstall-extra dist clean
