//! The streams of the local network: DNS-SD by multicast (RFC 6763), without any server.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use mdns_sd::{ResolvedService, ServiceDaemon, ServiceEvent, ServiceInfo};

use super::{Announcement, N_FOUND_MAX, NAME_BYTES_MAX, RegistryError};
use crate::endpoint::{Endpoint, Host, Place};
use crate::message::Carries;

const SERVICE: &str = "_foretop._tcp.local.";

/// One string of a TXT record holds 255 bytes, its key included.
const TEXT_BYTES_MAX: usize = 240;

/// A label of a DNS name.
const LABEL_BYTES_MAX: usize = 63;

/// A service that says good-bye when the value goes.
pub(super) struct Announced {
    daemon: ServiceDaemon,
    announcement: Announcement,
}

impl Drop for Announced {
    fn drop(&mut self) {
        // The daemon's thread says good-bye before it ends; nobody waits for that.
        let _ = self.daemon.shutdown();
    }
}

/// Announces it, unless `before` is the same: the daemon answers by itself.
pub(super) fn announce(announcement: &Announcement, before: Option<Announced>) -> Result<Announced, RegistryError> {
    let announcement = Announcement { heartbeat_ns: 0, ..announcement.clone() };
    if let Some(before) = before {
        if before.announcement == announcement {
            return Ok(before);
        }
        drop(before);
    }
    let daemon = ServiceDaemon::new().map_err(lan)?;
    for (address, key) in announcement
        .addresses
        .iter()
        .map(|address| (address, "read"))
        .chain(announcement.servers.iter().map(|server| (server, "ask")))
    {
        if let Some(service) = service(&announcement, address, key)? {
            daemon.register(service).map_err(lan)?;
        }
    }
    Ok(Announced { daemon, announcement })
}

fn service(announcement: &Announcement, address: &str, purpose: &str) -> Result<Option<ServiceInfo>, RegistryError> {
    let Ok(Endpoint { place: Place::Tcp { host: Some(Host::Address(ip)), port }, .. }) =
        format!("source:{address}").parse()
    else {
        return Ok(None);
    };
    let carries = serde_json::to_value(announcement.carries).ok();
    let mut properties = HashMap::from([
        ("component", announcement.component.clone()),
        ("stream", announcement.stream.clone()),
        ("host", announcement.host.clone()),
        ("carries", carries.and_then(|carries| Some(carries.as_str()?.to_owned())).unwrap_or_default()),
        ("signals", some(&announcement.signals)),
        ("pid", announcement.pid.to_string()),
        ("for", purpose.to_owned()),
    ]);
    properties.extend(announcement.model.clone().map(|model| ("model", model)));
    let properties: HashMap<String, String> =
        properties.into_iter().map(|(key, text)| (key.to_owned(), cut(&text, TEXT_BYTES_MAX).to_owned())).collect();
    let instance =
        cut(&format!("{}-{port} {}@{}", announcement.pid, announcement.stream, announcement.host), LABEL_BYTES_MAX)
            .to_owned();
    let host = format!("{}.local.", label(&announcement.host));
    let any = ip.is_unspecified();
    let addresses = if any { String::new() } else { ip.to_string() };
    let service = ServiceInfo::new(SERVICE, &instance, &host, addresses.as_str(), port, properties).map_err(lan)?;
    Ok(Some(if any { service.enable_addr_auto() } else { service }))
}

/// The first names, as many as fit.
fn some(signals: &[String]) -> String {
    let mut text = String::new();
    for signal in signals {
        if text.len() + signal.len() + 1 > TEXT_BYTES_MAX {
            break;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(signal);
    }
    text
}

fn cut(text: &str, n_bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(n_bytes_max)]
}

fn label(host: &str) -> String {
    let label: String = host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if label.is_empty() { "host".to_owned() } else { cut(&label, LABEL_BYTES_MAX).to_owned() }
}

/// Returns the announcements of those that answer within `wait`.
pub(super) async fn find(wait: Duration) -> Result<Vec<Announcement>, RegistryError> {
    let daemon = ServiceDaemon::new().map_err(lan)?;
    let events = daemon.browse(SERVICE).map_err(lan)?;
    let mut found = HashMap::new();
    let collect = async {
        while let Ok(event) = events.recv_async().await {
            match event {
                ServiceEvent::ServiceResolved(service) if found.len() < N_FOUND_MAX => {
                    if let Some(announcement) = announcement(&service) {
                        found.insert(service.fullname.clone(), announcement);
                    }
                }
                ServiceEvent::ServiceRemoved(_, name) => drop(found.remove(&name)),
                _ => {}
            }
        }
    };
    // That the time is over is how it ends.
    let _ = tokio::time::timeout(wait, collect).await;
    let _ = daemon.shutdown();
    Ok(together(found.into_values().collect()))
}

/// Places of one stream stand in one announcement.
fn together(mut found: Vec<Announcement>) -> Vec<Announcement> {
    found.sort_by_key(|found| (found.host.clone(), found.stream.clone(), found.component.clone(), found.pid));
    found.dedup_by(|next, first| {
        let is_same = (next.name(), next.pid, next.carries) == (first.name(), first.pid, first.carries);
        if is_same {
            first.addresses.append(&mut next.addresses);
            first.servers.append(&mut next.servers);
        }
        is_same
    });
    found
}

fn announcement(service: &ResolvedService) -> Option<Announcement> {
    let text =
        |key: &str| service.get_property_val_str(key).filter(|text| text.len() <= NAME_BYTES_MAX).map(str::to_owned);
    let carries: Carries = serde_json::from_value(text("carries")?.into()).ok()?;
    let mut ips: Vec<IpAddr> = service.get_addresses().iter().map(mdns_sd::ScopedIp::to_ip_addr).collect();
    // Addresses of the link alone say nothing without the link.
    ips.retain(|ip| !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local()));
    ips.sort();
    let places = ips.into_iter().map(|ip| format!("tcp:{}:{}", Host::Address(ip), service.get_port())).collect();
    let (addresses, servers) = if text("for")? == "ask" { (Vec::new(), places) } else { (places, Vec::new()) };
    Some(Announcement {
        component: text("component").unwrap_or_default(),
        stream: text("stream")?,
        host: text("host")?,
        carries,
        signals: text("signals")?.split(',').filter(|signal| !signal.is_empty()).map(str::to_owned).collect(),
        model: text("model"),
        addresses,
        servers,
        pid: text("pid")?.parse().ok()?,
        heartbeat_ns: clock::now().as_nanos(),
    })
}

fn lan(error: mdns_sd::Error) -> RegistryError {
    RegistryError::Lan(Box::new(error))
}
