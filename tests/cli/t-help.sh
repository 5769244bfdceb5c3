#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Help, man pages, completion and schemas are made from the option tables: every command, every option.
. "$(dirname "$0")/../lib.sh"
commands=$(accperf help --list)
check "there are commands" [ "$(wc -w <<<"$commands")" -ge 5 ]
accperf help --completion bash >completion
check "the completion script is sound bash" bash -n completion
options() { sed -n '/^Options:/,/^Examples:/p' "help-$1" | grep -oE '^  (-[a-zA-Z], |    )?--[a-z0-9-]+|^  -[a-zA-Z]\b' | tr -s ' ,' '\n\n' | grep . ; }

# completes LINE: what bash would offer at its end
completes() {
	bash -c '. ./completion; read -ra COMP_WORDS <<<"$1"; [ "${1: -1}" = " " ] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _accperf; printf "%s\n" "${COMPREPLY[@]}"' _ "$1"
}
completes "accperf " >offered
for c in $commands; do accperf "$c" --help >"help-$c" 2>&1 || fail "$c --help"; done
declare -A helps
set -f # words of examples may be patterns
for c in $commands; do
	ln -sf "help-$c" help.txt
	accperf help --man "$c" >page.1 || fail "help --man $c"
	mandoc -Tlint -Wwarning page.1 >lint 2>&1
	mandoc -Tutf8 -O width=200 page.1 2>/dev/null | sed 's/.\x08//g' >page
	completes "accperf $c -" >words
	options "$c" >"names-$c"; ln -sf "names-$c" names
	tr ' ' '\n' <page | sed 's/,$//' >paged
	missing=$(grep -vxFf paged names | sed 's/^/ man:/'; grep -vxFf words names | sed 's/^/ completion:/')
	check "$c: all $(wc -l <names) option names are in its man page and completion" [ -z "$missing" ]
	[ -n "$missing" ] && echo "    missing:$missing"
	check "$c: its man page is clean" [ ! -s lint ]
	check "$c: has usage, description and examples" bash -c 'grep -q "^Usage: accperf" help.txt && grep -q "^Examples:" help.txt && [ $(sed -n "3,/^Options:/p" help.txt | wc -l) -ge 3 ]'
	check "$c: completion offers the command" grep -qx "$c" offered
	check "$c: 'help $c' is its --help" bash -c "accperf help $c | cmp - help.txt"
	# an example that names an option which is not there is a lie
	wrong=
	while read -r line; do
		[[ $line =~ .*accperf\ +([a-z]+) ]] && sub=${BASH_REMATCH[1]}
		[ -n "${helps[$sub]:-}" ] || helps[$sub]=$(cat "help-$sub")$'\n'
		line=${line%% -- *}
		for o in ${line%%[|;&]*}; do
			[[ $o =~ ^--[a-z0-9-]+ ]] && o=${BASH_REMATCH[0]} || continue
			plain=${o#--no-}; plain=${plain#--}
			[[ ${helps[$sub]} =~ --(no-)?$plain[\ $'\n'] ]] || wrong+=" $o"
		done
	done < <(sed -n '/^Examples:/,$p' help.txt | grep -E '^  accperf [a-z]')
	check "$c: the options in its examples exist" [ -z "$wrong" ]
	[ -n "$wrong" ] && echo "    not there:$wrong"
	if grep -qE -- '^ *(-., )?--json( |$)' help.txt; then
		schemas=$(sed -n '/Schemas, printed by/,/^$/p' page | tr '\n' ' ' | sed 's/.*: *//; s/\.[^.]*$//')
		check "$c: --json has a schema" [ -n "$schemas" ]
	fi
done
# What a text tells to give is an option of some command; but what it says of linkers (-Wl) and of other programs.
set +f
cat names-* | grep -- ^-- | sed 's/^--no-/--/' | sort -u >names-all
invented() { [ -s names-all ] && ! cat help-* | sed 's/-Wl,[^ ]*//g' | grep -oE -- '--[a-z][a-z0-9-]*[a-z0-9]' | sed 's/^--no-/--/' | sort -u | grep -vxFf names-all; }
check "every option that a help text names is one" invented
for s in $(accperf help --json-schema list); do accperf help --json-schema "$s" >"schema-$s.json" || fail "schema $s"; done
judged() { # one interpreter for all of them: a line each
	python3 - $(accperf help --json-schema list) <<-'PY'
		import json, sys
		try:
		    import jsonschema
		except ImportError:
		    jsonschema = None
		for name in sys.argv[1:]:
		    why = ""
		    try:
		        s = json.load(open("schema-" + name + ".json"))
		        wanted = "accperf." + name + "/1"
		        assert wanted in (s.get("title"), s.get("properties", {}).get("schema", {}).get("const")), s.get("title")
		        if jsonschema:
		            jsonschema.Draft7Validator.check_schema(s)
		    except Exception as e:
		        why = repr(e)
		    print(("not ok" if why else "ok") + " - schema " + name + ": is JSON, draft-07, and names accperf." + name + "/1")
		    if why:
		        print("    " + why)
	PY
}
judged || fail "schemas were judged to the last"
if python3 -c 'import jsonschema' 2>/dev/null; then
	mkprofile a.data
	valid() { # SCHEMA COMMAND...
		local s=$1; shift
		accperf help --json-schema "$s" >schema.json && "$@" >value.json 2>/dev/null
		check "'${*:2}' prints what schema $s says" python3 -c 'import json,jsonschema; jsonschema.validate(json.load(open("value.json")), json.load(open("schema.json")))'
	}
	valid report accperf report -i a.data --json
	valid report accperf report -i a.data --json --per-thread --callers main --no-children
	valid doctor accperf doctor --json
	valid version accperf version --json
	accperf report -i a.data --json | jq '.functions[0].self = 2' >value.json; accperf help --json-schema report >schema.json
	check "the report schema refuses a share over 1" bash -c '! python3 -c "import json,jsonschema; jsonschema.validate(json.load(open(\"value.json\")), json.load(open(\"schema.json\")))" 2>/dev/null'
else
	skip "values against their schemas" "python3-jsonschema is not installed"
fi
check "completion offers values" bash -c "$(declare -f completes); completes 'accperf report --sort s' | tr '\n' ' ' | grep -qx 'self samples '"
check "completion offers the negations" bash -c "$(declare -f completes); completes 'accperf report --no-ch' | grep -qx -- --no-children"
check "completion offers files for -i" bash -c "$(declare -f completes); completes 'accperf report -i a.d' | grep -qx a.data"
accperf help --man accperf >main.1
check "accperf(1) is clean" bash -c '[ -z "$(mandoc -Tlint -Wwarning main.1)" ]'
check "accperf(1) lists every command" bash -c 'for c in $(accperf help --list); do grep -qxF "\\fB$c\\fR" main.1 || { echo $c; exit 1; }; done'
check "accperf --help lists every command" bash -c 'for c in $(accperf help --list); do accperf --help | grep -q "^  $c " || { echo $c; exit 1; }; done'
expect_status 2 "help for no such command" accperf help nosuch
expect_status 2 "the man page of no such command" accperf help --man nosuch
expect_status 2 "no such schema" accperf help --json-schema nosuch
check "... lists those there are" grep -q 'there are:.*report' err
expect_status 2 "completion for another shell" accperf help --completion tcsh
expect_status 2 "accperf without a command" accperf
