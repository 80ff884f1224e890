#!/usr/bin/env bash
# Sees to it that the named commands are there: installs the Debian packages of those that are missing.
#
# Does nothing when all are there. Toolchains (cargo, npm) are the user's choice, so they are asked for and never installed.
# Usage: scripts/install-system-packages.sh COMMAND...
set -euo pipefail

declare -A package_of=(
    [cc]="gcc libc6-dev"
    [blastp]="ncbi-blast+"
    [borg]="borgbackup"
    [bpftrace]="bpftrace"
    [espeak-ng]="espeak-ng"
    [ffmpeg]="ffmpeg"
    [rsync]="rsync"
    [rubberband]="rubberband-cli"
    [soundstretch]="soundstretch"
    [c++]="g++"
    [clang]="clang"
    [chromium]="chromium fonts-dejavu-core"
    [diamond]="diamond-aligner"
    [dpkg-deb]="dpkg"
    [forecast]="r-cran-forecast"
    [fracdiff]="r-cran-fracdiff"
    [ip]="iproute2"
    [kill]="procps"
    [libclang]="libclang-dev"
    [libelf]="libelf-dev zlib1g-dev"
    [mmdebstrap]="mmdebstrap"
    [mpi4py]="python3-mpi4py"
    [mpicc.mpich]="libmpich-dev"
    [mpicc.openmpi]="libopenmpi-dev"
    [mpiexec.mpich]="mpich"
    [mpifort.mpich]="libmpich-dev gfortran"
    [mpifort.openmpi]="libopenmpi-dev gfortran"
    [mpiexec.openmpi]="openmpi-bin"
    [readelf]="binutils"
    [Rscript]="r-base-core"
    [shellcheck]="shellcheck"
    [smpicc]="libsimgrid-dev"
    [snmpd]="snmpd"
    [ssw-align]="ssw-align"
    [strip]="binutils"
    [tc]="iproute2"
    [tmux]="tmux"
    [unshare]="util-linux"
    [zstd]="zstd"
    [python3]="python3"
    [python-headers]="python3-dev"
    [venv]="python3-venv"
)
# The oldest versions that do, and where newer ones are.
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
node_needed=20.19
declare -A toolchain_of=(
    [cargo]="Rust $rust_needed or later: \`rustup update stable\`, or see https://rustup.rs"
    [npm]="Node.js $node_needed or later with npm: see https://nodejs.org"
)

# Prints the version of a toolchain that is too old. A toolchain whose version cannot be read is taken as it is.
too_old() {
    local found needed
    case "$1" in
        cargo) found=$(cargo --version 2>/dev/null) needed="$rust_needed" ;;
        npm) found=$(node --version 2>/dev/null) needed="$node_needed" ;;
        *) return 1 ;;
    esac
    found=$(grep -o '[0-9][0-9.]*' <<<"$found" | head -n 1)
    [ -n "$found" ] && [ "$(printf '%s\n' "$found" "$needed" | sort -V | head -n 1)" != "$needed" ] && echo "$found"
}

# `venv` and `mpi4py` are modules of Python, and `fracdiff` a library of R, that Debian keeps in packages of their own.
is_there() {
    case "$1" in
        venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        python-headers) python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ;;
        mpi4py) /usr/bin/python3 -c 'import mpi4py' 2>/dev/null ;;
        # The wrapper comes without the compiler that it calls.
        mpifort.*) type -P "$1" >/dev/null && type -P gfortran >/dev/null ;;
        forecast) Rscript -e 'library(forecast)' >/dev/null 2>&1 ;;
        fracdiff) Rscript -e 'library(fracdiff)' >/dev/null 2>&1 ;;
        # A server's place is not in everyone's search path.
        snmpd) PATH="$PATH:/usr/sbin" type -P "$1" >/dev/null ;;
        # A library that bindings are made with; `cargo` finds it where the package puts it.
        libclang) compgen -G '/usr/lib/llvm-*/lib/libclang.so*' >/dev/null ;;
        # A library with its headers.
        libelf) [ -e /usr/include/libelf.h ] && [ -e /usr/include/zlib.h ] ;;
        # A program, that is: a builtin of this shell is of no use to others.
        *) type -P "$1" >/dev/null ;;
    esac
}

missing=()
packages=()
lacking=()
for name in "$@"; do
    if is_there "$name"; then
        if version=$(too_old "$name"); then
            lacking+=("\`$name\` is of version $version: install ${toolchain_of[$name]}")
        fi
        continue
    fi
    if [ -n "${toolchain_of[$name]:-}" ]; then
        lacking+=("\`$name\` is not there: install ${toolchain_of[$name]}")
        continue
    fi
    missing+=("$name")
    # Split on purpose: a command may need several packages.
    # shellcheck disable=SC2206
    packages+=(${package_of[$name]})
done
if [ ${#lacking[@]} -gt 0 ]; then
    printf '%s\n' "${lacking[@]}" >&2
    exit 1
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "these are missing and this machine has no apt-get to install them with: ${missing[*]}" >&2
    echo "(on Debian they are in the packages ${packages[*]})" >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "these packages are missing, and installing them needs root: ${packages[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
    echo "installing packages needs root, by sudo: ${packages[*]}" >&2
    # Asked before anything is fetched. Without a terminal nobody could answer.
    if ! sudo -n true 2>/dev/null && { [ ! -t 0 ] || ! sudo --validate; }; then
        echo "sudo wants a password; install these packages first: sudo apt-get install ${packages[*]}" >&2
        exit 1
    fi
fi
echo "installing ${packages[*]}" >&2
# One call installs at a time: the other command may run in another terminal.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive flock /var/lock/foretop-packages \
    sh -c 'apt-get update -q && exec apt-get install -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends "$@"' sh "${packages[@]}"
