//! Finds the links that a flow goes over, by the routes, addresses and forwarding tables that agents and this host
//! have.
//!
//! From where the flow starts, the route says the interface that it leaves by and the next router; the agent that has
//! the router's address goes on from there, until an address is the destination's. Between two of them, a bridge is on
//! the way if it has learnt the hardware addresses of both at different ports. A flow gets the least of all links, so
//! the order of bridges need not be known.

use std::{net::IpAddr, path::Path, time::Duration};

use async_snmp::Value;

use super::{
    Direction, Interface, SnmpError,
    agent::Agent,
    host::{self, Mac},
    object::{self, instance},
    route::{Route, number, octets, typed},
    session::Session,
};

/// The most routers that a way may have. More than there are on a way through a site.
const N_ROUTERS_MAX: usize = 32;

/// An interface that a flow goes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) agent_idx: usize,
    pub(crate) if_index: u32,
    pub(crate) direction: Direction,
    /// The agent's name of the interface.
    pub(crate) name: String,
}

impl Leg {
    pub(crate) fn interface(&self) -> Interface {
        Interface::Numbered(self.if_index)
    }
}

/// A flow whose way is looked for.
pub(crate) struct Search<'a> {
    pub(crate) flow: &'a str,
    pub(crate) source: Option<IpAddr>,
    pub(crate) destination: IpAddr,
    pub(crate) root: &'a Path,
}

/// One of the agents that can be asked.
struct Known {
    agent_idx: usize,
    session: Session,
    name: String,
}

/// The place of the flow on its way.
#[derive(Clone, Copy)]
enum Place {
    /// This host, which has no agent.
    Here,
    /// One of the known agents.
    At(usize),
}

/// The interface by which the flow leaves a place, and the hardware addresses at both ends of what is between it and
/// the next.
struct Exit {
    if_index: Option<u32>,
    gateway: Option<IpAddr>,
    own_mac: Option<Mac>,
    next_mac: Option<Mac>,
}

impl Search<'_> {
    /// The links of the flow's way. Agents that cannot be asked are taken for not there.
    pub(crate) async fn run(&self, agents: &mut [Agent], at: Duration) -> Result<Vec<Leg>, SnmpError> {
        let mut known = Vec::new();
        for (agent_idx, agent) in agents.iter_mut().enumerate() {
            if agent.is_paused(at) {
                continue;
            }
            let name = agent.settings.name.clone();
            // One that fails here says why at its read.
            if let Ok(session) = agent.session().await {
                known.push(Known { agent_idx, session, name });
            }
        }
        let legs = self.follow(&known).await?;
        if legs.is_empty() {
            return Err(SnmpError::NoLinks { flow: self.flow.to_owned() });
        }
        name_all(legs, &known).await
    }

    async fn follow(&self, known: &[Known]) -> Result<Vec<Leg>, SnmpError> {
        let mut legs = Vec::new();
        let mut place = self.start(known).await?;
        for _ in 0..N_ROUTERS_MAX {
            if let Place::At(idx) = place
                && let Some(if_index) = known[idx].session.interface_of(self.destination).await?
            {
                // Both ends are on one host: its loopback, if that is what they name, and no link otherwise.
                if self.destination.is_loopback() {
                    legs.push(leg(&known[idx], if_index, Direction::Sent));
                }
                return Ok(legs);
            }
            let exit = self.exit(place, known).await?;
            let next = exit.gateway.unwrap_or(self.destination);
            if let (Place::At(idx), Some(if_index)) = (place, exit.if_index) {
                legs.push(leg(&known[idx], if_index, Direction::Sent));
            }
            let entry = owner(known, next).await;
            let next_mac = match (&entry, exit.next_mac) {
                (Some((idx, if_index)), None) => mac_of(&known[*idx].session, *if_index).await,
                (_, mac) => mac,
            };
            if let (Some(from), Some(to)) = (exit.own_mac, next_mac) {
                legs.extend(bridges(known, from, to).await);
            }
            match entry {
                Some((idx, if_index)) => {
                    legs.push(leg(&known[idx], if_index, Direction::Received));
                    place = Place::At(idx);
                }
                None if next == self.destination => return Ok(legs),
                None => return Err(SnmpError::Lost { flow: self.flow.to_owned(), hop: next }),
            }
            if next == self.destination {
                return Ok(legs);
            }
        }
        Err(SnmpError::TooFar { flow: self.flow.to_owned(), limit: N_ROUTERS_MAX })
    }

    /// Returns the place where the flow comes from.
    async fn start(&self, known: &[Known]) -> Result<Place, SnmpError> {
        let destination = self.destination;
        let address = match self.source {
            Some(address) => address,
            None => host::own_address(destination).ok_or(SnmpError::NoRouteHere { destination })?,
        };
        match (owner(known, address).await, self.source) {
            (Some((idx, _)), _) => Ok(Place::At(idx)),
            (None, None) => Ok(Place::Here),
            (None, Some(address)) => Err(SnmpError::NoSource { flow: self.flow.to_owned(), address }),
        }
    }

    /// Returns the exit by which the flow leaves `place`.
    async fn exit(&self, place: Place, known: &[Known]) -> Result<Exit, SnmpError> {
        let Place::At(idx) = place else {
            let way = host::way(self.root, self.destination)?;
            let own_mac = host::own_mac(self.root, &way.interface);
            let next_mac = host::neighbour_mac(self.root, way.gateway.unwrap_or(self.destination));
            return Ok(Exit { if_index: None, gateway: way.gateway, own_mac, next_mac });
        };
        let Known { session, name, .. } = &known[idx];
        let Some(Route { if_index, gateway }) = session.route(self.destination).await? else {
            return Err(SnmpError::NoRoute { agent: name.clone(), destination: self.destination });
        };
        // Some agents name an address of their own as the way to a network of their own.
        let gateway = match gateway {
            Some(gateway) if session.interface_of(gateway).await?.is_some() => None,
            gateway => gateway,
        };
        let own_mac = mac_of(session, if_index).await;
        let next_mac = neighbour_mac(session, if_index, gateway.unwrap_or(self.destination)).await;
        Ok(Exit { if_index: Some(if_index), gateway, own_mac, next_mac })
    }
}

