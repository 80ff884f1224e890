//! Components, wired together by the test.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use clock::now;
use component::{CoreProgram, PredictionServer, PredictionSettings, Watch};
use stream::{
    Answer, Ask, Caller, Carries, Description, Endpoint, Forecast, Handler, Inlet, InputId, Message, Mirror, Outputs,
    Running, Sample, Security, SignalName,
};
use testkit::PATIENCE;

pub fn endpoint(text: &str) -> Endpoint {
    text.parse().unwrap()
}

/// Gives on what the test puts in.
pub struct PassOn;

impl Handler for PassOn {
    fn message(&mut self, _: InputId, message: Message, outputs: &mut Outputs) {
        outputs.forward(&message);
    }
}

/// A component that runs, and where the endpoints listen that it was given.
pub struct Component<H> {
    pub running: Running<H>,
    ids: Vec<InputId>,
}

impl<H: Handler> Component<H> {
    pub fn start(mut mirror: Mirror<H>, endpoints: &[&str]) -> Self {
        let ids = endpoints.iter().map(|text| mirror.add(endpoint(text))).collect();
        Self { running: mirror.start().unwrap(), ids }
    }

    /// Whether somebody is connected to endpoint `idx` of those that were given.
    pub fn is_connected(&self, idx: usize) -> bool {
        self.running.status()[self.ids[idx].0].counted.n_connected > 0
    }

    /// Where endpoint `idx` of those that were given listens, as a source.
    pub fn source(&self, idx: usize) -> String {
        format!("source:{}", self.running.address(self.ids[idx]).unwrap())
    }
}

/// A stream that the test feeds.
pub struct Feed {
    pub component: Component<PassOn>,
    inlet: Inlet,
}

impl Feed {
    pub fn start(output: &str, description: Description) -> Self {
        let mut mirror = Mirror::new("feed", PassOn);
        let (_, inlet) = mirror.inlet(1 << 20);
        let component = Component::start(mirror, &[output]);
        inlet.send(Message::Description(description)).unwrap();
        Self { component, inlet }
    }

    pub fn send(&self, number: u64, value: f64) {
        self.inlet.send(Message::Sample(Sample { number, time: time(number), value })).unwrap();
    }

    pub fn message(&self, message: Message) {
        self.inlet.send(message).unwrap();
    }
}

/// What comes by an endpoint.
pub struct Heard {
    _running: Box<dyn std::any::Any>,
    messages: Receiver<Message>,
}

impl Heard {
    pub fn at(source: &str) -> Self {
        let (sender, messages) = mpsc::channel();
        let watch = Watch::new(move |message: &Message, _| {
            // A test that has seen enough takes no more.
            let _ = sender.send(message.clone());
        });
        let component = Component::start(Mirror::new("heard", watch), &[source]);
        Self { _running: Box::new(component), messages }
    }

    #[track_caller]
    pub fn next(&self) -> Message {
        self.messages.recv_timeout(PATIENCE).expect("a message comes")
    }

    #[track_caller]
    pub fn description(&self) -> Description {
        loop {
            if let Message::Description(description) = self.next() {
                return description;
            }
        }
    }

    #[track_caller]
    pub fn sample(&self) -> Sample {
        loop {
            if let Message::Sample(sample) = self.next() {
                return sample;
            }
        }
    }

    #[track_caller]
    pub fn forecast(&self) -> Forecast {
        loop {
            if let Message::Forecast(forecast) = self.next() {
                return forecast;
            }
        }
    }
}

pub fn core() -> CoreProgram {
    CoreProgram { program: PathBuf::from(env!("CARGO_BIN_EXE_core-for-tests")), arguments: Vec::new() }
}

pub fn settings(model: &str, history: Option<&str>) -> PredictionSettings {
    PredictionSettings {
        model: model.parse().unwrap(),
        window: 600,
        horizon: 30,
        history: history.map(endpoint),
        stream: None,
        core: core(),
        core_limit: Duration::from_secs(60),
    }
}

pub fn prediction_server(settings: PredictionSettings, endpoints: &[&str]) -> Component<PredictionServer> {
    Component::start(PredictionServer::mirror("pred-server", settings).unwrap(), endpoints)
}

pub fn ask(source: &str, ask: Ask) -> (Answer, Vec<Message>) {
    Caller::open(&endpoint(source), &Security::default()).unwrap().call(ask, PATIENCE).unwrap()
}

/// What a component says of itself under this name.
pub fn fact(source: &str, name: &str) -> Option<String> {
    let (Answer::Status(status), _) = ask(source, Ask::Status {}) else { panic!("no status") };
    status.facts.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

pub fn description(carries: Carries) -> Description {
    Description {
        stream: "load".to_owned(),
        host: "pyramid".to_owned(),
        carries,
        step_ns: 1_000_000_000,
        signals: vec![SignalName { id: "load.1m".to_owned(), unit: "tasks".to_owned() }],
        model: None,
        horizon: None,
    }
}

/// When the sample of this number was taken, in a test that begins at this moment.
pub fn time(number: u64) -> units::Timestamp {
    static BEGAN: std::sync::OnceLock<units::Timestamp> = std::sync::OnceLock::new();
    let began = BEGAN.get_or_init(now).as_nanos();
    units::Timestamp::from_nanos(began + 1_000_000_000 * i64::try_from(number).unwrap())
}

/// A correlated series, the same each time.
pub fn value(number: u64) -> f64 {
    let phase = number as f64;
    (phase * 0.3).sin() + (phase * phase * 0.7).sin() / 3.0 + 2.0
}

pub fn values(numbers: std::ops::Range<u64>) -> Vec<f64> {
    numbers.map(value).collect()
}
