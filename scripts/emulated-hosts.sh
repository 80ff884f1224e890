#!/usr/bin/env bash
# Several hosts on one machine, for MPI programs that are to cross a network: each has a name, a network, shared memory and mounts of its
# own. They hang on one bridge, by links of a stated rate (HTB). Needs root; the machine's own network is not touched.
#
# Usage: scripts/emulated-hosts.sh up N [RATE]     hosts h0 to hN-1; RATE as tc has it [default: 1gbit]
#        scripts/emulated-hosts.sh exec HOST -- COMMAND...
#        scripts/emulated-hosts.sh HOST COMMAND...     the same as a remote shell, for launchers
#        scripts/emulated-hosts.sh down
# With Open MPI: scripts/emulated-hosts.sh exec h0 -- mpiexec.openmpi --mca plm_rsh_agent "$PWD/scripts/emulated-hosts.sh" --host h0,h1 ...
# With MPICH:    scripts/emulated-hosts.sh exec h0 -- mpiexec.mpich -launcher ssh -launcher-exec "$PWD/scripts/emulated-hosts.sh" -hosts h0,h1 ...
set -euo pipefail

state=/run/foretop-emulated-hosts
bridge=fh-bridge
# Of the range that RFC 2544 sets aside for measurements.
net=198.18.77

fail() {
    echo "$0: $*" >&2
    exit 2
}

pid_of() {
    local pid
    pid=$(cat "$state/$1" 2>/dev/null || true)
    if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
        fail "no emulated host \`$1\`; \`$0 up N\` makes h0 to hN-1"
    fi
    echo "$pid"
}

up() {
    local n="${1:-}" rate="${2:-1gbit}" host pid at
    [[ "$n" =~ ^[0-9]+$ && "$n" -ge 1 && "$n" -le 64 ]] || fail "\`$n\` is not a number of hosts from 1 to 64"
    [ "$(id -u)" -eq 0 ] || fail "making hosts needs root"
    down
    mkdir -p "$state"
    ip link add "$bridge" type bridge
    ip link set "$bridge" up
    echo "127.0.0.1 localhost" >"$state/hosts-file"
    for ((at = 0; at < n; at++)); do
        echo "$net.$((at + 1)) h$at" >>"$state/hosts-file"
    done
    for ((at = 0; at < n; at++)); do
        host=h$at
        # The host lives as long as this process.
        unshare --mount --uts --net --propagation private bash -c "
            hostname $host
            mount -t tmpfs -o size=256m,mode=1777 tmpfs /dev/shm
            mount --bind $state/hosts-file /etc/hosts
            ip link set lo up
            echo \$\$ >$state/$host.new && mv $state/$host.new $state/$host
            exec sleep infinity
        " </dev/null >/dev/null 2>&1 &
        disown
        until [ -e "$state/$host" ]; do read -rt 0.01 <> <(:) || true; done
        pid=$(cat "$state/$host")
        ip link add "fh-$at" type veth peer name eth0 netns "$pid"
        ip link set "fh-$at" master "$bridge" up
        limit "$rate" tc qdisc add dev "fh-$at"
        nsenter -t "$pid" -n ip addr add "$net.$((at + 1))/24" dev eth0
        nsenter -t "$pid" -n ip link set eth0 up
        limit "$rate" nsenter -t "$pid" -n tc qdisc add dev eth0
    done
}

# Usage: limit RATE COMMAND..., where the command adds a queueing discipline to a device. Both directions of a link are limited where they start.
limit() {
    local rate="$1"
    shift
    "$@" root handle 1: htb default 1 r2q 1000
    "${@/qdisc/class}" parent 1: classid 1:1 htb rate "$rate" quantum 60000 burst 64k cburst 64k
}

down() {
    local file
    [ -d "$state" ] || return 0
    for file in "$state"/h[0-9]*; do
        [ ! -e "$file" ] || kill "$(cat "$file")" 2>/dev/null || true
    done
    for file in /sys/class/net/fh-[0-9]*; do
        [ ! -e "$file" ] || ip link del "${file##*/}" 2>/dev/null || true
    done
    ip link del "$bridge" 2>/dev/null || true
    rm -rf "$state"
}

enter() {
    local pid host="$1"
    shift
    pid=$(pid_of "$host")
    exec nsenter -t "$pid" -m -u -n --wd="$PWD" "$@"
}

case "${1:-}" in
    up | down) "$@" ;;
    exec)
        if [ "${3:-}" != -- ] || [ $# -le 3 ]; then
            fail "exec needs HOST -- COMMAND"
        fi
        enter "$2" "${@:4}"
        ;;
    h[0-9]*)
        host="$1"
        shift
        # A launcher hands over one line for a shell, as to ssh.
        enter "$host" bash -c "$*"
        ;;
    -x) # MPICH asks ssh to forward nothing.
        shift
        exec "$0" "$@"
        ;;
    *) fail "usage: up N [RATE] | exec HOST -- COMMAND... | HOST COMMAND... | down" ;;
esac
