//! Requests and replies.

use stream::{
    Answer, Ask, CallError, Caller, Configuration, Handler, InputId, Message, Mirror, Outputs, Pending, Request,
    Security,
};
use testkit::{PATIENCE, wait_until};

use crate::world::{endpoint, path, sample};

/// Answers what a test asks.
struct Oracle {
    kept: Vec<Pending>,
}

impl Handler for Oracle {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn request(&mut self, request: Request, pending: Pending, _: &mut Outputs) {
        match request.ask {
            Ask::Latest { n } => {
                let messages: Vec<_> = (0..u64::from(n)).map(|number| Message::Sample(sample(number))).collect();
                pending.answer_with(Answer::Frames {}, &messages);
            }
            // Answered only when the next one asks.
            Ask::Refit {} => self.kept.push(pending),
            Ask::SetStep { .. } => self.kept.drain(..).chain([pending]).for_each(|kept| kept.answer(Answer::Done {})),
            Ask::Reconfigure { .. } => drop(pending),
            _ => pending.refuse("not that"),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![("kept".to_owned(), self.kept.len().to_string())]
    }
}

fn oracle(server: &str, security: &Security) -> (stream::Running<Oracle>, stream::Endpoint) {
    let mut mirror = Mirror::new("oracle", Oracle { kept: Vec::new() }).with_security(security.clone());
    let at = mirror.add(endpoint(server));
    let running = mirror.start().unwrap();
    let place = endpoint(&format!("source:{}", running.address(at).unwrap()));
    (running, place)
}

#[track_caller]
pub fn check_calls(server: &str, security: &Security) {
    let (running, place) = oracle(server, security);
    if server.starts_with("server:nats") {
        // What listens there is the NATS server, which is told of us later than at the start.
        wait_until("it can be asked", PATIENCE, || (running.status()[0].counted.n_connected == 1).then_some(()));
    }
    let mut caller = Caller::open(&place, security).unwrap();
    let (answer, messages) = caller.call(Ask::Latest { n: 500 }, PATIENCE).unwrap();
    assert_eq!((answer, messages.len()), (Answer::Frames {}, 500));
    assert_eq!(messages[499], Message::Sample(sample(499)));
    let refused = caller.call(Ask::Since { number: 0, n: 1 }, PATIENCE).unwrap_err();
    assert!(matches!(refused, CallError::Refused { ref reason, .. } if reason == "not that"), "{refused}");
    let given_up = Ask::Reconfigure { model: None, window: Some(600), horizon: None };
    let refused = caller.call(given_up, PATIENCE).unwrap_err();
    assert!(refused.to_string().ends_with("refused: the component gave no answer"), "{refused}");
    let (status, _) = caller.call(Ask::Status {}, PATIENCE).unwrap();
    let Answer::Status(status) = status else { panic!("{status:?}") };
    assert_eq!((status.component.as_str(), &status.facts[0].1[..]), ("oracle", "0"));
    assert_eq!(status.endpoints[0].counted.n_frames, 3, "three were answered before");
}

#[test]
fn what_is_asked_is_answered_over_tcp_and_unix() {
    check_calls("server:tcp:0", &Security::default());
    let folder = tempfile::tempdir().unwrap();
    check_calls(&format!("server:unix:{}", path(folder.path(), "socket")), &Security::default());
}

#[test]
fn an_answer_may_come_later_and_holds_nobody_else_up() {
    let (_running, place) = oracle("server:tcp:0", &Security::default());
    std::thread::scope(|scope| {
        let waiting = scope
            .spawn(|| Caller::open(&place, &Security::default()).unwrap().call(Ask::Refit {}, PATIENCE).unwrap().0);
        let mut other = Caller::open(&place, &Security::default()).unwrap();
        wait_until("the first has asked", PATIENCE, || {
            let (status, _) = other.call(Ask::Status {}, PATIENCE).unwrap();
            matches!(status, Answer::Status(status) if status.facts[0].1 == "1").then_some(())
        });
        assert_eq!(other.call(Ask::SetStep { step_ns: 1 }, PATIENCE).unwrap().0, Answer::Done {});
        assert_eq!(waiting.join().unwrap(), Answer::Done {});
    });
}

#[test]
fn a_configuration_reads_back() {
    let configuration = Configuration { model: "AR(16)".to_owned(), window: 600, horizon: 30 };
    let text = serde_json::to_string(&Answer::Configuration(configuration)).unwrap();
    assert_eq!(text, r#"{"is":"configuration","model":"AR(16)","window":600,"horizon":30}"#);
}
