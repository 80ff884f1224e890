//! The near end: programs connect to it, and it keeps a link to the far end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clock::Backoff;
use secret::Token;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::{Config, NearReady};
use crate::counters::Counters;
use crate::error::{LinkError, StartError};
use crate::far::{bind, terms, told};
use crate::handshake::{HANDSHAKE_LIMIT, LINK, greet};
use crate::link::{Common, Inbound, Link, Parts};
use crate::memory::Memory;
use crate::neighbour::{Neighbours, borrowing_terms, lend};
use crate::part::Components;
use crate::proxy::{ASKING_LIMIT, answer, asked};
use crate::relay::{Local, relay};
use crate::status::{Status, Teller, Watcher};
use crate::transport::{Caller, Listener, break_at_end, tune};

/// Time that a program waits for a link that is down.
const LINK_LIMIT: Duration = Duration::from_secs(10);

/// Neighbours that are answered at the same time.
const N_BORROWERS: usize = 64;

/// The component of what programs ask a proxy for, and of forwards that name none.
pub(crate) const RAW: &str = "tcp";

/// A near end that listens.
pub struct Near {
    listeners: Vec<(TcpListener, Service)>,
    /// The listener at which neighbours ask.
    lender: Option<Listener>,
    shared: Arc<Shared>,
    teller: Teller,
    status: tokio::net::UnixListener,
    stop: watch::Sender<bool>,
}

/// The service for those who connect.
#[derive(Clone, Debug)]
enum Service {
    Forward { component: Arc<str>, target: Arc<str> },
    Proxy,
}

struct Shared {
    common: Common,
    components: Components,
    token: Token,
    caller: Caller,
    connect: String,
    link: watch::Sender<Option<Arc<Link>>>,
    /// Becomes true when no more programs are taken.
    draining: watch::Sender<bool>,
}

