# SPDX-License-Identifier: GPL-2.0-or-later
# Man pages and bash completion, made by the program from its own option tables; what Grafana and Prometheus load.
# Included by the Makefile. Nothing to do here when a command is added.

MANDIR = $(DESTDIR)$(PREFIX)/share/man/man1
MANDIR5 = $(DESTDIR)$(PREFIX)/share/man/man5
SHAREDIR = $(DESTDIR)$(PREFIX)/share/accperf
COMPLETIONDIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
# The same sources give the same pages.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)

man: build/man/accperf.1
build/man/accperf.1: build/accperf
	$(call say,MAN,build/man)
	$(Q)rm -rf build/man.new && mkdir -p build/man.new && for c in $$(build/accperf help --list); do \
		build/accperf help --man $$c >build/man.new/accperf-$$c.1 || exit 1; done && \
		build/accperf help --completion bash >build/man.new/accperf.bash && \
		build/accperf help --man accperf >build/man.new/accperf.1 && \
		build/accperf help --man daemon.yaml >build/man.new/accperf-daemon.yaml.5 && rm -rf build/man && mv build/man.new build/man

install-extra:: man
	$(Q)install -d $(MANDIR) $(MANDIR5) $(COMPLETIONDIR) $(SHAREDIR) && install -m 0644 build/man/*.1 $(MANDIR) && \
		install -m 0644 build/man/*.5 $(MANDIR5) && \
		install -m 0644 build/man/accperf.bash $(COMPLETIONDIR)/accperf && \
		install -m 0644 user/daemon/grafana.json user/daemon/alerts.yml $(SHAREDIR)

uninstall-extra::
	$(Q)rm -f $(MANDIR)/accperf.1 $(MANDIR)/accperf-*.1 $(MANDIR5)/accperf-daemon.yaml.5 $(COMPLETIONDIR)/accperf \
		$(SHAREDIR)/grafana.json $(SHAREDIR)/alerts.yml

.PHONY: man
