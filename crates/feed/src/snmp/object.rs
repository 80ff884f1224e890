//! The objects that are asked for, by their numbers in the MIBs.

use async_snmp::Oid;

/// `sysUpTime.0` of SNMPv2-MIB: hundredths of a second since the agent started.
pub(crate) const UPTIME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 3, 0];
/// `snmpEngineBoots.0` of SNMP-FRAMEWORK-MIB: how many times the agent has started.
pub(crate) const ENGINE_BOOTS: &[u32] = &[1, 3, 6, 1, 6, 3, 10, 2, 1, 2, 0];

/// Columns of `ifTable`, IF-MIB (RFC 2863), by ifIndex.
pub(crate) const IF_DESCR: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2];
pub(crate) const IF_SPEED: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 5];
pub(crate) const IF_PHYS_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 6];
pub(crate) const IF_OPER_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 8];
pub(crate) const IF_IN_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 10];
pub(crate) const IF_OUT_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 16];

/// Columns of `ifXTable`, IF-MIB (RFC 2863), by ifIndex.
pub(crate) const IF_NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
pub(crate) const IF_HC_IN_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6];
pub(crate) const IF_HC_OUT_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 10];
pub(crate) const IF_HIGH_SPEED: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 15];
pub(crate) const IF_COUNTER_DISCONTINUITY_TIME: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 19];

/// `ipAdEntIfIndex` of RFC1213-MIB, by IPv4 address.
pub(crate) const IP_AD_ENT_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 20, 1, 2];
/// `ipAddressIfIndex` of IP-MIB (RFC 4293), by type, length and octets of the address.
pub(crate) const IP_ADDRESS_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 34, 1, 3];
/// `ipNetToMediaPhysAddress` of RFC1213-MIB, by ifIndex and IPv4 address.
pub(crate) const IP_NET_TO_MEDIA_PHYS_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 22, 1, 2];
/// `ipNetToPhysicalPhysAddress` of IP-MIB (RFC 4293), by ifIndex, type, length and octets of the address.
pub(crate) const IP_NET_TO_PHYSICAL_PHYS_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 35, 1, 4];

/// Columns of `ipRouteTable`, RFC1213-MIB, by destination.
pub(crate) const IP_ROUTE_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 21, 1, 2];
pub(crate) const IP_ROUTE_NEXT_HOP: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 21, 1, 7];
pub(crate) const IP_ROUTE_TYPE: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 21, 1, 8];
pub(crate) const IP_ROUTE_MASK: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 21, 1, 11];
/// `ipCidrRouteIfIndex` of IP-FORWARD-MIB (RFC 2096), by destination, mask, type of service and next hop.
pub(crate) const IP_CIDR_ROUTE_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 24, 4, 1, 5];
/// `inetCidrRouteIfIndex` of IP-FORWARD-MIB (RFC 4292), by destination, length of prefix, policy and next hop.
pub(crate) const INET_CIDR_ROUTE_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 24, 7, 1, 7];

/// `dot1dBasePortIfIndex` of BRIDGE-MIB (RFC 4188), by port.
pub(crate) const BRIDGE_PORT_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 1, 4, 1, 2];
/// `dot1dTpFdbPort` of BRIDGE-MIB (RFC 4188), by hardware address.
pub(crate) const BRIDGE_FDB_PORT: &[u32] = &[1, 3, 6, 1, 2, 1, 17, 4, 3, 1, 2];

/// The instance of `column` with `index`.
pub(crate) fn instance(column: &[u32], index: impl IntoIterator<Item = u32>) -> Oid {
    Oid::new(column.iter().copied().chain(index))
}