fn leg(known: &Known, if_index: u32, direction: Direction) -> Leg {
    Leg { agent_idx: known.agent_idx, if_index, direction, name: String::new() }
}

/// The first agent that has `address`, and the interface that has it there. Every agent has the loopback addresses, so
/// those are taken for this host's, which is asked by one of them.
async fn owner(known: &[Known], address: IpAddr) -> Option<(usize, u32)> {
    for (idx, Known { session, .. }) in known.iter().enumerate() {
        if address.is_loopback() && !session.address().is_loopback() {
            continue;
        }
        if let Ok(Some(if_index)) = session.interface_of(address).await {
            return Some((idx, if_index));
        }
    }
    None
}

/// The hardware address of an interface.
async fn mac_of(session: &Session, if_index: u32) -> Option<Mac> {
    mac(session.get(&[instance(object::IF_PHYS_ADDRESS, [if_index])]).await.ok()?.first()?)
}

/// The hardware address that the agent has found out for a neighbour.
async fn neighbour_mac(session: &Session, if_index: u32, neighbour: IpAddr) -> Option<Mac> {
    let index = |address: Vec<u32>| [if_index].into_iter().chain(address);
    let mut objects = vec![instance(object::IP_NET_TO_PHYSICAL_PHYS_ADDRESS, index(typed(neighbour)))];
    if neighbour.is_ipv4() {
        objects.push(instance(object::IP_NET_TO_MEDIA_PHYS_ADDRESS, index(octets(neighbour))));
    }
    session.get(&objects).await.ok()?.iter().find_map(mac)
}

fn mac(value: &Value) -> Option<Mac> {
    value.as_bytes()?.try_into().ok().filter(|mac| *mac != [0; 6])
}

/// The interfaces of bridges that stand between the hardware addresses `from` and `to`.
async fn bridges(known: &[Known], from: Mac, to: Mac) -> Vec<Leg> {
    let mut legs = Vec::new();
    for bridge in known {
        let ports = [from, to].map(|mac| instance(object::BRIDGE_FDB_PORT, mac.map(u32::from)));
        // An agent that has no such table is no bridge, and one that fails here says why at its read.
        let Ok(ports) = bridge.session.get(&ports).await else { continue };
        let [Some(from), Some(to)] = [number(&ports[0]), number(&ports[1])] else { continue };
        if from == to {
            continue;
        }
        let interfaces = [from, to].map(|port| instance(object::BRIDGE_PORT_IF_INDEX, [port]));
        let Ok(interfaces) = bridge.session.get(&interfaces).await else { continue };
        let directions = [Direction::Received, Direction::Sent];
        let both = interfaces.iter().map(number).zip(directions);
        legs.extend(both.filter_map(|(if_index, direction)| Some(leg(bridge, if_index?, direction))));
    }
    legs
}

/// Gives each leg the name that its agent has for the interface, or its number where there is none.
async fn name_all(mut legs: Vec<Leg>, known: &[Known]) -> Result<Vec<Leg>, SnmpError> {
    for leg in &mut legs {
        let agent = known.iter().find(|known| known.agent_idx == leg.agent_idx).expect("legs are of known agents");
        let columns = [object::IF_NAME, object::IF_DESCR];
        let names = agent.session.get(&columns.map(|column| instance(column, [leg.if_index]))).await?;
        let name = names.iter().find_map(|name| name.as_str().filter(|name| !name.is_empty()));
        leg.name = name.map_or_else(|| leg.if_index.to_string(), str::to_owned);
    }
    Ok(legs)
}
