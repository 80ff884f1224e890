//! Forecasts by others of the share of a core that there will be: by a sensor of this process, or by a node.

use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::{Clock, System};
use node_api::{Client, Forecast, NodeUrl};
use playback::{Arrival, Arrivals};
use predict::Policy;
use program::Failure;
use sensor::CoreShare;
use units::Confidence;

/// The signal, here and at a node.
const SIGNAL: &str = "cpu.availability";

/// Time between two readings of the sensor.
const READ_EVERY: Duration = Duration::from_secs(1);

/// Time between two questions to a node, whose own forecasts are made as often or more so.
const ASK_EVERY: Duration = Duration::from_secs(4);

/// Time for which the last answer counts while nothing comes: as far as forecasts look.
const STALE: Duration = Duration::from_secs(32);

/// Horizon of the question to a node, and the share of what may come: a fifth is worse, and a fifth is better.
const HORIZON: Duration = Duration::from_secs(32);
const CONFIDENCE: f64 = 0.6;

/// The forecaster that is asked.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Nobody: what the work itself got has to do.
    Nobody,
    /// The sensor of CPU availability, in this process.
    Sensor,
    /// A node.
    Node(NodeUrl),
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "own" => Ok(Self::Nobody),
            "sensor" => Ok(Self::Sensor),
            node => node.parse().map(Self::Node).map_err(|error| format!("{error}; or own, or sensor")),
        }
    }
}

/// The last answer.
#[derive(Clone)]
pub struct Offered(Arc<Mutex<State>>);

struct State {
    clock: System,
    said: Option<(Duration, Arrival)>,
    problem: Option<String>,
}

impl Offered {
    /// Asks from a thread of its own, which a slow answer does not keep anybody from playing.
    pub fn start(asked: Asked, policy: Option<Policy>) -> Result<Option<Self>, Failure> {
        let state = State { clock: System::start(), said: None, problem: None };
        let offered = Self(Arc::new(Mutex::new(state)));
        let (worker, policy) =
            (offered.clone(), policy.unwrap_or_else(|| "AUTO".parse().expect("a model that is known")));
        let ask: Box<dyn FnOnce() + Send> = match asked {
            Asked::Nobody => return Ok(None),
            Asked::Sensor => {
                let share = CoreShare::open(Path::new("/"));
                Box::new(move || worker.read(share, policy))
            }
            Asked::Node(url) => Box::new(move || worker.ask(&Client::new(url, None))),
        };
        let started = std::thread::Builder::new().name("availability".to_owned()).spawn(ask);
        started.map_err(|error| Failure::work(format!("cannot start a thread: {error}")))?;
        Ok(Some(offered))
    }

    /// Returns the last answer, unless it is too old.
    pub fn now(&self) -> Option<Arrival> {
        let state = self.state();
        let now = state.clock.monotonic();
        state.said.filter(|(at, _)| now - *at < STALE).map(|(_, offered)| offered)
    }

    /// Returns the reason why there is no answer, if there is none.
    pub fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, said: Result<Arrival, String>) {
        let mut state = self.state();
        match said {
            Ok(offered) => (state.said, state.problem) = (Some((state.clock.monotonic(), offered)), None),
            Err(problem) => state.problem = Some(problem),
        }
    }

    fn read(&self, mut core: CoreShare, policy: Policy) {
        let clock = System::start();
        let mut shares = Arrivals::new(policy);
        loop {
            match core.offered(clock.monotonic()) {
                Some(share) => shares.step(share, READ_EVERY.as_secs_f64(), false),
                None => self.take(Err(format!("this host does not say its {SIGNAL}"))),
            }
            if let Some(forecast) = shares.forecast() {
                self.take(Ok(forecast));
            }
            clock::sleep(READ_EVERY);
        }
    }

    fn ask(&self, node: &Client) {
        let confidence = Confidence::new(CONFIDENCE).expect("a share between 0 and 1");
        loop {
            let answer = node.forecast(SIGNAL, HORIZON, confidence);
            self.take(answer.map_err(|error| text::with_causes(&error)).and_then(|forecast| means(&forecast)));
            clock::sleep(ASK_EVERY);
        }
    }
}

/// Means over the next seconds. Bad luck in each step is taken for bad luck over all of them, which it rarely is.
fn means(forecast: &Forecast) -> Result<Arrival, String> {
    let rows = [&forecast.lower, &forecast.mean, &forecast.upper];
    let n_steps = forecast.mean.len();
    let is_right = forecast.step_seconds > 0.0
        && n_steps > 0
        && rows.iter().all(|row| row.len() == n_steps && row.iter().all(|share| share.is_finite()));
    if !is_right {
        return Err(format!("the node's forecast of {SIGNAL} is not one of shares"));
    }
    let mean = |row: &[f64], seconds: f64| {
        let n = ((seconds / forecast.step_seconds).ceil() as usize).clamp(1, n_steps);
        (row[..n].iter().sum::<f64>() / n as f64).clamp(0.0, 1.0)
    };
    Ok(Arrival::of(|seconds| rows.map(|row| mean(row, seconds))))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use units::Timestamp;

    use super::*;

    fn forecast(mean: Vec<f64>) -> Forecast {
        Forecast {
            id: SIGNAL.to_owned(),
            unit: "ratio".to_owned(),
            origin: Timestamp::from_nanos(0),
            step_seconds: 1.0,
            confidence: CONFIDENCE,
            model: "AR(16)".to_owned(),
            model_speaking: Vec::new(),
            speakers: Vec::new(),
            standard_error: vec![0.1; mean.len()],
            lower: mean.iter().map(|mean| mean - 0.1).collect(),
            upper: mean.iter().map(|mean| mean + 0.1).collect(),
            mean,
        }
    }

    #[test]
    fn a_node_s_steps_become_means() {
        let mut shares = vec![0.9; 4];
        shares.extend([0.5; 28]);
        let found = means(&forecast(shares)).unwrap();
        assert!((found.reaches[0].expected_rate - 0.9).abs() < 1e-9);
        assert!((found.expected_rate() - (4.0 * 0.9 + 28.0 * 0.5) / 32.0).abs() < 1e-9);
        assert!((found.reaches[4].least_rate - (found.expected_rate() - 0.1)).abs() < 1e-9);
        assert!(means(&forecast(Vec::new())).is_err());
        assert!(means(&forecast(vec![f64::NAN])).is_err());
    }

    #[test]
    fn who_is_asked_is_told_by_name() {
        assert!(matches!("own".parse(), Ok(Asked::Nobody)));
        assert!(matches!("sensor".parse(), Ok(Asked::Sensor)));
        assert!(matches!("http://127.0.0.1:7311".parse(), Ok(Asked::Node(_))));
        assert!("http://user@host".parse::<Asked>().unwrap_err().ends_with("or own, or sensor"));
    }

    #[test]
    fn a_node_that_answers_with_nonsense_offers_nothing_and_is_told_of() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}");
            }
        });
        let offered = Offered::start(node.parse().unwrap(), None).unwrap().unwrap();
        let problem = loop {
            match offered.problem() {
                Some(problem) => break problem,
                None => std::thread::yield_now(),
            }
        };
        assert!(problem.contains("not a foretop node"), "{problem}");
        assert_eq!(offered.now(), None);
    }
}
