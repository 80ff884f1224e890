//! Workers that do not say the truth.

use job::{RunError, run};
use serde_json::{Value, json};
use stream::{Answer, Ask, Handler, InputId, Message, Mirror, Outputs, Pending, Request};

use crate::{ECHO, Hired, done, hire, numbers, runner};

/// Says of each unit that it wrote so many bytes, and sends `sent`.
struct Liar {
    n_bytes: u64,
    sent: &'static str,
    ended: Vec<Value>,
}

impl Liar {
    fn answer(&mut self, tell: &Value) -> Value {
        match tell["do"].as_str().unwrap() {
            "hello" => json!({"is": "hello", "host": "nowhere", "n_slots": 1, "commands": ["echo"]}),
            "run" => {
                let of = |unit: &Value| json!({"unit": unit["unit"], "slot": 0, "seconds": 0.1, "cpu_seconds": 0.1, "n_bytes": self.n_bytes, "failure": null});
                self.ended.extend(tell["units"].as_array().unwrap().iter().map(of));
                json!({"is": "done"})
            }
            "progress" => {
                let seen = tell["seen"].as_u64().unwrap() as usize;
                // Forecasts that make no sense are none.
                let curve = json!([[1.0, [-1.0, 0.5]], [0.5, []]]);
                json!({"is": "progress", "is_known": true, "slots": [null], "ended": self.ended[seen..], "curve": curve, "availability": 7.0})
            }
            "output" => json!({"is": "output", "bytes": self.sent, "is_all": true}),
            _ => json!({"is": "done"}),
        }
    }
}

impl Handler for Liar {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn request(&mut self, request: Request, pending: Pending, _: &mut Outputs) {
        let Ask::Work { tell } = request.ask else { return pending.refuse("no") };
        let told = self.answer(&serde_json::from_str(&tell).unwrap());
        pending.answer(Answer::Work { told: told.to_string() });
    }
}

#[track_caller]
fn check_lie(n_bytes: u64, sent: &'static str, wanted: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut mirror = Mirror::new("liar", Liar { n_bytes, sent, ended: Vec::new() });
    let at = mirror.add("server:tcp:0".parse().unwrap());
    let running = mirror.start().unwrap();
    let honest = hire(&["echo=/bin/echo"], stream::Security::default());
    let source = format!("source:{}", running.address(at).unwrap());
    let mut runner = runner(folder.path(), 12, ECHO, &[&honest]);
    let mut liar = runner.job.workers[0].clone();
    (liar.name, liar.endpoint) = ("liar".to_owned(), Some(source));
    runner.job.workers.push(liar);
    let mut why = String::new();
    let (finished, outputs) = run(&runner, &|| false, &mut |news| {
        if let job::News::Lost { why: told, .. } = news {
            told.clone_into(&mut why);
        }
    })
    .unwrap();
    assert!(why.contains(wanted), "{why}");
    // What it said to have done was done by somebody else.
    assert_eq!((crate::text(&outputs), finished.parts[1].n_units), (numbers(12), 0));
    running.stop();
}

#[test]
fn outputs_that_are_cut_off_or_too_long_are_not_taken() {
    // In base64, "7\n".
    check_lie(100, "Nwo=", "wrote 100 bytes, and 2 came");
    check_lie(1, "Nwo=", "wrote 1 bytes, and 2 came");
    check_lie(1 << 40, "Nwo=", "wrote 1099511627776 bytes, and 1073741824 are taken");
    check_lie(2, "not base64!", "");
}

#[test]
fn a_worker_without_sense_is_lost_and_nobody_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut mirror = Mirror::new("liar", Liar { n_bytes: 9, sent: "", ended: Vec::new() });
    let at = mirror.add("server:tcp:0".parse().unwrap());
    let running = mirror.start().unwrap();
    let hired: Hired = hire(&["echo=/bin/echo"], stream::Security::default());
    let mut runner = runner(folder.path(), 3, ECHO, &[&hired]);
    runner.job.workers[0].endpoint = Some(format!("source:{}", running.address(at).unwrap()));
    assert!(matches!(run(&runner, &|| false, &mut |_| {}).map(|_| ()), Err(RunError::NoWorker)));
    runner.job.workers[0].endpoint = Some(hired.source.clone());
    assert_eq!(done(&runner).1, numbers(3));
    running.stop();
}
