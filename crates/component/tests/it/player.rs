//! Recording a stream, and playing it.

use std::fs::File;
use std::io::Cursor;

use component::{Relay, Speed, play};
use stream::{Carries, Message, Mirror};

use crate::world::{Component, Feed, Heard, description, value};

#[test]
fn what_was_recorded_is_played_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
    let target = format!("target:file:{}", path.display());
    let recorder = Component::start(Mirror::new("record", Relay), &[&feed.component.source(0), &target]);
    testkit::wait_until("the recorder reads", testkit::PATIENCE, || {
        (recorder.running.status()[0].counted.n_frames > 0).then_some(())
    });
    (0..50).for_each(|number| feed.send(number, value(number)));
    testkit::wait_until("all is written", testkit::PATIENCE, || {
        (recorder.running.status()[1].counted.n_frames >= 51).then_some(())
    });
    recorder.running.stop();

    let mut mirror = Mirror::new("play", Relay);
    let (_, inlet) = mirror.inlet(10);
    let player = Component::start(mirror, &["connect:tcp:0"]);
    let heard = Heard::at(&player.source(0));
    testkit::wait_until("somebody listens", testkit::PATIENCE, || {
        (player.running.status()[1].counted.n_connected > 0).then_some(())
    });
    let played = play(File::open(&path).unwrap(), Speed::Times(1e6), &inlet).unwrap();
    // A description may stand there twice: a target begins with it whenever it is opened.
    assert!(played.n_messages >= 51 && played.n_bytes_left_out == 0, "{played:?}");
    assert_eq!(heard.description(), description(Carries::Sample));
    for number in 0..50 {
        let sample = heard.sample();
        assert_eq!((sample.number, sample.value), (number, value(number)));
    }
}

#[test]
fn damage_is_left_out_and_counted() {
    let mut bytes = bytes::BytesMut::new();
    Message::Description(description(Carries::Sample)).encode(&mut bytes).unwrap();
    let n_damaged = bytes.len() as u64;
    bytes[20] ^= 1;
    Message::Sample(stream::Sample { number: 1, time: crate::world::time(1), value: 1.0 }).encode(&mut bytes).unwrap();
    let mut mirror = Mirror::new("play", Relay);
    let (_, inlet) = mirror.inlet(10);
    let _player = mirror.start().unwrap();
    let played = play(Cursor::new(bytes), Speed::Max, &inlet).unwrap();
    assert_eq!((played.n_messages, played.n_bytes_left_out), (1, n_damaged));
}
