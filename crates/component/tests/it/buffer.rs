//! Buffers.

use component::{Buffer, BufferSizeError};
use stream::{Ask, Carries, Message, Mirror};

use crate::world::{Component, Feed, Heard, ask, description, value};

fn numbers(messages: &[Message]) -> Vec<u64> {
    assert!(matches!(messages[0], Message::Description(_)), "the description comes first");
    let number = |message: &Message| match message {
        Message::Sample(sample) => sample.number,
        other => panic!("{other:?}"),
    };
    messages[1..].iter().map(number).collect()
}

#[track_caller]
fn check_buffer(feed: &str, server: &str, connect: &str) {
    let feed = Feed::start(feed, description(Carries::Sample));
    let source = feed.component.source(0);
    let buffer = Component::start(Mirror::new("buffer", Buffer::new(5).unwrap()), &[&source, server, connect]);
    let heard = Heard::at(&buffer.source(2));
    testkit::wait_until("both are connected", testkit::PATIENCE, || {
        let is_there = |status: &stream::EndpointStatus| status.counted.n_connected > 0;
        (feed.component.running.status().iter().any(is_there) && is_there(&buffer.running.status()[2])).then_some(())
    });
    (0..12).for_each(|number| feed.send(number, value(number)));
    let mut n_heard = 0;
    while n_heard < 12 {
        n_heard += u64::from(matches!(heard.next(), Message::Sample(_)));
    }
    let server = buffer.source(1);
    let answered = |question| numbers(&ask(&server, question).1);
    assert_eq!(answered(Ask::Latest { n: 3 }), [9, 10, 11]);
    assert_eq!(answered(Ask::Latest { n: 100 }), [7, 8, 9, 10, 11]);
    assert_eq!(answered(Ask::Since { number: 8, n: 2 }), [9, 10]);
    assert_eq!(answered(Ask::Since { number: 2, n: 100 }), [7, 8, 9, 10, 11], "what is gone is gone");
    assert_eq!(answered(Ask::Since { number: 11, n: 1 }), Vec::<u64>::new());
}

#[test]
fn a_buffer_keeps_the_last_and_gives_the_stream_on() {
    check_buffer("connect:tcp:0", "server:tcp:0", "connect:tcp:0");
    let folder = tempfile::tempdir().unwrap();
    let place = |role: &str| format!("{role}:unix:{}", folder.path().join(role).display());
    let feed = format!("connect:unix:{}", folder.path().join("feed").display());
    check_buffer(&feed, &place("server"), &place("connect"));
}

#[test]
fn a_buffer_of_nothing_is_refused() {
    assert_eq!(Buffer::new(0).unwrap_err(), BufferSizeError { given: 0 });
    assert_eq!(Buffer::new(1_000_001).unwrap_err().to_string(), "a buffer keeps 1 to 1000000 messages, not 1000001");
}
