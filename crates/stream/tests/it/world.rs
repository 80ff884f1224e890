//! A writer and a reader at the two ends of a transport.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};

use secret::Token;
use stream::{
    Carries, Description, Endpoint, Handler, Inlet, InputId, Message, Mirror, Outputs, Running, Sample, Security,
    SignalName,
};
use testkit::{PATIENCE, wait_until};
use units::Timestamp;

/// Gives on whatever comes in.
pub struct PassOn;

impl Handler for PassOn {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        outputs.forward(&message);
    }
}

/// Hands whatever comes in to the test.
pub struct Collect(pub Sender<Message>);

impl Handler for Collect {
    fn message(&mut self, _: InputId, message: Message, _: &mut Outputs) {
        // A test that has seen enough takes no more.
        let _ = self.0.send(message);
    }
}

pub struct Writer {
    pub running: Running<PassOn>,
    pub inlet: Inlet,
    pub at: InputId,
}

pub struct Collected {
    pub running: Running<Collect>,
    pub at: InputId,
    pub messages: Receiver<Message>,
}

pub fn endpoint(text: &str) -> Endpoint {
    text.parse().unwrap()
}

pub fn writer(output: &str, security: &Security) -> Writer {
    let mut mirror = Mirror::new("writer", PassOn).with_security(security.clone());
    let (_, inlet) = mirror.inlet(100_000);
    let at = mirror.add(endpoint(output));
    Writer { running: mirror.start().unwrap(), inlet, at }
}

pub fn collector(input: &str, security: &Security) -> Collected {
    let (sender, messages) = mpsc::channel();
    let mut mirror = Mirror::new("collector", Collect(sender)).with_security(security.clone());
    let at = mirror.add(endpoint(input));
    Collected { running: mirror.start().unwrap(), at, messages }
}

impl Writer {
    /// The other end of its endpoint, which listens.
    pub fn address(&self) -> &str {
        self.running.address(self.at).unwrap()
    }

    pub fn wait_for_reader(&self) {
        self.wait_for_readers(1);
    }

    pub fn wait_for_readers(&self, n: u64) {
        wait_until("readers are there", PATIENCE, || {
            (self.running.status()[self.at.0].counted.n_connected >= n).then_some(())
        });
    }

    pub fn send(&self, message: Message) {
        self.inlet.send(message).unwrap();
    }

    /// What is not written yet may be lost when it is stopped.
    pub fn wait_for_written(&self, n_frames: u64) {
        wait_until("all is written", PATIENCE, || {
            (self.running.status()[self.at.0].counted.n_frames >= n_frames).then_some(())
        });
    }
}

impl Collected {
    pub fn next(&self) -> Message {
        self.messages.recv_timeout(PATIENCE).expect("a message comes")
    }

    /// The next `n` samples, whatever comes between them.
    pub fn samples(&self, n: usize) -> Vec<Sample> {
        let samples = std::iter::from_fn(|| Some(self.next())).filter_map(|message| match message {
            Message::Sample(sample) => Some(sample),
            _ => None,
        });
        samples.take(n).collect()
    }
}

pub fn description() -> Description {
    Description {
        stream: "load".to_owned(),
        host: "pyramid".to_owned(),
        carries: Carries::Sample,
        step_ns: 1_000_000_000,
        signals: vec![SignalName { id: "load.1".to_owned(), unit: "tasks".to_owned() }],
        model: None,
        horizon: None,
    }
}

pub fn sample(number: u64) -> Sample {
    Sample { number, time: Timestamp::from_nanos(i64::try_from(number).unwrap()), value: number as f64 / 2.0 }
}

pub fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

pub fn with_token(text: &str) -> Security {
    Security { token: Some(Token::new(text).unwrap()), ..Security::default() }
}
