#!/usr/bin/env bash
# Runs the README's two commands on a fresh machine: a minimal Debian root in namespaces of its own, with git, make, a C compiler, Rust, Python and Node.
#
# mmdebstrap makes the root from the distribution's packages. Rust is this machine's, mounted read-only, because Debian's is too old, and so are Node
# and npm. Packages come from where this machine gets them: its settings of apt, cargo, npm and pip, its certificates and proxies are
# taken over. The root has a copy of the last commit, and no target folder.
# Usage: scripts/fresh.sh [run] [test] [shell] [-- COMMAND...]    (run and test if nothing is named)
#   run                 `make run` until the page answers
#   test                `make test`
#   shell               a shell in the root
#   -- COMMAND...       this command in the root
# FORETOP_FRESH=DIR     keeps the root in DIR, and uses the one that is there; otherwise the root goes away at the end
# FORETOP_FRESH_SUITE   the distribution's release, this machine's if nothing is said
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-system-packages.sh mmdebstrap unshare git cargo npm python3
if [ "$(id -u)" -ne 0 ]; then
    echo "scripts/fresh.sh mounts and needs root: run it by sudo" >&2
    exit 1
fi
# Namespaces of mounts, processes and names: what is mounted or started here ends with this script.
if [ -z "${FORETOP_FRESH_INSIDE:-}" ]; then
    exec env FORETOP_FRESH_INSIDE=1 unshare --mount --uts --ipc --pid --fork --kill-child --mount-proc "$PWD/scripts/fresh.sh" "$@"
fi

# What is mounted is this machine's: while any of it is, nothing is removed.
remove_root() {
    awk -v root="$root/" 'index($5, root) == 1 { print $5 }' /proc/self/mountinfo | tac | xargs -r umount --lazy || true
    ! grep -qF " $root/" /proc/self/mountinfo || { echo "scripts/fresh.sh: $root is still in use and stays" >&2 && return; }
    rm -rf --one-file-system "$root"
}

# shellcheck source=/dev/null
suite="${FORETOP_FRESH_SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}"
packages=git,make,gcc,libc6-dev,python3,python3-venv,ca-certificates,curl,procps
rust=$(dirname "$(dirname "$(rustup which cargo 2>/dev/null || type -P cargo)")")
if [ -n "${FORETOP_FRESH:-}" ]; then
    root=$(mkdir -p "$FORETOP_FRESH" && realpath "$FORETOP_FRESH")
else
    root=$(mktemp -d)
    trap remove_root EXIT
fi

took() {
    printf '%d:%02d  %s\n' $(($1 / 60)) $(($1 % 60)) "$2"
}

make_root() {
    local began=$SECONDS sources=() file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
        [ ! -e "$file" ] || sources+=("$file")
    done
    mmdebstrap --quiet --variant=minbase --include="$packages" "$suite" "$root" "${sources[@]}"
    took $((SECONDS - began)) "making the root"
}

# Copies settings to the place in the root where the tools look for them.
take_over() {
    local file home="$root/root"
    for file in /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/apt/keyrings /etc/pip.conf /etc/npmrc /etc/ssl/certs /usr/local/share/ca-certificates; do
        [ ! -e "$file" ] || cp -rLT "$file" "$root$file" 2>/dev/null || true
    done
    for file in .npmrc .config/pip .pip .cargo/config.toml .cargo/config; do
        [ -e "$HOME/$file" ] || continue
        mkdir -p "$(dirname "$home/$file")"
        cp -rT "$HOME/$file" "$home/$file"
    done
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
}

mount_into() {
    mkdir -p "$root$2"
    mount --rbind "$1" "$root$2"
    [ "${3:-}" != read-only ] || mount -o remount,bind,ro "$root$2"
}

enter() {
    local name variables=()
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        [ -z "${!name:-}" ] || variables+=("$name=${!name}")
    done
    # Settings of registries and certificates, whatever they are, but no paths of this machine's programs.
    while IFS='=' read -r name _; do
        case "$name" in
            CARGO_REGISTR* | CARGO_SOURCE* | CARGO_HTTP* | CARGO_NET* | PIP_INDEX* | PIP_EXTRA* | PIP_CERT | PIP_TRUSTED* | PIP_FIND_LINKS | NPM_CONFIG_REGISTRY | npm_config_registry | SSL_CERT_FILE | NODE_EXTRA_CA_CERTS)
                variables+=("$name=${!name}")
                ;;
        esac
    done < <(env)
    env -i "${variables[@]}" HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
        PATH=/opt/rust/bin:/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" sh -c 'cd /root/foretop && exec "$@"' sh "$@"
}

# Starts the node and waits until its page answers.
run_until_it_answers() {
    local began=$SECONDS pid
    enter make run </dev/null &
    pid=$!
    until chroot "$root" curl --silent --fail --output /dev/null http://127.0.0.1:7311/; do
        kill -0 "$pid" 2>/dev/null || { echo "make run ended before its page answered" >&2 && return 1; }
        sleep 0.2
    done
    took $((SECONDS - began)) "make run, until the page answers"
    kill "$(pgrep --newest --exact foretop)"
    wait "$pid" || true
}

run_tests() {
    local began=$SECONDS
    enter make test </dev/null
    took $((SECONDS - began)) "make test"
}

[ -e "$root/etc/os-release" ] || make_root
take_over
mount_into /proc /proc
mount_into /sys /sys
mount_into /dev /dev
mount_into "$rust" /opt/rust read-only
# Debian's Node is older than the page's tools want, and its npm brings four hundred packages.
mkdir -p "$root/opt/node/bin" "$root/opt/node/lib/node_modules"
touch "$root/opt/node/bin/node"
mount --bind "$(realpath "$(type -P node)")" "$root/opt/node/bin/node"
mount_into "$(dirname "$(dirname "$(realpath "$(type -P npm)")")")" /opt/node/lib/node_modules/npm read-only
ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/opt/node/bin/npm"
ln -sf ../lib/node_modules/npm/bin/npx-cli.js "$root/opt/node/bin/npx"
[ -e "$root/root/foretop" ] || git clone --quiet --no-hardlinks . "$root/root/foretop"

[ $# -gt 0 ] || set -- run test
while [ $# -gt 0 ]; do
    case "$1" in
        run) run_until_it_answers ;;
        test) run_tests ;;
        shell) enter bash ;;
        --)
            shift
            enter "$@"
            break
            ;;
        *) echo "scripts/fresh.sh: $1 is none of run, test, shell, --" >&2 && exit 2 ;;
    esac
    shift
done
