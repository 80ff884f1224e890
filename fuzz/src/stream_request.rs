//! Any request that can be read is answered, and so that the answer can be read.

use std::io::{self, Cursor, Read, Write};

use bytes::BytesMut;
use component::{Buffer, run_core};
use predict::Policy;
use stream::{
    Answer, Ask, Carries, Decoder, Description, Handler, InputId, Measurement, Message, Outputs, Payload, Pending,
    Request, SignalName,
};
use units::Timestamp;

/// Number of measurements that a core receives after the request: history as far as it was announced, the rest to be
/// forecast.
const N_MEASUREMENTS: u64 = 20;

/// The bytes are the payload of a request. It goes to the core of a prediction server, after a description and before
/// measurements, and to a buffer that has some. What would take long is left out: large models and many steps ahead.
///
/// Returns whether it is a request.
///
/// # Panics
/// When a reply cannot be read, or none comes, or the core does not go on to the end.
pub fn stream_request(bytes: &[u8]) -> bool {
    let Ok(request) = Request::read(bytes) else {
        return false;
    };
    if is_quick(&request.ask) {
        check_core(&request);
    }
    check_buffer(request);
    true
}

fn is_quick(ask: &Ask) -> bool {
    let Ask::Reconfigure { model: Some(model), horizon, .. } = ask else { return true };
    let is_small = |policy: Policy| policy.model.fit_cost(100) < 1_000_000;
    model.parse().map_or(true, is_small) && horizon.is_none_or(|horizon| !(100..70_000).contains(&horizon))
}

/// A connection whose other end has said everything, and reads the answers at the end.
struct Said {
    said: Cursor<BytesMut>,
    answers: BytesMut,
}

impl Read for Said {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.said.read(bytes)
    }
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answers.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check_core(request: &Request) {
    let mut said = BytesMut::new();
    let messages = [Message::Description(description()), Message::Request(request.clone())];
    for message in messages.into_iter().chain(measurements()) {
        // What was read may be longer as it is written.
        if message.encode(&mut said).is_err() {
            return;
        }
    }
    let mut said = Said { said: Cursor::new(said), answers: BytesMut::new() };
    run_core(&mut said).expect("a core reads to the end");
    let answers = read(&said.answers);
    if let Ask::Reconfigure { window, .. } = request.ask
        && u64::from(window.unwrap_or(0)) <= N_MEASUREMENTS
    {
        let is_its = |answer: &Message| matches!(answer, Message::Reply(reply) if reply.id == request.id);
        assert!(answers.iter().any(is_its), "the core has not answered");
    }
}

fn check_buffer(request: Request) {
    let (mut buffer, mut outputs) = (Buffer::new(10).expect("it may keep ten"), Outputs::default());
    for message in [Message::Description(description())].into_iter().chain(measurements()) {
        buffer.message(InputId(0), message, &mut outputs);
    }
    let (pending, answer) = Pending::new(request.id);
    let id = request.id;
    buffer.request(request, pending, &mut outputs);
    let answers = read(&answer.blocking_recv().expect("a request is answered, be it by a refusal"));
    let Some((Message::Reply(reply), rest)) = answers.split_first() else { panic!("no reply comes first") };
    assert_eq!((reply.id, reply.n_frames as usize), (id, rest.len()), "the reply is of another request");
    assert!(rest.is_empty() || reply.answer == Answer::Frames {}, "frames follow a refusal");
}

fn read(answers: &[u8]) -> Vec<Message> {
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(answers);
    let frames = std::iter::from_fn(|| decoder.next_frame().expect("an answer is made of frames"));
    let messages = frames.map(|frame| Message::decode(&frame).expect("an answer can be read")).collect();
    decoder.finish().expect("an answer is whole");
    messages
}

fn description() -> Description {
    Description {
        stream: "fuzz".to_owned(),
        host: "here".to_owned(),
        carries: Carries::Measurement,
        step_ns: 1,
        signals: vec![SignalName { id: "a".to_owned(), unit: String::new() }; 2],
        model: None,
        horizon: None,
    }
}

fn measurements() -> impl Iterator<Item = Message> {
    (0..N_MEASUREMENTS).map(|number| {
        let values = vec![(number % 7) as f64, f64::NAN];
        Message::Measurement(Measurement { number, time: Timestamp::from_nanos(0), values })
    })
}
