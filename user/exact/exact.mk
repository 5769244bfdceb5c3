# SPDX-License-Identifier: GPL-2.0-or-later
# The exact engine: a Valgrind tool built outside Valgrind's tree, against what Debian's package
# ships. Without that package the rest builds, and `accperf exact` says what to install.

EXACT_DIR := $(B)/exact
EXACT_SRC := $(wildcard user/exact/tool/*.c)
EXACT_OBJ := $(EXACT_SRC:user/exact/tool/%.c=$(EXACT_DIR)/obj/%.o)
VG_INC := $(shell pkg-config --cflags valgrind 2>/dev/null)
VG_LIBDIR := $(shell pkg-config --variable=libdir valgrind 2>/dev/null)/valgrind
VG_LOAD := $(or $(shell pkg-config --variable=valt_load_address valgrind 2>/dev/null),0x58000000)
VG_OK := $(if $(SKIP_EXACT),,$(and \
	$(shell pkg-config --atleast-version=3.19 valgrind 2>/dev/null && echo yes),\
	$(wildcard $(VG_LIBDIR)/libcoregrind-amd64-linux.a)))
VG_EXEC := $(firstword $(wildcard /usr/libexec/valgrind /usr/lib/x86_64-linux-gnu/valgrind /usr/lib/valgrind))

# The core links everything statically at its own address; no start files, no C library.
EXACT_CFLAGS := -std=gnu11 -O3 -g -fno-strict-aliasing -fno-stack-protector -fno-builtin -fno-pie -fno-pic \
	-fomit-frame-pointer -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-type-limits -Wno-shift-negative-value \
	-Wno-builtin-declaration-mismatch $(if $(WERROR),-Werror) \
	-DVGA_amd64=1 -DVGO_linux=1 -DVGP_amd64_linux=1 -DVGPV_amd64_linux_vanilla=1

ifneq ($(VG_OK),)
all: $(EXACT_DIR)/accperf-amd64-linux

$(EXACT_DIR)/syscalls.h: /usr/include/x86_64-linux-gnu/asm/unistd_64.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' $< >$@

$(EXACT_DIR)/obj/%.o: user/exact/tool/%.c user/exact/exact.mk $(EXACT_DIR)/syscalls.h
	$(call say,VGTOOL,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(EXACT_CFLAGS) $(VG_INC) -Iinclude -I$(EXACT_DIR) -MMD -MP -c -o $@ $<

# So each way of its loop keeps a jump of its own, and what it adds to one by one is not gathered first.
$(EXACT_DIR)/obj/x_short.o: EXACT_CFLAGS += -fno-gcse -fno-crossjumping -fno-tree-slp-vectorize

$(EXACT_DIR)/accperf-amd64-linux: $(EXACT_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) -static -no-pie -nodefaultlibs -nostartfiles -u _start -Wl,-Ttext-segment=$(VG_LOAD) \
		-Wl,--build-id=none -o $@ $(EXACT_OBJ) -L$(VG_LIBDIR) -lcoregrind-amd64-linux \
		-lvex-amd64-linux -lgcc
	$(Q)for f in $(VG_EXEC)/default.supp $(VG_EXEC)/vgpreload_core-amd64-linux.so; do \
		ln -sf "$$f" $(EXACT_DIR)/; done

install-extra::
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib/accperf/exact
	$(Q)install -m 0755 build/exact/accperf-amd64-linux $(DESTDIR)$(PREFIX)/lib/accperf/exact/
	$(Q)for f in $(VG_EXEC)/default.supp $(VG_EXEC)/vgpreload_core-amd64-linux.so; do \
		ln -sf "$$f" $(DESTDIR)$(PREFIX)/lib/accperf/exact/; done
uninstall-extra::
	$(Q)rm -rf $(DESTDIR)$(PREFIX)/lib/accperf/exact
-include $(EXACT_OBJ:.o=.d)
else
all: exact-missing
exact-missing:
	@echo '  SKIP     exact engine: install valgrind 3.19 or later (Debian: valgrind) and run make again'
.PHONY: exact-missing
endif
