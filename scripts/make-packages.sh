#!/usr/bin/env bash
# Makes packages in target/packages: Debian packages, a tarball of programs, and a wheel for Python that has the program `foretop` in it.
#
# What needs neither MPI nor libelf is linked by zig for an old glibc, so that it runs on Debian 10 and later, whatever this machine has. Programs for MPI and
# the kernel are linked with this machine's libraries.
# Usage: scripts/make-packages.sh [--from DIR] [--out DIR] [--version VERSION] [--only PACKAGE] [--quick] [deb|tar|wheel]...
#   --from DIR          builds nothing, and packs the programs that are in DIR, such as target/debug; packages without their programs are left out
#   --out DIR           instead of target/packages
#   --version VERSION   instead of the workspace's
#   --only PACKAGE      makes no Debian package but this one
#   --quick             compresses nothing
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

# The oldest glibc that the programs run with; the wheel's tag says so too.
glibc=2.28
target=x86_64-unknown-linux-gnu

# package | programs in /usr/bin | description
table='
foretop        | foretop                              | measures this host and forecasts it, with error bars
foretop-tools  | foretop-tools                        | streams, cross-validation, studies, MPI and emulated networks
foretop-mpi    |                                      | the parts of foretop-tools and foretop-sim that run under MPI
foretop-sched  | foretop-sched foretop-sequences      | splits work among workers by what they are forecast to give
foretop-sim    | foretop-sim                          | predicts MPI programs on machines that are not there
foretop-play   | foretop-play                         | plays sound that slows down instead of stopping
foretop-tunnel | foretop-tunnel foretop-dedup         | carries connections over slow links and sends nothing twice
foretop-kernel | foretop-kernel foretop-iow           | measures the kernel at a stated and bounded cost
'

from=
out="$CARGO_TARGET_DIR/packages"
only=
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
compression=(-Zxz)
kinds=()
while [ $# -gt 0 ]; do
    case "$1" in
        --from) from="$2" && shift ;;
        --out) out="$2" && shift ;;
        --version) version="$2" && shift ;;
        --only) only="$2" && shift ;;
        --quick) compression=(-Znone) ;;
        deb | tar | wheel) kinds+=("$1") ;;
        *) echo "scripts/make-packages.sh: $1 is none of --from, --out, --version, --only, --quick, deb, tar, wheel" >&2 && exit 2 ;;
    esac
    shift
