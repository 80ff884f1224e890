//! Buffers.

use component::{Buffer, BufferSizeError};
use stream::{Ask, Caller, Carries, Description, Message, Mirror, Sample, Security, SignalName};

use crate::world::{Component, Feed, Heard, ask, description, endpoint, fact, time, value};

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
        (feed.component.is_connected(0) && buffer.is_connected(2)).then_some(())
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

/// This one ended its component: it did not fit into a frame when it was written again.
#[test]
fn a_description_that_fits_into_no_frame_is_told_and_the_component_goes_on() {
    let mut mirror = Mirror::new("buffer", Buffer::new(10).unwrap());
    let (_, inlet) = mirror.inlet(10);
    let server = mirror.add(endpoint("server:tcp:0"));
    let output = mirror.add(endpoint("connect:tcp:0"));
    let running = mirror.start().unwrap();
    let reader = Heard::at(&format!("source:{}", running.address(output).unwrap()));
    testkit::wait_until("the reader is there", testkit::PATIENCE, || {
        (running.status()[output.0].counted.n_connected > 0).then_some(())
    });
    let send = |message| inlet.send(message).unwrap();
    let long = |at: usize| SignalName { id: format!("{at:0>242}"), unit: "x".repeat(9) };
    let sample = |number| Message::Sample(Sample { number, time: time(number), value: value(number) });
    let described = description(Carries::Sample);
    send(Message::Description(Description { signals: (0..4096).map(long).collect(), ..described.clone() }));
    send(sample(1));
    let source = format!("source:{}", running.address(server).unwrap());
    let mut caller = Caller::open(&endpoint(&source), &Security::default()).unwrap();
    let error = testkit::wait_until("the description is there", testkit::PATIENCE, || {
        caller.call(Ask::Latest { n: 5 }, testkit::PATIENCE).err()
    });
    let error = error.to_string();
    assert!(error.contains("the answer cannot be sent: a description with 11"), "{error}");
    let because = fact(&source, "unsent_because").unwrap();
    assert!(because.ends_with("bytes: 1048576 is the limit"), "{because}");
    send(Message::Description(described));
    send(sample(2));
    assert_eq!(reader.sample().number, 2, "what was of the other description is not read as of this one");
    let (_, messages) = ask(&source, Ask::Latest { n: 5 });
    assert_eq!(messages[1..], [sample(2)]);
}