impl Near {
    /// Opens the store and binds. Needs a runtime around it.
    ///
    /// # Errors
    /// When the configuration makes no sense, or something in it cannot be had.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        Self::start_with(config, Components::default()).await
    }

    /// The same with these components.
    ///
    /// # Errors
    /// When the configuration makes no sense, or something in it cannot be had.
    pub async fn start_with(config: &Config, components: Components) -> Result<Self, StartError> {
        let NearReady { near, tls, neighbours, lend } = config.near(&components)?;
        let mut listeners = Vec::new();
        for forward in &near.forward {
            let (component, target) = (forward.component.as_str().into(), forward.target.as_str().into());
            listeners.push((bind(forward.listen).await?, Service::Forward { component, target }));
        }
        if let Some(address) = near.proxy {
            listeners.push((bind(address).await?, Service::Proxy));
        }
        let lender = match lend {
            Some((address, tls)) => Some(Listener::bind(address, tls).await?),
            None => None,
        };
        let ready = config.ready()?;
        let memory = Memory::new(ready.store);
        let counters = Arc::new(Counters::default());
        let teller = Teller {
            end: "near",
            listens: listeners
                .iter()
                .map(|(listener, _)| listener.local_addr())
                .chain(lender.iter().map(Listener::address))
                .map(told)
                .collect(),
            counters: Arc::clone(&counters),
            memory: memory.clone(),
            steering: ready.steering.clone(),
        };
        let status = teller.listen(&ready.status);
        let status = status.map_err(|source| StartError::Unreadable { path: ready.status, source })?;
        let (stop, stopped) = watch::channel(false);
        let (settings, steering, n_window) = (ready.settings, ready.steering, ready.n_window);
        let call = |tls| Caller::new(tls).map_err(|source| StartError::Call { source });
        let caller = call(tls)?;
        let neighbours: Result<Vec<_>, StartError> =
            neighbours.into_iter().map(|(address, tls)| Ok((address, call(tls)?))).collect();
        let neighbours = Some(neighbours?).filter(|neighbours| !neighbours.is_empty());
        let neighbours = neighbours
            .map(|neighbours| Arc::new(Neighbours::new(neighbours, ready.token.clone(), borrowing_terms(&settings))));
        let common =
            Common { memory, counters, settings, steering, neighbours, n_window, drain: ready.drain, stop: stopped };
        let (link, draining) = (watch::Sender::new(None), watch::Sender::new(false));
        let shared =
            Arc::new(Shared { common, components, token: ready.token, caller, connect: near.connect, link, draining });
        Ok(Self { listeners, lender, shared, teller, status, stop })
    }

    /// Returns the addresses at which programs connect: forwards in the order of the configuration, then the proxy; and
    /// last the address at which neighbours ask.
    ///
    /// # Panics
    /// Never: what is bound has an address.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.listeners.iter().map(|(listener, _)| listener.local_addr());
        let addresses = addresses.chain(self.lender.iter().map(Listener::address));
        addresses.map(|address| address.expect("what is bound has an address")).collect()
    }

    /// Returns the status of the near end.
    #[must_use]
    pub fn status(&self) -> Status {
        self.teller.status()
    }

    /// Returns a watcher, which reports the status while the near end runs.
    #[must_use]
    pub fn watcher(&self) -> Watcher {
        Watcher::new(&self.teller)
    }

    /// Serves until `enough`, then lets streams come to their end for a while, and writes what the store has in memory
    /// only.
    pub async fn run(self, enough: impl Future<Output = ()>) {
        let shared = &self.shared;
        let enough = async {
            enough.await;
            shared.draining.send_replace(true);
            shared.common.drain(|| shared.link.borrow().iter().cloned().collect()).await;
            self.stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        // Those who listen end with this; their clients are broken off.
        let mut listeners = JoinSet::new();
        for (listener, service) in self.listeners {
            listeners.spawn(accept(listener, service, Arc::clone(shared)));
        }
        tokio::select! {
            () = keep_linked(shared) => {}
            () = enough => {}
            () = self.teller.tell(self.status) => {}
            () = shared.common.keep() => {}
            () = lend_all(self.lender.as_ref(), shared) => {}
        }
        listeners.shutdown().await;
        shared.caller.leave().await;
        if let Some(neighbours) = &shared.common.neighbours {
            neighbours.leave().await;
        }
        if let Some(lender) = &self.lender {
            lender.leave().await;
        }
        shared.common.end().await;
    }
}

/// Answers neighbours until all is over.
async fn lend_all(lender: Option<&Listener>, shared: &Arc<Shared>) {
    let Some(lender) = lender else { return std::future::pending().await };
    let room = Arc::new(Semaphore::new(N_BORROWERS));
    let serve = |arrived, peer| {
        let (shared, room) = (Arc::clone(shared), Arc::clone(&room));
        async move {
            let Ok(_place) = room.try_acquire() else {
                tracing::warn!(%peer, "more than {N_BORROWERS} neighbours ask at the same time");
                return;
            };
            if let Err(error) = lend(&shared.common, &shared.token, arrived).await {
                tracing::info!(%peer, error = &error as &dyn std::error::Error, "a neighbour is not answered");
            }
        }
    };
    lender.serve(std::future::pending(), serve).await;
}

/// Returns when no more programs are taken.
async fn no_more_taken(shared: &Shared) {
    // The sender is in `shared`.
    let _ = shared.draining.subscribe().wait_for(|draining| *draining).await;
}

