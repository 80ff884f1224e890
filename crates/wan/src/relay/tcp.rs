//! Connections: bytes that one side writes reach the other after their time on the link.
//!
//! Bytes cross the link in pieces of a packet's size. A source is read only while the link's queue has room and not
//! too much of its flow is on the way, so that it waits as it would for a real link, and memory has a limit however
//! many peers stop reading.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use netmodel::Fate;
use rustix::event::epoll::{self, EventData, EventFlags};
use socket2::{Domain, Socket, Type};
use units::ByteCount;

use super::{Both, Carrier, Direction, N_AT_ONCE, RelayPlan, Way, wanted};
use crate::agenda::Agenda;

/// Bytes that a packet carries on most networks.
const PIECE_BYTES: usize = 1_448;
/// Bytes that are read at once.
const READ_BYTES: usize = 16 * PIECE_BYTES;
/// Bytes of a packet that carries nothing, such as those that connect.
const CONTROL_BYTES: ByteCount = ByteCount::new(40);
/// Bytes of all flows together, each of which has an even share of it, within limits.
const BYTES_MAX: usize = 512 << 20;
const FLOW_BYTES: std::ops::RangeInclusive<usize> = READ_BYTES..=(16 << 20);
/// Greatest time that a flow waits that finds the link's queue full. It waits shorter for a queue that is empty before.
const RETRY_MAX: Duration = Duration::from_micros(500);
/// Bytes that have crossed and are not taken: with more, the source is not read.
const UNREAD_BYTES_MAX: usize = 64 << 10;
/// The key of the listener. A connection's are twice its number, and one more for the target's side.
const LISTENER: u64 = 0;

pub(super) struct Connections {
    listener: TcpListener,
    to: SocketAddr,
    ways: Both<Way>,
    epoll: Arc<OwnedFd>,
    connections: BTreeMap<u64, Connection>,
    n_ever: u64,
    clients_max: usize,
    agenda: Agenda<Due>,
    /// Connections whose flows wait for room in the link's queue, in turn.
    held: Both<VecDeque<u64>>,
    buffer: Vec<u8>,
}

/// A task to be done when its moment comes.
enum Due {
    /// A task for a connection.
    Of(u64, Task),
    /// A retry: the queue of a link may have room again, for whichever flows wait for it.
    Retry(Direction),
}

/// A task for a connection.
enum Task {
    /// The request to connect reaches the target.
    Connect,
    /// The answer reaches the client, which sends from here on.
    Open,
    /// The crossing of so many bytes.
    Cross(Direction, usize),
    /// The end of a flow has crossed.
    End(Direction),
}

struct Connection {
    client: Side,
    target: Option<Side>,
    /// The answer of the target is on its way or there.
    is_connected: bool,
    flows: Both<Flow>,
}

/// A socket, and the events that are waited for.
struct Side {
    stream: TcpStream,
    wanted: EventFlags,
}

/// One direction of a connection.
#[derive(Default)]
struct Flow {
    /// Bytes on the way or arrived, and not yet taken.
    bytes: VecDeque<u8>,
    /// Number of these bytes that have arrived.
    n_arrived: usize,
    /// Whether the source may be read: the connection is open for it.
    is_open: bool,
    /// Whether the link's queue was full, and the connection is among those that are held.
    is_held: bool,
    /// Whether the source has ended.
    is_read_out: bool,
    /// Whether the end has crossed.
    is_ending: bool,
    /// Whether the sink was told of the end.
    is_over: bool,
}

