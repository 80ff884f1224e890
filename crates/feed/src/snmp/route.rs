//! The route that an agent takes to a destination, asked for without reading its table.
//!
//! The tables are ordered by destination and length of prefix, so what comes after "the destination cut to n bits, n"
//! is the route with that prefix if there is one. Asking for all n at once finds the longest, however long the table
//! is. Of several routes with one prefix the first is taken, and policies are not looked at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use async_snmp::{Oid, Value};

use super::{
    SnmpError,
    object::{self, instance},
    session::Session,
};

/// The number of prefixes to ask for at once: their answers together stay below what Ethernet carries in one piece.
const N_PREFIXES: usize = 20;

/// `ipRouteType`: the destination is on a network of the router's own.
const ROUTE_DIRECT: i32 = 3;

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The interface that it leaves by.
    pub(crate) if_index: u32,
    /// The next router; none if the destination is on a network of the interface.
    pub(crate) gateway: Option<IpAddr>,
}

/// The type, the length and the octets of an address, as `InetAddressType` and `InetAddress` index a table.
pub(crate) fn typed(address: IpAddr) -> Vec<u32> {
    let octets = octets(address);
    let kind = if address.is_ipv4() { 1 } else { 2 };
    [kind, octets.len() as u32].into_iter().chain(octets).collect()
}

/// The octets of an address, as `IpAddress` indexes a table.
pub(crate) fn octets(address: IpAddr) -> Vec<u32> {
    match address {
        IpAddr::V4(address) => address.octets().map(u32::from).into(),
        IpAddr::V6(address) => address.octets().map(u32::from).into(),
    }
}

/// `address` with all bits after the first `n_bits` cleared.
pub(crate) fn network(address: IpAddr, n_bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & mask(n_bits)).into(),
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - n_bits).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

fn mask(n_bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - n_bits).unwrap_or(0)
}

