//! The way by which this host reaches an address, from its kernel's own files, read from a root path.
//!
//! Only the main routing table is in `/proc/net/route`: a host that routes by rules or by source address needs an agent
//! of its own, or paths that are given.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    path::Path,
};

use sensor::file::{KernelFile, fields, lines};

use super::{SnmpError, route::network};

/// `RTF_UP` and `RTF_REJECT` of `linux/route.h`.
const FLAG_UP: u64 = 1;
const FLAG_REJECT: u64 = 0x200;

/// A hardware address.
pub(crate) type Mac = [u8; 6];

/// Any port: nothing is sent to it.
const DISCARD: u16 = 9;

/// The way by which this host reaches an address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The interface that it leaves by.
    pub(crate) interface: String,
    /// The next router; none if the address is on a network of the interface.
    pub(crate) gateway: Option<IpAddr>,
}

/// The address that this host has on its way to `destination`, if there is one. Sends nothing.
pub(crate) fn own_address(destination: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = if destination.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Makes the kernel choose the address; a datagram socket has nothing to send for that.
    socket.connect((destination, DISCARD)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The way from this host to `destination`.
pub(crate) fn way(root: &Path, destination: IpAddr) -> Result<Way, SnmpError> {
    let (name, entry) = match destination {
        IpAddr::V4(_) => ("proc/net/route", ipv4_entry as EntryOf),
        IpAddr::V6(_) => ("proc/net/ipv6_route", ipv6_entry as EntryOf),
    };
    let mut text = Vec::new();
    let text =
        KernelFile::at(root.join(name)).read(&mut text).map_err(|source| SnmpError::Host { destination, source })?;
    // The heading of the table is no entry, and neither is anything else that cannot be understood.
    let entries = lines(text).filter_map(entry).filter(|entry| entry.leads_to(destination));
    let best = entries.min_by_key(|entry| (u32::MAX - entry.n_bits, entry.metric));
    best.map(|entry| entry.way).ok_or(SnmpError::NoRouteHere { destination })
}

/// A function that returns the entry in a line, if the line can be understood.
type EntryOf = fn(&[u8]) -> Option<Entry>;

/// A line of a routing table.
struct Entry {
    network: IpAddr,
    n_bits: u32,
    metric: u64,
    way: Way,
}

impl Entry {
    fn leads_to(&self, destination: IpAddr) -> bool {
        network(destination, self.n_bits) == self.network
    }

    fn new(interface: &[u8], flags: u64, metric: u64, network: IpAddr, n_bits: u32, gateway: IpAddr) -> Option<Entry> {
        let interface = String::from_utf8(interface.to_vec()).ok()?;
        let gateway = Some(gateway).filter(|gateway| !gateway.is_unspecified());
        let is_used = flags & (FLAG_UP | FLAG_REJECT) == FLAG_UP;
        is_used.then_some(Entry { network, n_bits, metric, way: Way { interface, gateway } })
    }
}

/// A line of `/proc/net/route`: interface, destination, gateway, flags, two counts, metric, mask, and more. Addresses
/// are in the byte order of the host.
fn ipv4_entry(line: &[u8]) -> Option<Entry> {
    let all: Vec<&[u8]> = fields(line).collect();
    let address = |field: &[u8]| Some(Ipv4Addr::from((hex(field)? as u32).to_ne_bytes()));
    let [interface, network, gateway, flags, _, _, metric, mask, ..] = all[..] else {
        return None;
    };
    let metric = std::str::from_utf8(metric).ok()?.parse().ok()?;
    let n_bits = address(mask)?.to_bits().leading_ones();
    Entry::new(interface, hex(flags)?, metric, address(network)?.into(), n_bits, address(gateway)?.into())
}

/// A line of `/proc/net/ipv6_route`: destination, its length, source, its length, next hop, metric, two counts, flags,
/// interface.
fn ipv6_entry(line: &[u8]) -> Option<Entry> {
    let all: Vec<&[u8]> = fields(line).collect();
    let address =
        |field: &[u8]| Some(Ipv6Addr::from_bits(u128::from_str_radix(std::str::from_utf8(field).ok()?, 16).ok()?));
    let [network, n_bits, _, _, gateway, metric, _, _, flags, interface] = all[..] else {
        return None;
    };
    let n_bits = u32::try_from(hex(n_bits)?).ok().filter(|&n_bits| n_bits <= 128)?;
    Entry::new(interface, hex(flags)?, hex(metric)?, address(network)?.into(), n_bits, address(gateway)?.into())
}

fn hex(field: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(field).ok()?, 16).ok()
}

/// The hardware address of an interface of this host.
pub(crate) fn own_mac(root: &Path, interface: &str) -> Option<Mac> {
    let mut text = Vec::new();
    let file = KernelFile::at(root.join("sys/class/net").join(interface).join("address"));
    mac(file.read(&mut text).ok()?.trim_ascii_end())
}

/// The hardware address that this host has found out for a neighbour. IPv4 only: the kernel has no file for the others.
pub(crate) fn neighbour_mac(root: &Path, neighbour: IpAddr) -> Option<Mac> {
    let mut text = Vec::new();
    let text = KernelFile::at(root.join("proc/net/arp")).read(&mut text).ok()?;
    let wanted = neighbour.to_string();
    let line = lines(text).find(|line| fields(line).next() == Some(wanted.as_bytes()))?;
    mac(fields(line).nth(3)?).filter(|mac| *mac != [0; 6])
}

/// Six octets in hexadecimal with colons between them.
fn mac(text: &[u8]) -> Option<Mac> {
    let octets = text.split(|&byte| byte == b':').map(|octet| u8::try_from(hex(octet)?).ok());
    octets.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ROUTE: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        wlan0\t00000000\t016433C6\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
        eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        eth1\t006433C6\t4D0200C0\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        *\t0000000A\t00000000\t0201\t0\t0\t0\t000000FF\t0\t0\t0\n";

    const IPV6_ROUTE: &str = "\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n\
        20010db8000000000000000000000000 20 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n";

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[track_caller]
    fn check_way(destination: &str, interface: &str, gateway: Option<&str>) {
        let root = root(&[("proc/net/route", ROUTE), ("proc/net/ipv6_route", IPV6_ROUTE)]);
        let gateway = gateway.map(|gateway| gateway.parse().unwrap());
        let expected = Way { interface: interface.to_owned(), gateway };
        assert_eq!(way(root.path(), destination.parse().unwrap()).unwrap(), expected);
    }

    #[test]
    fn the_longest_prefix_leads_and_then_the_least_metric() {
        check_way("192.0.2.9", "eth0", None);
        check_way("198.51.100.7", "eth1", Some("192.0.2.77"));
        check_way("203.0.113.5", "eth0", Some("192.0.2.1"));
        check_way("2001:db8::5", "eth1", None);
        check_way("2001:db9::5", "eth0", Some("fe80::1"));
    }

    #[test]
    fn a_host_without_a_route_says_so() {
        let root = root(&[("proc/net/route", ROUTE.lines().next().unwrap())]);
        let error = way(root.path(), "192.0.2.9".parse().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "this host has no route to 192.0.2.9");
    }

    #[test]
    fn hardware_addresses_are_read_from_the_kernels_files() {
        let arp = "IP address       HW type     Flags       HW address            Mask     Device\n\
                   192.0.2.1        0x1         0x2         02:fc:00:00:00:05     *        eth0\n\
                   192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0\n";
        let root = root(&[("proc/net/arp", arp), ("sys/class/net/eth0/address", "02:fc:00:00:00:01\n")]);
        assert_eq!(own_mac(root.path(), "eth0"), Some([2, 0xfc, 0, 0, 0, 1]));
        assert_eq!(neighbour_mac(root.path(), "192.0.2.1".parse().unwrap()), Some([2, 0xfc, 0, 0, 0, 5]));
        assert_eq!(neighbour_mac(root.path(), "192.0.2.2".parse().unwrap()), None);
        assert_eq!(neighbour_mac(root.path(), "192.0.2.3".parse().unwrap()), None);
    }
}
