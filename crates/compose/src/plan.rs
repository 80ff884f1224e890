//! The plan of a system: a command for each component, with places allotted to those that name each other.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use stream::{Endpoint, Host, Place, Role};

use crate::error::ComposeError;
use crate::system::{Component, Flag, Given, Restart, System, Transport};

/// Greatest length of a socket's path, with the zero at its end (unix(7)).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The commands of a system.
#[derive(Debug)]
pub struct Plan {
    /// Launches in the order in which they are started.
    pub launches: Vec<Launch>,
    /// Ports that are reserved until the components take them.
    reserved: Vec<TcpListener>,
}

/// The command that starts a component.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Name of the component.
    pub name: String,
    /// Kind of the component.
    pub run: String,
    /// Arguments of the kind, its name left out.
    pub arguments: Vec<String>,
    /// Endpoint at which its status is asked for.
    pub ask: Endpoint,
    /// Action when it ends.
    pub restart: Restart,
    /// Number of times that it is started again within a minute.
    pub restarts_max: u32,
}

/// Places where a component can be reached.
struct Places {
    stream: Place,
    server: Place,
}

impl Plan {
    /// Allots a place for each stream that is read, and one to be asked at for each component.
    ///
    /// # Errors
    /// [`ComposeError`] if the folder's path is too long for sockets, or no port is free.
    pub fn new(system: &System, run_folder: &Path) -> Result<Self, ComposeError> {
        let mut reserved = Vec::new();
        let mut places = BTreeMap::new();
        for Component { name, .. } in &system.components {
            let mut place = |what: &str| match system.transport {
                Transport::Unix => socket(run_folder, &format!("{name}.{what}")),
                Transport::Tcp => port(&mut reserved).map_err(ComposeError::Port),
            };
            places.insert(name.as_str(), Places { stream: place("stream")?, server: place("server")? });
        }
        let is_read: BTreeSet<&str> =
            system.components.iter().flat_map(|component| &component.sources).map(String::as_str).collect();
        let launches = system.components.iter().map(|component| launch(component, &places, &is_read)).collect();
        Ok(Self { launches, reserved })
    }

    /// Lets ports go, for the components to take them.
    pub(crate) fn release(&mut self) {
        self.reserved.clear();
    }
}

fn socket(run_folder: &Path, name: &str) -> Result<Place, ComposeError> {
    let path = run_folder.join(name);
    if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
        let source = io::Error::new(io::ErrorKind::InvalidFilename, "a socket in it would have too long a path");
        return Err(ComposeError::RunFolder { path: run_folder.to_owned(), source });
    }
    Ok(Place::Unix(path))
}

/// Returns a port that is free, and held until the components are started.
fn port(reserved: &mut Vec<TcpListener>) -> io::Result<Place> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    reserved.push(listener);
    Ok(Place::Tcp { host: Some(Host::LOOPBACK), port })
}

fn launch(component: &Component, places: &BTreeMap<&str, Places>, is_read: &BTreeSet<&str>) -> Launch {
    let Component { name, run, .. } = component;
    let of = |name: &str| &places[name];
    let mut arguments = Vec::new();
    for Flag { name, value } in &component.flags {
        arguments.push(format!("--{name}"));
        match value {
            Given::Nothing => {}
            Given::Text(text) => arguments.push(text.clone()),
            Given::Component(asked) => arguments.push(endpoint(Role::Source, &of(asked).server).to_string()),
        }
    }
    arguments.extend(component.positionals.iter().cloned());
    let sources = component.sources.iter().map(|source| endpoint(Role::Source, &of(source).stream));
    let stream = is_read.contains(name.as_str()).then(|| endpoint(Role::Connect, &of(name).stream));
    let server = endpoint(Role::Server, &of(name).server);
    let endpoints = sources.chain(component.endpoints.iter().cloned()).chain(stream).chain([server]);
    arguments.extend(endpoints.map(|endpoint| endpoint.to_string()));
    arguments.extend(component.args.iter().cloned());
    Launch {
        name: name.clone(),
        run: run.clone(),
        arguments,
        ask: endpoint(Role::Source, &of(name).server),
        restart: component.restart,
        restarts_max: component.restarts_max,
    }
}

fn endpoint(role: Role, place: &Place) -> Endpoint {
    Endpoint { role, place: place.clone(), backlog: Default::default(), encryption: Default::default() }
}
