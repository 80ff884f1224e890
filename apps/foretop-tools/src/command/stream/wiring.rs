//! Common arguments of every component: its endpoints, their protection, its name; and its run until it is to end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use anyhow::Context;
use clap::Args;
use clap::builder::FalseyValueParser;
use secret::Token;
use stream::{ClientTls, Endpoint, Handler, Mirror, Place, Role, Security, ServerTls};
use text::printable;
use watch::Watch;

use command_line::argument::Broker;
use command_line::failure::OrUsage;
use command_line::{descriptors, interruption, log};

/// Protection of connections.
#[derive(Args, Clone, Debug)]
pub struct Protection {
    /// File with the token that TCP clients must present; its mode must be 600
    #[arg(long, value_name = "PATH", env = "FORETOP_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,

    /// PEM file with the certificate of TCP listeners
    #[arg(long, value_name = "PATH", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,

    /// PEM file with the certificate's key
    #[arg(long, value_name = "PATH", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,

    /// PEM file with the certificates to trust in TCP connections
    #[arg(long, value_name = "PATH")]
    tls_authorities: Option<PathBuf>,

    /// Allow connections beyond this machine without encryption
    #[arg(long)]
    allow_plain: bool,

    #[command(flatten)]
    broker: Broker,
}

/// Options of every component.
#[derive(Args, Clone, Debug)]
pub struct Wiring {
    /// The endpoints of incoming and outgoing streams: ROLE:TRANSPORT:PLACE
    #[arg(value_name = "ENDPOINT", required = true)]
    pub endpoints: Vec<Endpoint>,

    /// The stream's name [default: that of what comes in, or of what is measured]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,

    /// The host whose signals a sensor measures [default: this host's name]
    #[arg(long, value_name = "TEXT")]
    host: Option<String>,

    #[command(flatten)]
    pub protection: Protection,

    /// Do not announce the listeners. Otherwise `foretop stream find` finds them on this host, those that others can
    /// reach on the local network, and all of them through the NATS server, if one is named
    #[arg(long, env = "FORETOP_UNANNOUNCED", value_parser = FalseyValueParser::new())]
    unannounced: bool,

    /// The log filter for standard error: a level, or directives such as info,stream=debug
    #[arg(long, value_name = "FILTER", default_value = "warn", env = "RUST_LOG")]
    log: String,
}

impl Protection {
    /// Whether streams are announced to a NATS server, and looked up there.
    pub fn is_across(&self) -> bool {
        self.broker.is_given()
    }

    pub fn security(&self) -> anyhow::Result<Security> {
        let server = self.tls_certificate.as_deref().zip(self.tls_key.as_deref());
        Ok(Security {
            token: self.token_file.as_deref().map(Token::from_file).transpose()?,
            server: server.map(|(certificate, key)| ServerTls::from_files(certificate, key)).transpose()?,
            client: self.tls_authorities.as_deref().map(ClientTls::from_file).transpose()?,
            allow_plain: self.allow_plain,
            door: descriptors::open_door(0)?,
            ..self.broker.clone().security()
        })
    }
}

impl Wiring {
    pub fn host(&self) -> String {
        self.host.clone().or_else(|| sensor::host_name(Path::new("/"))).unwrap_or_default()
    }

    /// Runs a component until a signal ends it, its files have ended, or `done` receives a message.
    ///
    /// # Errors
    /// When an endpoint cannot be had.
    pub fn run<H: Handler>(
        &self,
        name: &str,
        mirror: Mirror<H>,
        done: Option<Receiver<()>>,
        out: &mut dyn Write,
    ) -> anyhow::Result<H> {
        log::start(&self.log, &Watch::default()).or_usage()?;
        let mut security = self.protection.security().or_usage()?;
        security.registry.announces = !self.unannounced;
        (security.registry.lan, security.registry.across) = (true, self.protection.broker.is_given());
        let mut mirror = mirror.with_security(security);
        let added: Vec<_> =
            self.endpoints.iter().map(|endpoint| (endpoint.role, mirror.add(endpoint.clone()))).collect();
        // Before it is up, so that an early end finds somebody who heeds it.
        let signals = interruption::watch()?;
        let running = mirror.start().with_context(|| format!("cannot start {name}"))?;
        let listens = added.iter().filter_map(|(role, at)| Some(format!("{role} {}", running.address(*at)?)));
        self.announce(name, &listens.collect::<Vec<_>>().join(", "), out)?;
        let (by_signal, by_itself) = (running.stopper(), running.stopper());
        std::thread::spawn(move || interruption::end_by(signals, || by_signal.stop()));
        if let Some(done) = done {
            std::thread::spawn(move || done.recv().is_ok().then(|| by_itself.stop()));
        }
        running.outcome().with_context(|| format!("{name} is broken"))
    }

    /// Writes the one line which states that the component is up, for people and for programs that wait for it.
    /// Standard output that carries a stream is not for it.
    fn announce(&self, name: &str, listens: &str, out: &mut dyn Write) -> io::Result<()> {
        let colon = if listens.is_empty() { "" } else { ": " };
        let line = printable(&format!("stream {name} is up{colon}{listens}"));
        let is_stdout =
            |endpoint: &Endpoint| endpoint.role == Role::Target && matches!(endpoint.place, Place::Stdio(_));
        if name == "client" || self.endpoints.iter().any(is_stdout) {
            return writeln!(io::stderr(), "{line}");
        }
        writeln!(out, "{line}")?;
        out.flush()
    }
}
