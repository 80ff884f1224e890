//! An SNMP agent of version 2c that says what a test wants it to, truth or not.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use async_snmp::{
    DecodeConfig, Oid, Pdu, PduBody, PduType, StandardPduType, Value, VarBind, message::CommunityMessage,
};

/// The word that it wants to hear.
pub const COMMUNITY: &str = "simulated";

/// The largest message of UDP.
const MESSAGE_BYTES: usize = 65_535;

/// How long the number of a column of `ifXTable` is.
const N_COLUMN: usize = 11;

/// `genErr`.
const GENERAL_ERROR: i32 = 5;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Manner {
    /// By the protocol.
    Honest,
    /// Not at all.
    Silent,
    /// With bytes that are no message.
    Garbage,
    /// To another question than the one that was asked.
    OtherQuestion,
    /// With values of other objects.
    OtherObjects,
    /// With the same row again and again.
    Circle,
    /// With a table that has no end.
    Endless,
    /// That something went wrong with it.
    Failing,
}

/// What it knows and how it says it.
struct Mind {
    objects: BTreeMap<Oid, Value>,
    manner: Manner,
    n_questions: u64,
}

/// An agent on a thread of its own, until it is dropped.
pub struct SimulatedAgent {
    address: SocketAddr,
    mind: Arc<Mutex<Mind>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SimulatedAgent {
    pub fn start() -> SimulatedAgent {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let mind = Mind { objects: BTreeMap::new(), manner: Manner::Honest, n_questions: 0 };
        let (mind, is_over) = (Arc::new(Mutex::new(mind)), Arc::new(AtomicBool::new(false)));
        let (its_mind, end) = (Arc::clone(&mind), Arc::clone(&is_over));
        let thread = thread::spawn(move || answer_all(&socket, &its_mind, &end));
        SimulatedAgent { address, mind, is_over, thread: Some(thread) }
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn set(&self, object: &str, value: Value) {
        self.mind.lock().unwrap().objects.insert(Oid::parse(object).unwrap(), value);
    }

    pub fn behave(&self, manner: Manner) {
        self.mind.lock().unwrap().manner = manner;
    }

    pub fn n_questions(&self) -> u64 {
        self.mind.lock().unwrap().n_questions
    }

    /// Says that it has been up for so long, and started once.
    pub fn set_uptime(&self, ticks: u32) {
        self.set("1.3.6.1.2.1.1.3.0", Value::TimeTicks(ticks));
        self.set("1.3.6.1.6.3.10.2.1.2.0", Value::Integer(1));
    }

    /// Has an interface with 64-bit counters that is up.
    pub fn set_interface(&self, index: u32, name: &str, megabits: u32, received: u64, sent: u64) {
        let name = Value::OctetString(name.as_bytes().to_vec().into());
        self.set(&format!("1.3.6.1.2.1.31.1.1.1.1.{index}"), name);
        self.set(&format!("1.3.6.1.2.1.31.1.1.1.6.{index}"), Value::Counter64(received));
        self.set(&format!("1.3.6.1.2.1.31.1.1.1.10.{index}"), Value::Counter64(sent));
        self.set(&format!("1.3.6.1.2.1.31.1.1.1.15.{index}"), Value::Gauge32(megabits));
        self.set(&format!("1.3.6.1.2.1.31.1.1.1.19.{index}"), Value::TimeTicks(0));
        self.set(&format!("1.3.6.1.2.1.2.2.1.8.{index}"), Value::Integer(1));
    }
}

impl Drop for SimulatedAgent {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread.
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[], self.address).unwrap();
        let outcome = self.thread.take().expect("it is dropped once").join();
        assert!(outcome.is_ok() || thread::panicking(), "the agent panicked");
    }
}

fn answer_all(socket: &UdpSocket, mind: &Mutex<Mind>, is_over: &AtomicBool) {
    let mut buffer = vec![0; MESSAGE_BYTES];
    loop {
        let (n_bytes, from) = socket.recv_from(&mut buffer).unwrap();
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let mut mind = mind.lock().unwrap();
        mind.n_questions += 1;
        if let Some(answer) = mind.answer(&buffer[..n_bytes]) {
            socket.send_to(&answer, from).unwrap();
        }
    }
}

