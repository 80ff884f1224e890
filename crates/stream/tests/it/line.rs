//! What a handler says over lines of its own.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Sender};

use bytes::BytesMut;
use stream::{Answer, Ask, Decoder, Handler, InputId, Message, Mirror, Outputs, Payload, Pending, Request};
use testkit::PATIENCE;

use crate::world::{endpoint, sample};

/// Attaches what it makes whenever nobody is at the other end, and tells the test what comes.
struct Speaker {
    line: InputId,
    ends: Sender<UnixStream>,
    heard: Sender<Message>,
}

impl Handler for Speaker {
    fn message(&mut self, input: InputId, message: Message, _: &mut Outputs) {
        assert_eq!(input, self.line);
        self.heard.send(message).unwrap();
    }

    fn ended(&mut self, input: InputId, outputs: &mut Outputs) {
        assert_eq!(input, self.line);
        let (ours, theirs) = UnixStream::pair().unwrap();
        outputs.attach(self.line, ours);
        outputs.send_to(self.line, &sample(7));
        // A test that has seen enough takes no more.
        let _ = self.ends.send(theirs);
    }
}

fn read_one(socket: &mut UnixStream) -> Message {
    let mut decoder = Decoder::default();
    let mut bytes = [0; 512];
    loop {
        if let Some(frame) = decoder.next_frame().unwrap() {
            return Message::decode(&frame).unwrap();
        }
        let n_read = socket.read(&mut bytes).unwrap();
        assert_ne!(n_read, 0, "the line ended");
        decoder.buffer().extend_from_slice(&bytes[..n_read]);
    }
}

#[test]
fn a_line_speaks_with_one_after_the_other() {
    let (ends, end) = mpsc::channel();
    let (heard, hears) = mpsc::channel();
    let mut mirror = Mirror::new("speaker", Speaker { line: InputId(0), ends, heard });
    assert_eq!(mirror.line(), InputId(0));
    let _running = mirror.start().unwrap();
    for number in 0..20 {
        let mut other_end: UnixStream = end.recv_timeout(PATIENCE).unwrap();
        assert_eq!(read_one(&mut other_end), Message::Sample(sample(7)));
        let mut answer = BytesMut::new();
        sample(number).encode(&mut answer).unwrap();
        other_end.write_all(&answer).unwrap();
        assert_eq!(hears.recv_timeout(PATIENCE).unwrap(), Message::Sample(sample(number)));
    }
}

/// Asks at once, and again when the server came back.
struct Asker {
    server: InputId,
    heard: Sender<Message>,
}

impl Handler for Asker {
    fn message(&mut self, _: InputId, message: Message, _: &mut Outputs) {
        let _ = self.heard.send(message);
    }

    fn tick(&mut self, outputs: &mut Outputs) {
        outputs.send_to(self.server, &Request { id: 3, ask: Ask::Refit {} });
    }
}

struct Obedient;

impl Handler for Obedient {
    fn message(&mut self, _: InputId, _: Message, _: &mut Outputs) {}

    fn request(&mut self, _: Request, pending: Pending, _: &mut Outputs) {
        pending.answer(Answer::Done {});
    }
}

#[test]
fn a_handler_asks_a_server_also_when_that_began_again() {
    let serve = |place: &str| {
        let mut mirror = Mirror::new("obedient", Obedient);
        let at = mirror.add(endpoint(&format!("server:{place}")));
        let running = mirror.start().unwrap();
        let address = running.address(at).unwrap().to_owned();
        (running, address)
    };
    let (server, address) = serve("tcp:0");
    let (heard, hears) = mpsc::channel();
    let mut mirror = Mirror::new("asker", Asker { server: InputId(0), heard });
    mirror.asking(endpoint(&format!("source:{address}")));
    let _running = mirror.every(std::time::Duration::from_millis(20)).start().unwrap();
    let answered = || hears.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(answered(), Message::Reply(reply) if reply.id == 3 && reply.answer == Answer::Done {}));
    server.stop();
    while hears.try_recv().is_ok() {}
    let (_server, _) = serve(&address);
    assert!(matches!(answered(), Message::Reply(reply) if reply.answer == Answer::Done {}));
}
