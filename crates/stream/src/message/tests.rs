//! Every message says the same after its bytes were read again.

use super::*;
use crate::frame::Decoder;
use proptest::prelude::*;
use units::Timestamp;

#[track_caller]
fn check_round_trip(message: &Message) {
    let mut decoder = Decoder::default();
    message.encode(decoder.buffer()).unwrap();
    let frame = decoder.next_frame().unwrap().unwrap();
    let read = Message::decode(&frame).unwrap();
    // NaN is a value here, so texts are compared.
    assert_eq!(format!("{read:?}"), format!("{message:?}"));
}

proptest! {
    #[test]
    fn numbers_come_back_to_the_last_bit(number: u64, time: i64, completed: i64, values: Vec<f64>, signal: u32) {
        let (time, completed) = (Timestamp::from_nanos(time), Timestamp::from_nanos(completed));
        check_round_trip(&Message::Sample(Sample { number, time, value: values.first().copied().unwrap_or(f64::NAN) }));
        check_round_trip(&Message::Measurement(Measurement { number, time, values: values.clone() }));
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        check_round_trip(&Message::Results(Results { n_read: number, n_lost: 1, n_missed: 3, n_given: 2, cpu_ns: number, bytes }));
        let standard_errors = values.iter().map(|value| value.abs()).collect();
        check_round_trip(&Message::Forecast(Forecast { number, time, completed, signal, means: values, standard_errors }));
    }
}

#[test]
fn the_bytes_are_those_of_the_document() {
    let document = include_str!("../../../../docs/formats/stream.md");
    let mut bytes = BytesMut::new();
    let time = "2026-11-21T09:00:00Z".parse().unwrap();
    Sample { number: 7, time, value: 0.75 }.encode(&mut bytes).unwrap();
    let written: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    for line in written.chunks(12) {
        assert!(document.contains(&line.join(" ")), "the document lacks {}", line.join(" "));
    }
    let (_, example) = document.split_once("```json\n").unwrap();
    let description = example.split_once("\n```").unwrap().0;
    assert!(Description::read(description.as_bytes()).is_ok());
}

#[test]
fn a_cycle_of_figure_9_takes_no_more_bytes_than_in_the_paper() {
    let frame_bytes = |message: Message| {
        let mut bytes = BytesMut::new();
        message.encode(&mut bytes).unwrap();
        bytes.len()
    };
    let time = Timestamp::from_nanos(0);
    let load = frame_bytes(Message::Measurement(Measurement { number: 0, time, values: vec![0.0; 3] }));
    let sample = frame_bytes(Message::Sample(Sample { number: 0, time, value: 0.0 }));
    let (means, standard_errors) = (vec![0.0; 30], vec![0.0; 30]);
    let forecast = Forecast { number: 0, time, completed: time, signal: 0, means, standard_errors };
    let forecast = frame_bytes(Message::Forecast(forecast));
    assert_eq!((load, sample, forecast), (52, 36, 520));
    assert_eq!(2 * load + 3 * sample + 3 * forecast, 1772);
}

#[test]
fn what_is_not_what_its_kind_says_is_refused() {
    let length = |error: MessageError| error.to_string();
    assert_eq!(length(Sample::read(&[0; 23]).unwrap_err()), "a sample of 23 bytes: 24 are needed");
    assert_eq!(
        length(Measurement::read(&[0; 20]).unwrap_err()),
        "a measurement of 20 bytes: 16 and 8 for each value are needed"
    );
    assert_eq!(
        length(Forecast::read(&[0; 36]).unwrap_err()),
        "a forecast of 36 bytes: 28 and 16 for each step are needed"
    );
    assert_eq!(length(Results::read(&[0; 39]).unwrap_err()), "a set of results of 39 bytes: 40 at least are needed");
    assert!(Request::read(br#"{"id": 1, "ask": {"do": "dance"}}"#).unwrap_err().to_string().contains("dance"));
    let long =
        format!(r#"{{"stream": "{}", "host": "", "carries": "sample", "step_ns": 1, "signals": []}}"#, "x".repeat(257));
    assert_eq!(
        Description::read(long.as_bytes()).unwrap_err().to_string(),
        "a description with 257 bytes in a name: 256 is the limit"
    );
}

#[test]
fn greetings_come_back_and_others_are_refused() {
    let (nonce, proof) = ([7; 32], [8; 32]);
    for purpose in [Purpose::Reader, Purpose::Writer, Purpose::Caller] {
        check_round_trip(&Message::Greeting(Greeting::Hello { purpose, nonce }));
    }
    check_round_trip(&Message::Greeting(Greeting::Challenge { nonce, proof }));
    check_round_trip(&Message::Greeting(Greeting::Response { proof }));
    let older = br#"{"role": "reader", "token": "0123456789abcdef"}"#;
    for refused in [&older[..], &[1, 4, 0], &[2; 64], &[3; 34], &[]] {
        let error = Greeting::read(refused).unwrap_err().to_string();
        assert!(error.starts_with("a greeting without a proof") && !error.contains("012345"), "{error}");
    }
}

#[test]
fn what_no_reader_would_take_is_not_written() {
    let refused = |message: &Message| {
        let mut out = BytesMut::from(&b"before"[..]);
        let error = message.encode(&mut out).unwrap_err();
        assert_eq!(out, b"before"[..]);
        error.to_string()
    };
    let time = Timestamp::from_nanos(0);
    let forecast = |n_means, n_standard_errors| {
        let (means, standard_errors) = (vec![0.0; n_means], vec![0.0; n_standard_errors]);
        Message::Forecast(Forecast { number: 0, time, completed: time, signal: 0, means, standard_errors })
    };
    assert_eq!(refused(&forecast(2, 1)), "a forecast with 2 means and 1 standard errors: each mean has one");
    assert_eq!(refused(&forecast(65_535, 65_535)), "a forecast with 1048588 bytes: 1048576 is the limit");
    assert!(forecast(Forecast::N_LEADS_MAX, Forecast::N_LEADS_MAX).encode(&mut BytesMut::new()).is_ok());
    let values = vec![0.0; 131_071];
    assert_eq!(
        refused(&Message::Measurement(Measurement { number: 0, time, values })),
        "a measurement with 1048584 bytes: 1048576 is the limit"
    );
    let model = "x".repeat(1 << 20);
    let ask = Ask::Forecast { model, horizon: 1, samples: vec![] };
    assert!(refused(&Message::Request(Request { id: 1, ask })).starts_with("a request with 1048"));
}

/// 4,096 names of as many bytes as there may be come to less than a frame without the units that a writer may leave
/// out.
#[test]
fn a_description_is_written_no_longer_than_it_was_read() {
    let signal = |at: usize| format!(r#"{{"id":"{at:0>242}"}}"#);
    let signals: Vec<_> = (0..4096).map(signal).collect();
    let text =
        format!(r#"{{"stream":"a","host":"b","carries":"sample","step_ns":1,"signals":[{}]}}"#, signals.join(","));
    assert!(text.len() > 1_000_000, "{}", text.len());
    let description = Description::read(text.as_bytes()).unwrap();
    check_round_trip(&Message::Description(description.clone()));
    let mut long = description;
    long.signals.iter_mut().for_each(|signal| signal.unit = "x".repeat(9));
    assert!(long.encode(&mut BytesMut::new()).unwrap_err().to_string().starts_with("a description with 11"));
}