impl Mind {
    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let message = CommunityMessage::decode(question.to_vec().into(), DecodeConfig::STRICT).unwrap().value;
        if message.community().as_bytes() != COMMUNITY.as_bytes() {
            return None;
        }
        let (id, body, asked) = message.into_pdu().unwrap().into_raw_parts();
        let (id, error, values) = match self.manner {
            Manner::Silent => return None,
            Manner::Garbage => return Some(b"\x30\x84\xff\xff\xff\xff garbage".to_vec()),
            Manner::Failing => (id, 1, asked),
            Manner::OtherQuestion => (id.wrapping_add(1), 0, self.say(&body, &asked)),
            Manner::OtherObjects => (id, 0, self.say(&body, &asked).into_iter().map(moved).collect()),
            Manner::Circle => (id, 0, made_up(&body, &asked, |_, _| 1)),
            Manner::Endless => (id, 0, made_up(&body, &asked, |last, round| last + round)),
            Manner::Honest => (id, 0, self.say(&body, &asked)),
        };
        let body = PduBody::Standard {
            pdu_type: StandardPduType::Response,
            error_status: error * GENERAL_ERROR,
            error_index: error,
        };
        let pdu = Pdu::from_raw_parts(id, body, values);
        Some(CommunityMessage::v2c(COMMUNITY, pdu).unwrap().encode().unwrap().to_vec())
    }

    fn say(&self, body: &PduBody, asked: &[VarBind]) -> Vec<VarBind> {
        match body {
            PduBody::GetBulk { max_repetitions, .. } => {
                let after = self.objects.range(asked[0].oid.clone()..).filter(|(oid, _)| **oid != asked[0].oid);
                let rows =
                    after.take(*max_repetitions as usize).map(|(oid, value)| VarBind::new(oid.clone(), value.clone()));
                let mut rows: Vec<_> = rows.collect();
                if rows.is_empty() {
                    rows.push(VarBind::new(asked[0].oid.clone(), Value::EndOfMibView));
                }
                rows
            }
            PduBody::Standard { pdu_type, .. } if pdu_type.pdu_type() == PduType::GetNextRequest => {
                asked.iter().map(|bind| self.next(&bind.oid)).collect()
            }
            PduBody::Standard { .. } => {
                let value = |oid| self.objects.get(oid).cloned().unwrap_or(Value::NoSuchInstance);
                asked.iter().map(|bind| VarBind::new(bind.oid.clone(), value(&bind.oid))).collect()
            }
        }
    }

    fn next(&self, oid: &Oid) -> VarBind {
        let mut after = self.objects.range(oid.clone()..).filter(|(next, _)| *next != oid);
        after.next().map_or_else(
            || VarBind::new(oid.clone(), Value::EndOfMibView),
            |(next, value)| VarBind::new(next.clone(), value.clone()),
        )
    }
}

fn moved(bind: VarBind) -> VarBind {
    VarBind::new(bind.oid.child(7), bind.value)
}

/// As many rows as are asked for, numbered by the last number that was asked for and how many rows were before.
fn made_up(body: &PduBody, asked: &[VarBind], number: impl Fn(u32, u32) -> u32) -> Vec<VarBind> {
    let name = || Value::OctetString(b"row".to_vec().into());
    let PduBody::GetBulk { max_repetitions, .. } = body else {
        return asked.iter().map(|bind| VarBind::new(bind.oid.clone(), name())).collect();
    };
    let arcs = asked[0].oid.arcs();
    let (column, rest) = arcs.split_at(arcs.len().min(N_COLUMN));
    let last = rest.last().copied().unwrap_or(0);
    let row = |round| Oid::new(column.iter().copied().chain([number(last, round)]));
    (1..=*max_repetitions).map(|round| VarBind::new(row(round), name())).collect()
}
