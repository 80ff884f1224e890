#!/usr/bin/env bash
# Puts a program into a wheel, so that pip installs both the package and the command.
#
# Usage: scripts/add-program-to-wheel.sh WHEEL PROGRAM OUT, where the new wheel is left in the folder OUT under its old name
set -euo pipefail
wheel=$(realpath "$1")
program=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
cd "$(dirname "$0")/.."

[ -x .venv/bin/wheel ] || scripts/python-venv.sh packaging/requirements.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
.venv/bin/wheel unpack --dest "$scratch" "$wheel" >/dev/null
package=$(cd "$scratch" && echo *)
# pip puts what is in this folder beside the interpreter.
scripts="$scratch/$package/$package.data/scripts"
mkdir -p "$scripts"
strip --strip-unneeded -o "$scripts/$(basename "$program")" "$program"
.venv/bin/wheel pack --dest-dir "$out" "$scratch/$package" >/dev/null
