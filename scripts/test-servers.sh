# shellcheck shell=bash
# Sourced: exports where the servers are that tests start, and sets `server_modules` to the modules of those tests.
# Without namespaces of the user's own, an unpacked Alertmanager does not find its files in /usr/share, and its module is left out.

FORETOP_TEST_PROMETHEUS=$(scripts/unpack-package.sh prometheus)
FORETOP_TEST_NATS_SERVER=$(scripts/unpack-package.sh nats-server)
FORETOP_TEST_NODE_EXPORTER=$(scripts/unpack-package.sh prometheus-node-exporter)
FORETOP_TEST_ALERTMANAGER=$(scripts/unpack-package.sh prometheus-alertmanager)
FORETOP_TEST_SNMPD=$(PATH="$PATH:/usr/sbin" type -P snmpd)
export FORETOP_TEST_PROMETHEUS FORETOP_TEST_ALERTMANAGER FORETOP_TEST_NATS_SERVER FORETOP_TEST_NODE_EXPORTER FORETOP_TEST_SNMPD

server_modules=(prometheus:: nats:: node_exporter:: snmpd:: tools::)
if type -P prometheus-alertmanager >/dev/null || unshare --user --map-root-user --mount true 2>/dev/null; then
    server_modules+=(alertmanager::)
fi
