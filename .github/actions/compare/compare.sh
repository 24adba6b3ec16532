#!/bin/sh
# Compares two files of measured times, and fails where the new one is certainly slower: of hyperfine, Criterion,
# pytest-benchmark, k6 and the others of docs/formats.md.
#
#   OLD=old.json NEW=new.json compare.sh
#
# FAIL_IF   what fails [default: factor > 1.05]; `none`: nothing
# SERIES    of files that hold several series: those to compare, one a line
# SUMMARY   the Markdown file that the tables are added to [default: $GITHUB_STEP_SUMMARY, else standard output]
# LASTRANK  the program [default: the lastrank of PATH, else one that is built from this repository]
#
# Status: 0 not slower · 1 slower · 2 a wrong call or file · 3 a run that is not sound
set -u

die() {
    echo "error: $1" >&2
    exit 2
}

[ -n "${OLD:-}" ] || die "OLD names no file: the times from before, for example OLD=old.json"
[ -n "${NEW:-}" ] || die "NEW names no file: the times of now, for example NEW=new.json"
fail_if=${FAIL_IF:-factor > 1.05}
summary=${SUMMARY:-${GITHUB_STEP_SUMMARY:-}}
lastrank=${LASTRANK:-$(command -v lastrank)}
if [ -z "$lastrank" ]; then
    command -v cargo > /dev/null || die "there is neither lastrank nor cargo to build it: see docs/install.md"
    here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 2
    root=${RUNNER_TEMP:-${TMPDIR:-/tmp}}/lastrank
    cargo install --locked --quiet --root "$root" --path "$here/../../../crates/lastrank" || die "lastrank could not be built"
    lastrank=$root/bin/lastrank
fi

# The table of one series, or what is wrong.
compare() {
    set -- ${1:+--column "$1"}
    [ "$fail_if" = none ] || set -- "$@" --fail-if "$fail_if"
    "$lastrank" compare --markdown "$@" -- "$OLD" "$NEW" < /dev/null
}

worst=0
while IFS= read -r series; do
    table=$(compare "$series")
    status=$?
    if [ "$status" -ge 2 ] && [ -z "$table" ]; then
        table="### ✖ lastrank could not compare: the log says why"
    fi
    if [ -n "$summary" ]; then
        printf '%s\n\n' "$table" >> "$summary" || exit 2
    else
        printf '%s\n\n' "$table"
    fi
    [ "$status" -le "$worst" ] || worst=$status
done << END
${SERIES:-}
END
exit "$worst"