done
if [ ${#kinds[@]} -eq 0 ]; then
    kinds=(deb tar wheel)
    # A wheel is built in any case.
    [ -z "$from" ] || kinds=(deb)
fi
# Times in the packages are those of the sources, so that the same sources give the same packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Folders with programs, and the one with what runs under MPI.
if [ -n "$from" ]; then
    folders=("$(cd "$from" && pwd)")
else
    folders=("$CARGO_TARGET_DIR/$target/dist" "$CARGO_TARGET_DIR/dist")
fi
mpi="$CARGO_TARGET_DIR/mpi"

build() {
    # Programs that need neither MPI nor libelf.
    local packages=(foretop foretop-play foretop-sched foretop-sim foretop-tools foretop-tunnel)
    scripts/install-system-packages.sh cargo npm cc dpkg-deb strip readelf
    scripts/python-venv.sh packaging/requirements.txt
    scripts/build-web.sh
    PATH="$PWD/.venv/bin:$PATH" cargo zigbuild --profile dist --locked --target "$target.$glibc" "${packages[@]/#/--package=}"
    if [[ " ${kinds[*]} " = *" deb "* ]]; then
        scripts/install-system-packages.sh clang libelf
        cargo build --profile dist --locked -p foretop-kernel -p kernel-link
        scripts/mpi.sh build
    fi
}

# Prints the path of a program, or fails.
find_program() {
    local folder
    for folder in "${folders[@]}"; do
        if [ -x "$folder/$1" ]; then
            echo "$folder/$1"
            return
        fi
    done
    return 1
}

# Copies files without their symbols into a folder. Usage: put FOLDER FILE...
put() {
    local folder="$1" file
    shift
    mkdir -p "$folder"
    for file in "$@"; do
        strip --strip-unneeded -o "$folder/$(basename "$file")" "$file"
        chmod 755 "$folder/$(basename "$file")"
    done
}

# The newest symbol version of glibc that a file asks for.
glibc_of() {
    readelf --version-info --wide "$@" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//'
}

# The packages that files need: those of their libraries, and glibc as old as they allow.
libraries_of() {
    local name path
    echo "libc6 (>= $(glibc_of "$@"))"
    readelf --dynamic --wide "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r name; do
        case "$name" in
            libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libutil.so.1 | ld-linux*) continue ;;
        esac
        path=$(ldconfig -p | sed -n "s/^\t$name .*=> //p" | head -n 1)
        { dpkg-query --search "$path" "$(realpath "$path")" 2>/dev/null || true; } | head -n 1 | sed 's/[:,].*//'
    done | sort -u
}

# What people read: pages of the manual and completions, made by the program itself. Usage: documents FOREMOST ROOT
documents() {
    local program="$1" root="$2"
    mkdir -p "$root"/share/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
    "$program" man "$root/share/man/man1" >/dev/null
    gzip -9n "$root"/share/man/man1/*
    "$program" completions bash >"$root/share/bash-completion/completions/foretop"
    "$program" completions zsh >"$root/share/zsh/vendor-completions/_foretop"
    "$program" completions fish >"$root/share/fish/vendor_completions.d/foretop.fish"
}

# Whose work it is, and on what terms.
copyright() {
    echo "Foretop is under the MIT licence or the Apache licence 2.0, as you like. Both follow."
    printf '\n%s\n\n' "------------------------------------------------------------------------"
    cat LICENSE-MIT
    printf '\n%s\n\n' "------------------------------------------------------------------------"
    cat LICENSE-APACHE
}

# Files of one package that are no programs. Usage: add_files PACKAGE ROOT
add_files() {
    local flavour doc="$2/usr/share/doc"
    mkdir -p "$doc"
    if [ "$1" = foretop ]; then
        documents "$(find_program foretop)" "$2/usr"
        mkdir -p "$doc/foretop" "$2/usr/lib/systemd/system"
        copyright >"$doc/foretop/copyright"
        gzip -9nc CHANGELOG.md >"$doc/foretop/changelog.gz"
        # A user of its own in the place of a dynamic one: the store keeps its owner, and others can be put into the user's group.
        sed 's|/usr/local/bin|/usr/bin|; s|^DynamicUser=yes|User=foretop|' packaging/foretop.service >"$2/usr/lib/systemd/system/foretop.service"
        cp packaging/debian/{postinst,prerm,postrm} "$2/DEBIAN/"
        chmod 755 "$2"/DEBIAN/p*
    else
        ln -s foretop "$doc/$1"
    fi
    if [ "$1" = foretop-mpi ]; then
        for flavour in openmpi mpich; do
            put "$2/usr/lib/foretop/$flavour" "$mpi/$flavour"/foretop-*
        done
        put "$2/usr/lib/foretop" "$mpi"/lib*.so
        cp -a "$mpi/sim" "$2/usr/lib/foretop/"
        mkdir -p "$2/usr/include"
        cp include/foretop_condar.* "$2/usr/include/"
    fi
    if [ "$1" = foretop-kernel ]; then
        mkdir -p "$2/usr/include"
        cp include/foretop_kernel.h "$2/usr/include/"
        put "$2/usr/lib" "$(find_program libkernel_link.so)"
    fi
}

# Usage: make_deb PACKAGE DESCRIPTION PROGRAM...
make_deb() {
    local package="$1" description="$2" root="$scratch/$1" architecture depends
    shift 2
    architecture=$(dpkg --print-architecture)
    mkdir -p "$root/DEBIAN"
    chmod 755 "$root"
    [ $# -eq 0 ] || put "$root/usr/bin" "$@"
    add_files "$package" "$root"
    case "$package" in
        foretop) depends="$(libraries_of "$root"/usr/bin/* | paste -sd, | sed 's/,/, /g'), passwd" ;;
        # What runs under MPI is there for both libraries, and needs one of them.
        foretop-mpi) depends="foretop-tools (= $version)" ;;
        *) depends="$(libraries_of "$root"/usr/bin/* | paste -sd, | sed 's/,/, /g'), foretop (= $version)" ;;
    esac
    {
        echo "Package: $package"
        echo "Version: $version"
        echo "Architecture: $architecture"
        echo "Maintainer: the authors of Foretop"
        echo "Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)"
        echo "Depends: $depends"
        [ "$package" != foretop-mpi ] || echo "Recommends: openmpi-bin | mpich"
        echo "Section: utils"
        echo "Priority: optional"
        echo "Description: $description"
    } >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
    dpkg-deb --root-owner-group "${compression[@]}" --build "$root" "$out/${package}_${version}_$architecture.deb" >/dev/null
    made "$out/${package}_${version}_$architecture.deb"
}

make_debs() {
    local package programs description name path paths
    while IFS='|' read -r package programs description; do
        [ -n "$package" ] || continue
        read -r package <<<"$package"
        [ -z "$only" ] || [ "$only" = "$package" ] || continue
        read -r description <<<"$description"
        # Packed only after a build: `--from` names a folder of programs that do without MPI.
        [ "$package" != foretop-mpi ] || [ -z "$from" ] || continue
        paths=()
        for name in $programs; do
            if path=$(find_program "$name"); then
                paths+=("$path")
            else
                # All programs are there after a build, or something is wrong.
                echo "no $package: there is no $name in ${folders[*]}" >&2
                [ -n "$from" ] || exit 1
                continue 2
            fi
        done
        make_deb "$package" "$description" "${paths[@]}"
    done <<<"$table"
}

make_tar() {
    local name="foretop-$version-linux-x86_64" root needed programs program path
    root="$scratch/$name"
    read -ra programs -d '' < <(cut -d'|' -f2 -s <<<"$table") || true
    for program in "${programs[@]}"; do
        # The programs of MPI and the kernel depend on libraries of this machine.
        if path=$(find_program "$program") && [ "$path" != "$CARGO_TARGET_DIR/dist/$program" ]; then
            put "$root/bin" "$path"
        fi
    done
    needed=$(glibc_of "$root"/bin/*)
    if [ "$(printf '%s\n' "$needed" "$glibc" | sort -V | tail -n 1)" != "$glibc" ]; then
        echo "the programs need glibc $needed, and a tarball is for $glibc: make it without --from" >&2
        exit 1
    fi
    documents "$root/bin/foretop" "$root"
    cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE packaging/foretop.service "$root/"
    tar --create --directory "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name" | xz -T0 >"$out/$name.tar.xz"
    made "$out/$name.tar.xz"
}

make_wheel() {
    local folder="$scratch/wheel"
    scripts/python-venv.sh packaging/requirements.txt
    PATH="$PWD/.venv/bin:$PATH" maturin build --zig --profile dist --locked --target "$target" --compatibility "manylinux_${glibc/./_}" --manifest-path python/Cargo.toml --out "$folder"
    scripts/add-program-to-wheel.sh "$folder"/*.whl "$(find_program foretop)" "$out"
    made "$out"/foretop-*.whl
}

made() {
    printf '%8d kB  %s\n' "$(($(stat -c %s "$1") / 1024))" "$1"
}

if [ -n "$from" ]; then
    scripts/install-system-packages.sh dpkg-deb strip readelf
else
    build
fi
for kind in "${kinds[@]}"; do
    case "$kind" in
        deb) make_debs ;;
        tar) make_tar ;;
        wheel) make_wheel ;;
    esac
done