impl Connections {
    pub(super) fn listen(plan: &RelayPlan, ways: Both<Way>, epoll: Arc<OwnedFd>) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(plan.listen), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.bind(&plan.listen.into())?;
        // Clients that come at once would else be told nothing, and try again after a second.
        socket.listen(i32::try_from(plan.clients_max).unwrap_or(i32::MAX))?;
        let listener = TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), wanted(true, false))?;
        Ok(Self {
            listener,
            to: plan.to,
            ways,
            epoll,
            connections: BTreeMap::new(),
            n_ever: 0,
            clients_max: plan.clients_max,
            agenda: Agenda::default(),
            held: Both::default(),
            buffer: vec![0; READ_BYTES],
        })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    fn accept(&mut self) {
        // What cannot be accepted is gone, or waits until there are descriptors again.
        for _ in 0..N_AT_ONCE {
            let Ok((stream, _)) = self.listener.accept() else { return };
            self.take_client(stream);
        }
    }

    fn take_client(&mut self, stream: TcpStream) {
        if self.connections.len() >= self.clients_max || prepare(&stream).is_err() {
            return;
        }
        self.n_ever += 1;
        let number = self.n_ever;
        let client = Side { stream, wanted: EventFlags::empty() };
        if epoll::add(&self.epoll, &client.stream, EventData::new_u64(2 * number), client.wanted).is_err() {
            return;
        }
        self.connections
            .insert(number, Connection { client, target: None, is_connected: false, flows: Both::default() });
        let noted = self.note_control(Direction::There, number, Task::Connect);
        self.keep_or_end(number, noted);
    }

    /// Notes the task that a packet without content brings about at the other end.
    fn note_control(&mut self, direction: Direction, number: u64, task: Task) -> io::Result<()> {
        let at = self.ways.at(direction).cross(CONTROL_BYTES)?;
        self.agenda.note(at, Due::Of(number, task));
        Ok(())
    }

    fn connect(&mut self, number: u64) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        let socket = Socket::new(Domain::for_address(self.to), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&self.to.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        let target = Side { stream: socket.into(), wanted: wanted(false, true) };
        prepare(&target.stream)?;
        epoll::add(&self.epoll, &target.stream, EventData::new_u64(2 * number + 1), target.wanted)?;
        connection.target = Some(target);
        Ok(())
    }

    fn task(&mut self, number: u64, task: Task, due: Duration) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        match task {
            Task::Connect => return self.connect(number),
            Task::Open => connection.flows.there.is_open = true,
            Task::Cross(direction, n) => {
                connection.flows.at(direction).n_arrived += n;
                let written = connection.write(direction);
                self.ways.at(direction).handed_on(n as u64, due);
                written?;
            }
            Task::End(direction) => {
                connection.flows.at(direction).is_ending = true;
                connection.write(direction)?;
            }
        }
        self.settle(number)
    }

    fn side_ready(&mut self, number: u64, is_target: bool, flags: EventFlags) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        let (reads, writes) =
            if is_target { (Direction::Back, Direction::There) } else { (Direction::There, Direction::Back) };
        if is_target && !connection.is_connected {
            let Some(target) = &connection.target else { return Ok(()) };
            if let Some(error) = target.stream.take_error()? {
                return Err(error);
            }
            connection.is_connected = true;
            connection.flows.back.is_open = true;
            self.note_control(Direction::Back, number, Task::Open)?;
        } else if flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP) {
            connection.write(writes)?;
        }
        self.read(number, reads)?;
        self.settle(number)
    }

    /// Reads the bytes that the source of a flow has, as far as link and memory have room.
    fn read(&mut self, number: u64, direction: Direction) -> io::Result<()> {
        let flow_max = flow_bytes_max(self.connections.len());
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        if !connection.may_read(direction, flow_max) {
            return Ok(());
        }
        let way = self.ways.at(direction);
        let room = way.room();
        if room == 0 {
            connection.flows.at(direction).is_held = true;
            let held = self.held.at(direction);
            held.push_back(number);
            if held.len() == 1 {
                self.agenda.note(way.retry_at(), Due::Retry(direction));
            }
            return Ok(());
        }
        // More than the room would be a longer queue than the link has, for all of its flows.
        let buffer = &mut self.buffer[..room.min(READ_BYTES)];
        let n = match connection.source(direction).map(|side| (&side.stream).read(buffer)) {
            None => return Ok(()),
            Some(Ok(n)) => n,
            Some(Err(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
            // What was sent before the connection broke is carried to the end.
            Some(Err(_)) => 0,
        };
        let flow = connection.flows.at(direction);
        if n == 0 {
            flow.is_read_out = true;
            return self.note_control(direction, number, Task::End(direction));
        }
        flow.bytes.extend(&self.buffer[..n]);
        for piece in self.buffer[..n].chunks(PIECE_BYTES) {
            let size = piece.len() as u64;
            let at = way.cross(ByteCount::new(size))?;
            let waiting = way.waiting().bytes();
            way.counts.sent(size, waiting);
            self.agenda.note(at, Due::Of(number, Task::Cross(direction, piece.len())));
        }
        Ok(())
    }

    /// Lets flows that were held read again, in turn, until the queue is full or none is left.
    fn retry(&mut self, direction: Direction) {
        while self.ways.at(direction).room() > 0 {
            let Some(number) = self.held.at(direction).pop_front() else { return };
            let Some(connection) = self.connections.get_mut(&number) else { continue };
            connection.flows.at(direction).is_held = false;
            let done = self.read(number, direction).and_then(|()| self.settle(number));
            self.keep_or_end(number, done);
        }
        if !self.held.at(direction).is_empty() {
            let at = self.ways.at(direction).retry_at();
            self.agenda.note(at, Due::Retry(direction));
        }
    }

    /// Waits for the events that a connection can go on with, and forgets a connection that is over.
    fn settle(&mut self, number: u64) -> io::Result<()> {
        let flow_max = flow_bytes_max(self.connections.len());
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        if connection.flows.there.is_over && connection.flows.back.is_over {
            self.connections.remove(&number);
            return Ok(());
        }
        let has_arrived = |flow: &Flow| flow.n_arrived > 0;
        let client = wanted(connection.may_read(Direction::There, flow_max), has_arrived(&connection.flows.back));
        let is_connecting = !connection.is_connected;
        let writes = is_connecting || has_arrived(&connection.flows.there);
        let target = wanted(connection.may_read(Direction::Back, flow_max), writes);
        connection.client.watch(client, 2 * number, &self.epoll)?;
        match &mut connection.target {
            Some(side) => side.watch(target, 2 * number + 1, &self.epoll),
            None => Ok(()),
        }
    }

    /// Ends a connection that has failed: both sides see it end.
    fn keep_or_end(&mut self, number: u64, done: io::Result<()>) {
        if done.is_err() {
            self.connections.remove(&number);
        }
    }
}

impl Carrier for Connections {
    fn ready(&mut self, key: u64, flags: EventFlags) {
        if key == LISTENER {
            return self.accept();
        }
        let done = self.side_ready(key / 2, key % 2 == 1, flags);
        self.keep_or_end(key / 2, done);
    }

    fn due(&mut self, now: Duration) {
        while let Some((at, due)) = self.agenda.take_due(now) {
            match due {
                Due::Of(number, task) => {
                    let done = self.task(number, task, at);
                    self.keep_or_end(number, done);
                }
                Due::Retry(direction) => self.retry(direction),
            }
        }
    }

    fn next_due(&self) -> Option<Duration> {
        self.agenda.next_due()
    }
}

impl Way {
    /// Returns the bytes that may be read, in whole pieces: 0 if sources have to wait. The queue's limit is kept here
    /// and not by the link, which would drop what is beyond.
    fn room(&mut self) -> usize {
        let waiting = self.waiting().bytes();
        let left = usize::try_from(self.queue.bytes().saturating_sub(waiting)).unwrap_or(usize::MAX);
        let room = left / PIECE_BYTES * PIECE_BYTES;
        // A piece that is alone is always taken.
        if waiting == 0 { room.max(PIECE_BYTES) } else { room }
    }

    /// Returns the moment at which the queue is looked at again: before half of it has left, so that the wire is busy.
    fn retry_at(&mut self) -> Duration {
        let now = self.now();
        now + RETRY_MAX.min(self.link.free_at().saturating_sub(now) / 2)
    }

    fn waiting(&mut self) -> ByteCount {
        self.link.waiting(self.now())
    }

    /// Returns the time at which a message sent now arrives. A link that delivers nothing any more breaks its
    /// connections.
    fn cross(&mut self, size: ByteCount) -> io::Result<Duration> {
        match self.link.send(self.now(), size) {
            Fate::Arrives { at } => Ok(at),
            Fate::Dropped(_) => Err(ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl Connection {
    fn source(&self, direction: Direction) -> Option<&Side> {
        match direction {
            Direction::There => Some(&self.client),
            Direction::Back => self.target.as_ref(),
        }
    }

    fn sink(&self, direction: Direction) -> Option<&Side> {
        match direction {
            Direction::There => self.target.as_ref(),
            Direction::Back => Some(&self.client),
        }
    }

    fn may_read(&mut self, direction: Direction, flow_max: usize) -> bool {
        let flow = self.flows.at(direction);
        flow.is_open
            && !flow.is_held
            && !flow.is_read_out
            && flow.bytes.len() < flow_max
            && flow.n_arrived <= UNREAD_BYTES_MAX
    }

    /// Hands on the bytes that have arrived, as far as the sink takes them.
    fn write(&mut self, direction: Direction) -> io::Result<()> {
        let mut flow = std::mem::take(self.flows.at(direction));
        let written = self.sink(direction).map_or(Ok(()), |sink| flow.write(&sink.stream));
        *self.flows.at(direction) = flow;
        written
    }
}

impl Flow {
    fn write(&mut self, mut sink: &TcpStream) -> io::Result<()> {
        while self.n_arrived > 0 {
            let (first, _) = self.bytes.as_slices();
            let first = &first[..first.len().min(self.n_arrived)];
            match sink.write(first) {
                Ok(n) => {
                    self.bytes.drain(..n);
                    self.n_arrived -= n;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if self.is_ending && !self.is_over {
            self.is_over = true;
            // A sink that is gone has ended all the more.
            let _ = sink.shutdown(Shutdown::Write);
        }
        Ok(())
    }
}

impl Side {
    fn watch(&mut self, wanted: EventFlags, key: u64, epoll: &OwnedFd) -> io::Result<()> {
        if self.wanted != wanted {
            epoll::modify(epoll, &self.stream, EventData::new_u64(key), wanted)?;
            self.wanted = wanted;
        }
        Ok(())
    }
}

/// Returns the greatest number of bytes that a flow may have on the way, when there are so many connections.
fn flow_bytes_max(n_connections: usize) -> usize {
    (BYTES_MAX / (2 * n_connections.max(1))).clamp(*FLOW_BYTES.start(), *FLOW_BYTES.end())
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}
