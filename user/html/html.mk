# SPDX-License-Identifier: GPL-2.0-or-later
# The page of `accperf report --html`: its modules and what they take of d3, bundled by esbuild into arrays of bytes
# with their digests. Without these packages (or with SKIP_HTML=1) the arrays are empty, the rest builds, and the
# program says what is missing.

HTML_MODULES := /usr/share/nodejs
HTML_OK := $(if $(SKIP_HTML),,$(and $(shell command -v esbuild),$(wildcard $(HTML_MODULES)/d3-hierarchy/package.json)))
HTML_SRC := $(wildcard user/html/page/*.js user/html/page/*.css)
HTML_DIR := $(B)/html
HTML_BUNDLE := $(HTML_DIR)/$(if $(HTML_OK),page,nothing)
LIB_OBJ += $(HTML_BUNDLE).o

# Base64 of the digest, as a content security policy has it.
html_digest = $$(sha256sum <$(1) | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64)
html_bytes = od -An -v -tu1 $(1) | sed 's/  */,/g; s/^,//; s/$$/,/'

$(HTML_DIR)/page.js: $(HTML_SRC) user/html/html.mk
	$(call say,BUNDLE,$@)
	$(Q)mkdir -p $(@D) && NODE_PATH=$(HTML_MODULES) esbuild --bundle --minify --charset=utf8 --legal-comments=none \
		--target=es2020 --format=iife --log-level=warning --outfile=$@ user/html/page/main.js
$(HTML_DIR)/page.css: $(HTML_SRC) user/html/html.mk
	$(Q)mkdir -p $(@D) && esbuild --minify --log-level=warning --outfile=$@ user/html/page/page.css

$(HTML_DIR)/page.c: $(HTML_DIR)/page.js $(HTML_DIR)/page.css
	$(Q){ echo '#include "html/bundle.h"'; \
		echo 'static const unsigned char script[] = {'; $(call html_bytes,$(HTML_DIR)/page.js); echo '};'; \
		echo 'static const unsigned char style[] = {'; $(call html_bytes,$(HTML_DIR)/page.css); echo '};'; \
		echo 'const struct html_bundle html_bundle = { script, style, sizeof(script), sizeof(style),'; \
		echo "\"$(call html_digest,$(HTML_DIR)/page.js)\", \"$(call html_digest,$(HTML_DIR)/page.css)\" };"; } >$@
$(HTML_DIR)/nothing.c: user/html/html.mk
	$(Q)mkdir -p $(@D) && echo '#include "html/bundle.h"' >$@ && \
		echo 'const struct html_bundle html_bundle = { (const unsigned char *)"", (const unsigned char *)"", 0, 0, "", "" };' >>$@
$(HTML_DIR)/%.o: $(HTML_DIR)/%.c user/html/bundle.h
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

ifeq ($(HTML_OK),)
all: html-missing
html-missing:
	@echo '  SKIP     report --html: install esbuild and node-d3 and run make again'
.PHONY: html-missing
endif
