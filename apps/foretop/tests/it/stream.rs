//! Prediction systems of real components: Figure 9 of RPS (Dinda and O'Hallaron 1999), wired by endpoints.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use predict::Spec;
use testkit::{PATIENCE, wait_until};

use crate::command::{foretop, run};

/// A component that is killed when the test ends.
pub struct Component {
    child: Child,
    line: String,
}

impl Component {
    #[track_caller]
    pub fn start(args: &[&str]) -> Self {
        Self::of(foretop().arg("stream").args(args))
    }

    /// Whatever says that it is up as components do.
    #[track_caller]
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("is up"), "{command:?} is not up: {line}");
        Self { child, line }
    }

    /// Where the endpoint of this role listens, as a source.
    pub fn source(&self, role: &str) -> String {
        let (_, listens) = self.line.split_once("is up: ").unwrap();
        let (_, place) = listens.split_once(&format!("{role} ")).unwrap();
        format!("source:{}", place.split([',', '\n']).next().unwrap())
    }

    fn fact(&self, name: &str) -> Option<String> {
        let status = run(&["stream", "status", "--json", &self.source("server")]).json();
        let facts = status["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact[0] == name).map(|fact| fact[1].as_str().unwrap().to_owned())
    }

    fn terminate(mut self) -> Option<i32> {
        signal("-TERM", &self.child.id().to_string());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

/// The messages of a kind among JSON lines.
pub fn of_kind(lines: &str, kind: &str) -> Vec<serde_json::Value> {
    let messages = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    messages.filter(|message| message["kind"] == kind).collect()
}

pub fn numbers(array: &serde_json::Value) -> Vec<f64> {
    array.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// Every part of Figure 9, with `--OUTPUT` endpoints made by `place`.
#[track_caller]
fn check_figure_9(mut place: impl FnMut(&str) -> String) {
    let load = Component::start(&["load-server", "--synthetic", "--step", "2ms", &place("connect"), &place("server")]);
    let to_measure = Component::start(&["to-measure", "synthetic", &load.source("connect"), &place("connect")]);
    let buffer = ["measure-buffer", "100000", &to_measure.source("connect"), &place("server"), &place("connect")];
    let measure_buffer = Component::start(&buffer);
    wait_until("there is a window of samples", PATIENCE, || {
        let newest = measure_buffer.fact("messages")?;
        (newest.split(' ').next()?.parse::<u32>().ok()? >= 700).then_some(())
    });
    let (samples, history) = (measure_buffer.source("connect"), measure_buffer.source("server"));
    let server =
        Component::start(&["pred-server", "--history", &history, &samples, &place("server"), &place("connect")]);
    let forecasts = server.source("connect");
    let refit = ["--error-max", "1e9", "--misestimate-max", "1e9", "--refit", &server.source("server")];
    let eval_fit = Component::start(&[&["eval-fit"], &refit[..], &[&samples, &forecasts, &place("server")]].concat());
    let pred_buffer = Component::start(&["pred-buffer", "10000", &forecasts, &place("server"), &place("connect")]);

    let client = ["stream", "pred-client", "--json", "--latency", "--count", "20", &pred_buffer.source("connect")];
    let read = run(&client).stdout;
    let read_forecasts = of_kind(&read, "forecast");
    assert_eq!((read_forecasts.len(), of_kind(&read, "latency").len()), (20, 1), "{read}");

    let kept = run(&["stream", "measure-buffer-client", &history, "--latest", "100000", "--json"]).output();
    let kept = of_kind(&kept, "sample");
    check_forecasts(&kept, &read_forecasts, &server.fact("restarts").unwrap());
    wait_until("forecasts are scored", PATIENCE, || eval_fit.fact("error_of_lead_1"));
    assert_eq!(eval_fit.fact("refits_ordered").as_deref(), Some("0"));

    // The core is killed; its place is taken, and the client goes on reading.
    signal("-KILL", &server.fact("core_pid").unwrap());
    wait_until("the core is started again", PATIENCE, || (server.fact("restarts")? == "1").then_some(()));
    let read = run(&client).stdout;
    let read: Vec<_> = of_kind(&read, "forecast").iter().map(|forecast| forecast["number"].as_u64().unwrap()).collect();
    assert!(read.windows(2).all(|pair| pair[1] == pair[0] + 1), "{read:?}");

    let changed = run(&["pred-reconfig", &server.source("server"), "--model", "AR(4)", "--horizon", "5"]).output();
    assert_eq!(changed, "AR(4) on the last 600 samples, 5 steps ahead\n");
    wait_until("forecasts are of five steps", PATIENCE, || {
        let latest = ["stream", "pred-buffer-client", &pred_buffer.source("server"), "--latest", "1", "--csv"];
        (run(&latest).output().lines().count() == 6).then_some(())
    });
    let slower = ["stream", "load-reconfig", &load.source("server"), "--step", "10ms"];
    assert_eq!(run(&slower).output(), "");
    for component in [load, to_measure, measure_buffer, server, eval_fit, pred_buffer] {
        assert_eq!(component.terminate(), Some(0));
    }
}

/// Forecasts are those of the library, of a model that was fitted to the 600 samples before the first that was
/// answered.
#[track_caller]
fn check_forecasts(samples: &[serde_json::Value], forecasts: &[serde_json::Value], restarts: &str) {
    assert_eq!(restarts, "0");
    let values: Vec<f64> = samples.iter().map(|sample| sample["value"].as_f64().unwrap()).collect();
    let place = |message: &serde_json::Value| {
        let number = &message["number"];
        samples.iter().position(|sample| sample["number"] == *number).expect("its sample was kept")
    };
    let read = place(&forecasts[0]);
    // Where the core began is not said: it is where its first forecast that was read agrees.
    let speaks = |began: usize| {
        let mut predictor = predict::fit(&Spec::ar(16), &values[began - 600..began]).unwrap().predictor();
        values[began..=read].iter().for_each(|value| predictor.step(*value));
        let agrees = predictor.forecast(30).means() == numbers(&forecasts[0]["means"]);
        agrees.then_some(predictor)
    };
    let mut predictor = (600..=read).rev().find_map(speaks).expect("a fit to 600 samples says this");
    for (idx, forecast) in forecasts.iter().enumerate() {
        assert_eq!(place(forecast), read + idx, "no forecast is missing");
        if idx > 0 {
            predictor.step(values[read + idx]);
        }
        let expected = predictor.forecast(30);
        assert_eq!(numbers(&forecast["means"]), expected.means());
        assert_eq!(numbers(&forecast["standard_errors"]), expected.standard_errors());
    }
}

#[test]
fn figure_9_forecasts_what_the_library_does_over_tcp() {
    check_figure_9(|role| format!("{role}:tcp:0"));
}

#[test]
fn figure_9_forecasts_what_the_library_does_over_unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let mut n_made = 0;
    check_figure_9(|role| {
        n_made += 1;
        format!("{role}:unix:{}", folder.path().join(n_made.to_string()).display())
    });
}

#[test]
fn a_stream_is_recorded_played_and_forecast_once() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("made.frames").display().to_string();
    let load = Component::start(&["load-server", "--synthetic", "--step", "1ms", "connect:tcp:0"]);
    let to_measure = Component::start(&["to-measure", "0", &load.source("connect"), "connect:tcp:0"]);
    let record = Component::start(&[
        "record",
        &to_measure.source("connect"),
        &format!("target:file:{recording}"),
        "server:tcp:0",
    ]);
    wait_until("something is recorded", PATIENCE, || {
        (std::fs::metadata(&recording).ok()?.len() > 10_000).then_some(())
    });
    assert_eq!(record.terminate(), Some(0));
    // Standard output carries the stream, and the line that says that it is up goes elsewhere.
    let played =
        foretop().args(["stream", "play", &recording, "--speed", "max", "target:stdio:stdout"]).output().unwrap();
    assert!(played.status.success() && played.stdout.starts_with(b"FT"));
    let client = foretop().args(["stream", "client", "--json", &format!("source:file:{recording}")]).output().unwrap();
    let samples = of_kind(&String::from_utf8(client.stdout).unwrap(), "sample");
    assert!(samples.len() > 100, "{}", samples.len());

    let csv = folder.path().join("made.csv");
    let column: String = samples.iter().map(|sample| format!("{}\n", sample["value"])).collect();
    std::fs::write(&csv, column).unwrap();
    let once = Component::start(&["pred-once-server", "server:tcp:0"]);
    let asked = ["stream", "pred-once-client", &once.source("server"), "--model", "AR(4)", "--horizon", "7", "--json"];
    let answer = run(&[&asked[..], &[csv.to_str().unwrap()]].concat()).json();
    let values: Vec<f64> = samples.iter().map(|sample| sample["value"].as_f64().unwrap()).collect();
    let expected = predict::fit(&Spec::ar(4), &values).unwrap().predictor().forecast(7);
    assert_eq!(numbers(&answer["means"]), expected.means());
}

#[test]
fn the_monolith_forecasts_in_one_process() {
    let monolith = ["monolith", "--synthetic", "--step", "1ms", "--model", "AR(2)", "--horizon", "3", "connect:tcp:0"];
    let monolith = Component::start(&monolith);
    let read = run(&["stream", "client", "--json", "--count", "5", &monolith.source("connect")]).stdout;
    let forecasts = of_kind(&read, "forecast");
    assert_eq!(forecasts.len(), 5);
    assert!(forecasts.iter().all(|forecast| forecast["means"].as_array().unwrap().len() == 3));
    assert_eq!(monolith.terminate(), Some(0));
}

/// The first line on standard error of a component that has nothing to say on standard output.
#[track_caller]
fn complaint(args: &[&str]) -> String {
    let mut child = foretop().arg("stream").args(args).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.into_iter().find(|line| line.contains("WARN")).unwrap_or_default();
    child.kill().unwrap();
    child.wait().unwrap();
    line
}

#[test]
fn what_cannot_be_reached_or_measured_is_told() {
    // Nobody listens there any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let source = format!("source:tcp:127.0.0.1:{port}");
    let line = complaint(&["client", &source]);
    assert!(line.contains(&source) && line.contains("refused"), "{line}");
    let line = complaint(&["load-server", "--signal", "nope.*", "--step", "1ms", "connect:tcp:0"]);
    assert!(line.contains("nothing is sent"), "{line}");
}

#[test]
fn a_component_whose_output_nobody_takes_ends_when_it_is_told_twice() {
    let load = Component::start(&["load-server", "--synthetic", "--step", "0", "connect:tcp:0", "server:tcp:0"]);
    let client = ["stream", "client", &load.source("connect")];
    let mut client = foretop().args(client).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the client is stuck", PATIENCE, || {
        let status = run(&["stream", "status", "--json", &load.source("server")]).json();
        (status["endpoints"][0]["backlog_bytes"].as_u64()? > 100_000).then_some(())
    });
    let ended = wait_until("it ends", PATIENCE, || {
        signal("-TERM", &client.id().to_string());
        client.try_wait().unwrap()
    });
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15));
}