/// Makes a link, again whenever it is lost, until it is stopped.
async fn keep_linked(shared: &Arc<Shared>) {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10)).with_chance(1);
    loop {
        let made = tokio::select! {
            made = tokio::time::timeout(HANDSHAKE_LIMIT, make_link(shared)) => made,
            () = shared.common.stopped() => return,
        };
        match made.unwrap_or(Err(LinkError::Silent { seconds: HANDSHAKE_LIMIT.as_secs() })) {
            Ok((link, parts)) => {
                backoff.succeeded();
                shared.common.counters.links_total.add(1);
                tracing::info!(far = shared.connect, "link made");
                shared.link.send_replace(Some(Arc::clone(&link)));
                let error = link.run(parts).await;
                shared.link.send_replace(None);
                tracing::warn!(far = shared.connect, error = &error as &dyn std::error::Error, "link lost");
            }
            Err(error) => {
                shared.common.counters.links_failed_total.add(1);
                tracing::warn!(far = shared.connect, error = &error as &dyn std::error::Error, "no link");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next_wait()) => {}
            () = shared.common.stopped() => return,
        }
    }
}

async fn make_link(shared: &Shared) -> Result<(Arc<Link>, Parts), LinkError> {
    let (mut stream, binding) = shared.caller.connect(&shared.connect).await?;
    let ours = terms(&shared.common)?;
    let theirs = greet(&mut stream, binding, &shared.token, LINK, ours).await?;
    Ok(Link::new(shared.common.clone(), stream, (ours, theirs), None))
}

async fn accept(listener: TcpListener, service: Service, shared: Arc<Shared>) {
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = clients.join_next() => continue,
            () = no_more_taken(&shared) => break,
        };
        match accepted {
            Ok((client, _)) => {
                let (service, shared) = (service.clone(), Arc::clone(&shared));
                clients.spawn(async move { serve(&shared, &service, client).await });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot take a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    // Those who are there come to their end; whoever comes later is refused.
    drop(listener);
    while clients.join_next().await.is_some() {}
}

async fn serve(shared: &Shared, service: &Service, mut client: TcpStream) {
    let (component, target, manner) = match service {
        Service::Forward { component, target } => (&**component, target.to_string(), None),
        Service::Proxy => match tokio::time::timeout(ASKING_LIMIT, asked(&mut client)).await {
            Ok(Ok((manner, target))) => (RAW, target, Some(manner)),
            // Who asks wrongly has been told, or has gone.
            Ok(Err(_)) | Err(_) => return,
        },
    };
    let opened = tokio::time::timeout(LINK_LIMIT, linked(shared)).await.ok();
    let opened = opened.and_then(|link| {
        link.open(component.to_owned(), target.clone()).map(|(stream, inbound)| (link, stream, inbound))
    });
    let Some((link, stream, mut inbound)) = opened else {
        shared.common.counters.streams_failed_total.add(1);
        refuse(&mut client, manner).await;
        return;
    };
    if let Some(manner) = manner {
        let is_open = matches!(inbound.recv().await, Some(Inbound::Opened));
        if !is_open || answer(&mut client, manner, true).await.is_err() {
            shared.common.counters.streams_failed_total.add(1);
            link.give(crate::link::Work::Reset { stream, reason: "the program has gone".to_owned() }).await;
            link.forget(stream);
            refuse(&mut client, Some(manner).filter(|_| !is_open)).await;
            return;
        }
    }
    // It works untuned as well.
    let _ = tune(&client);
    let cutter = shared.components.make(component).expect("the configuration was checked");
    if let Err(broken) = relay(&link, stream, cutter, inbound, Local::Tcp(client)).await {
        shared.common.counters.streams_failed_total.add(1);
        tracing::info!(stream, target, %broken, "stream broken");
    }
}

async fn refuse(client: &mut TcpStream, manner: Option<crate::proxy::Manner>) {
    match manner {
        // Who does not take the answer has gone.
        Some(manner) => drop(answer(client, manner, false).await),
        None => break_at_end(client),
    }
}

/// The link, as soon as there is one. One that has ended but is still there would refuse the program that comes right
/// after.
async fn linked(shared: &Shared) -> Arc<Link> {
    let mut links = shared.link.subscribe();
    loop {
        if let Some(link) = links.borrow_and_update().clone().filter(|link| !link.has_ended()) {
            return link;
        }
        // The sender is in `shared`.
        let _ = links.changed().await;
    }
}
