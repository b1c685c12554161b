#!/usr/bin/env bash
# The commands that people type: they exist, they say what is missing, and they never pretend.
set -euo pipefail
cd "$(dirname "$0")/../.."
unset NO_INSTALL BOOTSTRAP_QUIET MAKEFLAGS MAKELEVEL
problems=0
expect() {
    local what=$1 wanted=$2 got=$3
    if [ "$wanted" != "$got" ]; then
        echo "$what: expected '$wanted', got '$got'"
        problems=$((problems + 1))
    fi
}
status_of() {
    local status=0
    "$@" >"$scratch/output" 2>&1 </dev/null || status=$?
    echo $status
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A machine on which nothing is installed.
printf '#!/bin/sh\nexit 1\n' >"$scratch/dpkg-query"
printf '#!/bin/sh\necho "apt-get was called" >&2\nexit 1\n' >"$scratch/apt-get"
chmod +x "$scratch/dpkg-query" "$scratch/apt-get"
bare() { PATH="$scratch:$PATH" NO_INSTALL=1 "$@"; }
expect "bootstrap on a bare machine" 1 "$(status_of bare tools/bootstrap build)"
for word in clang-19 libboost-json1.81-dev "as root"; do
    expect "it names $word" yes "$(grep -q -- "$word" "$scratch/output" && echo yes || echo no)"
done
expect "it installs nothing" no "$(grep -q "was called" "$scratch/output" && echo yes || echo no)"
expect "make run stops there" 2 "$(status_of bare make run)"
expect "bootstrap, unknown purpose" 2 "$(status_of tools/bootstrap nonsense)"
for purpose in build test sanitize lint bench; do
    expect "packages of $purpose" yes \
        "$(tools/bootstrap list $purpose | grep -qx clang-19 && echo yes || echo no)"
done

# What the public surface names exists; what is still to come fails with a sentence.
for target in run build test test-all sanitize fuzz bench format lint; do
    expect "make -n $target" 0 "$(status_of make -n $target)"
done
for target in differential faults soak interop package docs; do
    expect "make $target" 2 "$(status_of make $target)"
    expect "make $target says when" yes \
        "$(grep -q "^make $target: arrives with" "$scratch/output" && echo yes || echo no)"
done

[ $problems = 0 ] || exit 1
