# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by lib.sh and scripts/test. Where `python3` is a version manager's script (pyenv), each start of it costs a
# dozen processes and a second of CPU time: the interpreter that it would start stands first in PATH instead.
if read -r -n 2 start <"$(command -v python3)" 2>/dev/null && [ "$start" = '#!' ]; then
	real=$(python3 -c 'import sys; print(sys.executable)') && [ -x "$real" ] && PATH=${real%/*}:$PATH
fi 2>/dev/null
unset start real