/// Returns the number of bits of an address.
fn n_bits_of(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl Session {
    /// The route that the agent takes to `destination`, by whichever of the three tables it keeps.
    pub(crate) async fn route(&self, destination: IpAddr) -> Result<Option<Route>, SnmpError> {
        let inet = |n_bits| {
            let network = network(destination, n_bits);
            instance(object::INET_CIDR_ROUTE_IF_INDEX, typed(network).into_iter().chain([n_bits]))
        };
        if let Some(route) = self.longest(n_bits_of(destination), inet, inet_gateway).await? {
            return Ok(Some(route));
        }
        let IpAddr::V4(destination) = destination else {
            return Ok(None);
        };
        let cidr = |n_bits| {
            let index = octets(network(destination.into(), n_bits)).into_iter();
            let mask = octets(Ipv4Addr::from_bits(mask(n_bits)).into());
            instance(object::IP_CIDR_ROUTE_IF_INDEX, index.chain(mask).chain([0]))
        };
        match self.longest(32, cidr, ipv4).await? {
            Some(route) => Ok(Some(route)),
            None => self.oldest_table(destination).await,
        }
    }

    /// The route whose index continues the longest of `prefixes` that has one.
    async fn longest(
        &self,
        n_bits_max: u32,
        prefix: impl Fn(u32) -> Oid,
        gateway: fn(&[u32]) -> Option<IpAddr>,
    ) -> Result<Option<Route>, SnmpError> {
        let prefixes: Vec<Oid> = (0..=n_bits_max).rev().map(prefix).collect();
        for some in prefixes.chunks(N_PREFIXES) {
            let found = self.get_next(some).await?;
            for (prefix, row) in some.iter().zip(found) {
                let (Some(rest), Some(if_index)) = (row.oid.strip_prefix(prefix), number(&row.value)) else {
                    continue;
                };
                let gateway = gateway(rest.arcs()).filter(|gateway| !gateway.is_unspecified());
                return Ok(Some(Route { if_index, gateway }));
            }
        }
        Ok(None)
    }

    /// The route by `ipRouteTable`, which has one for each destination and its mask beside it.
    async fn oldest_table(&self, destination: Ipv4Addr) -> Result<Option<Route>, SnmpError> {
        let row = |column, n_bits| instance(column, octets(network(destination.into(), n_bits)));
        let masks: Vec<Oid> = (0..=32).rev().map(|n_bits| row(object::IP_ROUTE_MASK, n_bits)).collect();
        let masks = self.get(&masks).await?;
        let fits = |(n_bits, said): &(u32, Value)| *said == Value::IpAddress(mask(*n_bits).to_be_bytes());
        let Some((n_bits, _)) = (0..=32).rev().zip(masks).find(fits) else {
            return Ok(None);
        };
        let columns = [object::IP_ROUTE_IF_INDEX, object::IP_ROUTE_NEXT_HOP, object::IP_ROUTE_TYPE];
        let said = self.get(&columns.map(|column| row(column, n_bits))).await?;
        let is_direct = said[2].as_i32() == Some(ROUTE_DIRECT);
        let gateway = said[1].as_ip().filter(|gateway| !is_direct && !gateway.is_unspecified());
        Ok(number(&said[0]).map(|if_index| Route { if_index, gateway: gateway.map(IpAddr::V4) }))
    }

    /// The interface that has `address`, if it is one of the agent's.
    pub(crate) async fn interface_of(&self, address: IpAddr) -> Result<Option<u32>, SnmpError> {
        let mut objects = vec![instance(object::IP_ADDRESS_IF_INDEX, typed(address))];
        if address.is_ipv4() {
            objects.push(instance(object::IP_AD_ENT_IF_INDEX, octets(address)));
        }
        Ok(self.get(&objects).await?.iter().find_map(number))
    }
}

/// A number of an interface, which is greater than 0.
pub(crate) fn number(value: &Value) -> Option<u32> {
    value.as_i32().and_then(|number| u32::try_from(number).ok()).filter(|&number| number > 0)
}

/// The next hop in what follows the prefix in an index of `inetCidrRouteTable`: after the policy, which is an object
/// identifier with its length, the type, the length and the octets of the address.
fn inet_gateway(rest: &[u32]) -> Option<IpAddr> {
    let n_policy = usize::try_from(*rest.first()?).ok()?;
    match rest.get(n_policy.checked_add(1)?..)? {
        [1, 4, address @ ..] => ipv4(address),
        [2, 16, address @ ..] => {
            let octets: Vec<u8> = address.iter().map_while(|&arc| u8::try_from(arc).ok()).collect();
            Some(IpAddr::from(<[u8; 16]>::try_from(octets).ok()?))
        }
        _ => None,
    }
}

fn ipv4(arcs: &[u32]) -> Option<IpAddr> {
    let octets: Vec<u8> = arcs.iter().map_while(|&arc| u8::try_from(arc).ok()).collect();
    Some(IpAddr::from(<[u8; 4]>::try_from(octets).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_network(address: &str, n_bits: u32, expected: &str) {
        assert_eq!(network(address.parse().unwrap(), n_bits), expected.parse::<IpAddr>().unwrap());
    }

    #[test]
    fn a_network_keeps_the_first_bits_of_an_address() {
        check_network("192.0.2.77", 32, "192.0.2.77");
        check_network("192.0.2.77", 26, "192.0.2.64");
        check_network("192.0.2.77", 0, "0.0.0.0");
        check_network("2001:db8::77", 128, "2001:db8::77");
        check_network("2001:db8::77", 32, "2001:db8::");
        check_network("2001:db8::77", 0, "::");
    }

    #[test]
    fn a_next_hop_stands_after_a_policy_of_any_length() {
        assert_eq!(inet_gateway(&[2, 0, 0, 1, 4, 192, 0, 2, 1]), Some(Ipv4Addr::new(192, 0, 2, 1).into()));
        assert_eq!(inet_gateway(&[0, 1, 4, 192, 0, 2, 1]), Some(Ipv4Addr::new(192, 0, 2, 1).into()));
    }

    #[test]
    fn an_index_that_breaks_off_or_goes_beyond_an_octet_has_no_next_hop() {
        for rest in [&[][..], &[u32::MAX], &[2, 0], &[0, 1, 4, 192, 0, 2], &[0, 1, 4, 192, 0, 2, 256], &[0, 3, 1, 1]] {
            assert_eq!(inet_gateway(rest), None, "{rest:?}");
        }
    }
}
