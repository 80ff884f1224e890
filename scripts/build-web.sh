#!/usr/bin/env bash
# Builds the page into web/dist, and does nothing when it is there and newer than all it is made from.
#
# With --tools the packages of web/ are there afterwards even if the page did not have to be built; tests and lints need them.
set -euo pipefail
cd "$(dirname "$0")/../web"

# npm writes this file last, so it stands for a complete installation.
installed=node_modules/.package-lock.json
page=dist/index.html

page_is_fresh() {
    local from=(src index.html package.json package-lock.json tsconfig.json vite.config.ts)
    [ -d public ] && from+=(public)
    [ -e "$page" ] && [ -z "$(find "${from[@]}" -newer "$page" -print -quit)" ]
}

install_packages() {
    [ "$installed" -nt package-lock.json ] && return
    ../scripts/install-system-packages.sh npm
    npm ci --no-audit --no-fund
    # Extracted files keep the registry's dates; the installation is as young as this moment.
    touch "$installed"
}

if [ "${1:-}" = --tools ]; then
    install_packages
fi
if ! page_is_fresh; then
    install_packages
    npm run build
    touch "$page"
fi