#[test]
fn a_client_waits_for_whoever_connects_to_it() {
    let client = ["stream", "client", "--json", "--count", "3", "accept:tcp:0"];
    let mut client = foretop().args(client).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(client.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    let place = line.trim_end().split_once("accept ").unwrap().1;
    let target = format!("target:{place}");
    let load = foretop().args(["stream", "load-server", "--synthetic", "--step", "1ms", &target]).spawn().unwrap();
    let _load = Component { child: load, line: String::new() };
    let ended = client.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_eq!(of_kind(&String::from_utf8(ended.stdout).unwrap(), "measurement").len(), 3);
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    run(&["stream", "buffer", "0", "server:tcp:0"]).check_failed(2, "a buffer keeps 1 to 1000000 messages, not 0");
    run(&["stream", "load-server", "--step", "0", "connect:tcp:0"]).check_failed(2, "--synthetic");
    run(&["stream", "load-server", "--step", "1ns", "connect:tcp:0"]).check_failed(2, "a step is 1us to 1d, not 1ns");
    run(&["stream", "pred-server", "--window", "1", "connect:tcp:0"]).check_failed(2, "2 to 1000000 samples");
    run(&["stream", "eval-fit", "--misestimate-max", "0.5", "connect:tcp:0"]).check_failed(2, "a factor above 1");
    run(&["pred-reconfig", "source:tcp:127.0.0.1:1"]).check_failed(2, "--refit");
    run(&["pred-reconfig", "server:tcp:1", "--refit"]).check_failed(2, "to ask a server, write source:tcp:1");
    run(&["stream", "status", "source:unix:/nonexistent"]).check_failed(1, "cannot open server:unix:/nonexistent");
}
