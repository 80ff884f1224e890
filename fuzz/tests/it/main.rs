//! Each decoder on random inputs from a fixed seed, made so that a good part of them gets past the first check.

use std::cell::Cell;

use predict::Spec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed, TestRunner};

const N_CASES: u32 = 4000;

/// Runs `check` on inputs, of which at least `n_taken_min` have to be taken: else they would not get far into the
/// decoder.
#[track_caller]
fn check_inputs(inputs: impl Strategy<Value = Vec<u8>>, n_taken_min: u32, check: fn(&[u8]) -> bool) {
    let taken = Cell::new(0);
    let config = ProptestConfig {
        cases: N_CASES,
        rng_seed: RngSeed::Fixed(20_190_427),
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    };
    let outcome = TestRunner::new(config).run(&inputs, |bytes| {
        taken.set(taken.get() + u32::from(check(&bytes)));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(taken.get() >= n_taken_min, "{} of {N_CASES} inputs were taken", taken.get());
}

/// Words of the catalogue's texts, numbers for its letters, and words that do not belong there.
fn word() -> impl Strategy<Value = String> {
    let catalogue = Spec::catalogue().iter().flat_map(|(text, _)| text.split(|c: char| !c.is_alphanumeric()));
    let others = ["css", "ml", "ls", "yw", "truncation", "1e9", "+1", "-1", "", " ", "é", "("];
    let words: Vec<String> = catalogue.chain(others).map(str::to_owned).collect();
    prop_oneof![1 => prop::sample::select(words), 2 => (0..40_u32).prop_map(|number| number.to_string())]
}

/// A name with arguments that may be such texts themselves.
fn call() -> impl Strategy<Value = String> {
    let names: Vec<String> = Spec::catalogue()
        .iter()
        .map(|(text, _)| text.split('(').next().expect("a split has a first part").to_owned())
        .collect();
    let text = move |arguments: BoxedStrategy<String>| {
        (prop::sample::select(names.clone()), prop::collection::vec(arguments, 0..5))
            .prop_map(|(name, arguments)| match arguments.len() {
                0 => name,
                _ => format!("{name}({})", arguments.join(",")),
            })
            .boxed()
    };
    let named = (word(), word()).prop_map(|(key, value)| format!("{key}={value}"));
    let flat = prop_oneof![4 => word(), 1 => named].boxed();
    let inner = text(flat.clone());
    let window = (inner.clone(), 1..2000_u32, 1..2000_u32)
        .prop_map(|(model, every, window)| format!("REFIT({model},every={every},window={window})"));
    prop_oneof![4 => inner.clone(), 1 => window, 1 => text(prop_oneof![flat, inner].boxed())]
}

/// `text` with a few of its bytes overwritten.
fn damaged(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2);
    (text, changes).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (place, byte) in changes {
            let idx = place.index(bytes.len());
            bytes[idx] = byte;
        }
        bytes
    })
}

#[test]
fn a_specification_reads_back_or_is_refused() {
    check_inputs(damaged(call()), 100, fuzz::specification);
}

#[test]
fn arbitrary_text_is_read_without_a_panic() {
    let arbitrary = prop_oneof![".{0,300}", "[A-Z]{1,6}\\([-a-z0-9=,()]{0,40}\\)"];
    check_inputs(arbitrary.prop_map(String::into_bytes), 0, fuzz::specification);
}

#[test]
fn a_changed_state_goes_on_or_is_refused() {
    let changes = prop::collection::vec(any::<[u8; 3]>(), 0..4);
    let inputs = (0..fuzz::N_SAVED, changes).prop_map(|(choice, changes)| [&[choice], changes.as_flattened()].concat());
    check_inputs(inputs, 1000, fuzz::predictor_state);
}

#[test]
fn arbitrary_bytes_are_restored_without_a_panic() {
    let inputs = prop::collection::vec(any::<u8>(), 0..300).prop_map(|body| [&[fuzz::N_SAVED], &body[..]].concat());
    check_inputs(inputs, 0, fuzz::predictor_state);
}

#[test]
fn a_message_of_a_flow_transfer_writes_back_or_is_refused() {
    let greeting = prop::collection::vec(any::<u8>(), 32).prop_map(|nonce| [b"\0FTFT\x01", &nonce[..]].concat());
    let sealed = (3..5_u8, 0..6_u8, prop::collection::vec(any::<u8>(), 0..50))
        .prop_map(|(choice, first, rest)| [&[choice, first], &rest[..]].concat());
    let arbitrary = prop::collection::vec(any::<u8>(), 0..50)
        .prop_flat_map(|rest| (0..6_u8).prop_map(move |choice| [&[choice], &rest[..]].concat()));
    check_inputs(prop_oneof![1 => greeting, 4 => sealed, 1 => arbitrary], 1000, fuzz::flow_message);
}

/// Templates, each right or nearly so.
fn template() -> impl Strategy<Value = String> {
    let model = prop::sample::select(vec![
        "LAST",
        "AR(1..32)",
        "ARMA(0..4,0..4)",
        "AR(0..2)",
        "REFIT(AR(1..4),every=9..10,window=50)",
        "AUTO",
        "AX",
    ]);
    let models = prop::collection::vec(model.prop_map(|text| format!("\"{text}\"")), 1..4);
    let lengths = || prop_oneof![3 => (1..900_u32, 0..900_u32).prop_map(|(low, more)| format!("\"{low}..{}\"", low + more)), 1 => (0..2000_u32).prop_map(|n| n.to_string())];
    let leads = prop_oneof![Just("\"1..30\"".to_owned()), Just("[1, 5]".to_owned()), lengths()];
    let lists = ("[0-9]{1,2}(, [0-9]{1,3}){0,2}", "[0-9](, [0-9])?");
    let transformation = lists.prop_map(|(aggregate, difference)| {
        format!("[transformation]\naggregate = [{aggregate}]\ndifference = [{difference}]\n")
    });
    (models, lengths(), lengths(), leads, prop::option::of(transformation)).prop_map(
        |(models, fit, test, leads, transformation)| {
            let models = models.join(", ");
            let transformation = transformation.unwrap_or_default();
            format!("models = [{models}]\nfit = {fit}\ntest = {test}\nleads = {leads}\n{transformation}")
        },
    )
}

#[test]
fn a_template_has_cases_that_fit_or_is_refused() {
    check_inputs(damaged(template()), 400, fuzz::crossval_template);
}

#[test]
fn arbitrary_text_is_no_template_and_no_panic() {
    let arbitrary = prop_oneof![".{0,300}", "(models|fit|test|leads) = [-\"\\[\\]0-9.,A-Z()]{0,30}\n"];
    check_inputs(arbitrary.prop_map(String::into_bytes), 0, fuzz::crossval_template);
}

/// Lines of pages, each right or nearly so.
fn page_line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "a_total", "a_bucket", "a_count", "a_created", "b"]);
    let kind = prop::sample::select(vec!["counter", "gauge", "histogram", "gaugehistogram", "summary", "tally"]);
    let labels =
        prop::sample::select(vec!["", "{le=\"1\"}", "{le=\"+Inf\"}", "{c=\"\\\\\\n\\\"\",d=\"\"}", "{c=\"1\""]);
    let value = prop_oneof![any::<f64>().prop_map(|value| value.to_string()), "[-+0-9a-z ]{0,9}"];
    prop_oneof![
        1 => (name.clone(), kind).prop_map(|(name, kind)| format!("# TYPE {name} {kind}\n")),
        4 => (name, labels, value).prop_map(|(name, labels, value)| format!("{name}{labels} {value}\n")),
        1 => Just("# EOF\n\0".to_owned()),
    ]
}

#[test]
fn a_damaged_page_becomes_signals_that_can_be_shown() {
    let lines = prop::collection::vec(page_line(), 0..20).prop_map(|lines| lines.concat());
    let inputs = (0..4_u8, damaged(lines.prop_map(|lines| lines + "# EOF\n")));
    check_inputs(inputs.prop_map(|(choice, page)| [&[choice], &page[..]].concat()), 1000, fuzz::exporter_page);
}

#[test]
fn arbitrary_bytes_are_read_as_a_page_without_a_panic() {
    check_inputs(prop::collection::vec(any::<u8>(), 0..300), 0, fuzz::exporter_page);
}

/// A payload behind the byte that says what it is of: numbers of the right length, or JSON that is right or nearly so.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let numbers = |n_bytes: usize| prop::collection::vec(any::<u8>(), n_bytes);
    let of_length = prop_oneof![
        (0..20_usize).prop_flat_map(move |n| (Just(2_u8), numbers(16 + 8 * n))),
        (Just(4_u8), numbers(24)),
        (0..20_usize).prop_flat_map(move |n| (Just(6_u8), numbers(28 + 16 * n))),
        prop::sample::select(vec![34, 65, 33]).prop_flat_map(move |n| {
            let first = match n {
                34 => vec![1, 2],
                65 => vec![2],
                _ => vec![3],
            };
            let rest = numbers(n - first.len());
            (Just(12_u8), rest.prop_map(move |rest| [&first[..], &rest].concat()))
        }),
    ];
    let texts = vec![
        (
            0_u8,
            r#"{"stream": "a", "host": "b", "carries": "forecast", "step_ns": 1, "signals": [{"id": "c"}], "horizon": 3}"#,
        ),
        (8, r#"{"id": 1, "ask": {"do": "reconfigure", "window": 600}}"#),
        (8, r#"{"id": 1, "ask": {"do": "forecast", "model": "LAST", "horizon": 3, "samples": [1.5, null]}}"#),
        (10, r#"{"id": 1, "n_frames": 2, "answer": {"is": "refused", "reason": "é"}}"#),
    ];
    let json =
        prop::sample::select(texts).prop_flat_map(|(choice, text)| (Just(choice), damaged(Just(text.to_owned()))));
    prop_oneof![of_length, json].prop_map(|(choice, payload)| [&[choice], &payload[..]].concat())
}

#[test]
fn a_message_in_a_frame_reads_back_or_is_refused() {
    check_inputs(payload(), 1000, fuzz::stream_frame);
}

#[test]
fn a_damaged_run_of_frames_gives_what_is_whole_in_it() {
    let framed = prop::collection::vec(prop::collection::vec(any::<u8>(), 24), 1..5).prop_map(|samples| {
        let mut bytes = bytes::BytesMut::new();
        samples
            .iter()
            .try_for_each(|sample| {
                stream::encode(stream::Kind::Sample, &mut bytes, |out| {
                    out.extend_from_slice(sample);
                    Ok(())
                })
            })
            .unwrap();
        bytes.to_vec()
    });
    let inputs =
        (framed, any::<prop::sample::Index>(), any::<u8>(), any::<u8>()).prop_map(|(mut bytes, place, byte, cut)| {
            let idx = place.index(bytes.len());
            bytes[idx] = byte;
            [&[cut | 1], &bytes[..]].concat()
        });
    check_inputs(inputs, 1000, fuzz::stream_frame);
}

/// Requests of every kind, each right or nearly so.
fn request() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![4 => 0..50_u64, 1 => any::<u32>().prop_map(u64::from), 1 => any::<u64>()];
    let reconfigure = (call(), number(), number()).prop_map(|(model, window, horizon)| {
        format!(r#"{{"do": "reconfigure", "model": "{model}", "window": {window}, "horizon": {horizon}}}"#)
    });
    let ask = prop_oneof![
        4 => reconfigure,
        1 => number().prop_map(|n| format!(r#"{{"do": "latest", "n": {n}}}"#)),
        1 => (number(), number()).prop_map(|(number, n)| format!(r#"{{"do": "since", "number": {number}, "n": {n}}}"#)),
        1 => number().prop_map(|step| format!(r#"{{"do": "set_step", "step_ns": {step}}}"#)),
        1 => prop::sample::select(vec![r#"{"do": "refit"}"#, r#"{"do": "status"}"#]).prop_map(str::to_owned),
        1 => call().prop_map(|model| format!(r#"{{"do": "forecast", "model": "{model}", "horizon": 2, "samples": [1]}}"#)),
    ];
    damaged((number(), ask).prop_map(|(id, ask)| format!(r#"{{"id": {id}, "ask": {ask}}}"#)))
}

#[test]
fn a_request_is_answered_and_the_answer_can_be_read() {
    check_inputs(request(), 1000, fuzz::stream_request);
}

#[test]
fn arbitrary_text_is_no_request_and_no_panic() {
    let model =
        ".{0,300}".prop_map(|model| format!(r#"{{"id": 1, "ask": {{"do": "reconfigure", "model": {model:?}}}}}"#));
    check_inputs(model.prop_map(String::into_bytes), 0, fuzz::stream_request);
}

/// Blocks of a trace file: events whose numbers are small, as in most files, and notes.
fn block_of_trace() -> impl Strategy<Value = Vec<u8>> {
    let event = (0..3_u8, 0..20_u8, 0..128_u8, prop::collection::vec(0..128_u8, 0..6))
        .prop_map(|(template, operation, flags, values)| [&[template, operation, flags], &values[..]].concat());
    let known = prop_oneof![19 => Just(0_u8), 1 => Just(1)];
    let repeated = (known, 0..128_u8, 0..128_u8).prop_map(|(template, start, span)| vec![template, start, span]);
    let events = prop::collection::vec(prop_oneof![1 => event, 19 => repeated], 1..6);
    let first = (0..128_u8, 0..128_u8).prop_map(|(start, span)| vec![0, 11, 8, 4, start, span]);
    let block = (first, events, 0..3_u8).prop_map(|(first, events, n_lost)| {
        let n_events = 1 + events.len() as u8;
        let payload = [&[0, n_lost, n_events], &first[..], &events.concat()].concat();
        [&[0, payload.len() as u8], &payload[..]].concat()
    });
    let note = prop::sample::select(vec![
        r#"{"communicator":2,"id":"00000000000000ff","ranks":[1,0]}"#,
        r#"{"until_ticks":7,"until_monotonic_ns":4}"#,
        r#"{"offset_ns":-9,"error_ns":3,"monotonic_ns":5,"at":"init"}"#,
        r#"{"tree":"0000000000000001","text":""}"#,
        r#"{"ring":1,"kind":"stages","thread":0,"clock":"monotonic","ticks":1,"monotonic_ns":1}"#,
        r#"{"kernel_ns":4,"voluntary_switches":1,"forced_switches":9,"waited_ns":7,"stolen_ns":0}"#,
        r#"{"ring":0}"#,
    ]);
    // All four collectors of a tree in an allreduce, a reduce or a broadcast, and some of later ones.
    let places = prop::collection::vec((0..128_u8, 0..128_u8), 4);
    let later = prop::collection::vec((0..4_u8, 0..128_u8, 0..128_u8, 0..3_u8), 0..12);
    let stages = (prop::sample::select(vec![45_u8, 79, 49]), places, later).prop_map(|(operation, places, later)| {
        let each = (0..).zip(&places).flat_map(|(at, (start, span))| [at, operation, 6, at, *start, *span, 0]);
        let after = later.iter().flat_map(|&(at, start, span, sequence)| [at, start, span, sequence]);
        let payload =
            [&[9, 0, 4 + later.len() as u8], &each.collect::<Vec<u8>>()[..], &after.collect::<Vec<u8>>()].concat();
        [&[0, payload.len() as u8], &payload[..]].concat()
    });
    prop_oneof![2 => stages, 4 => block, 1 => note.prop_map(|text| [&[1, text.len() as u8], text.as_bytes()].concat())]
}

#[test]
fn a_trace_file_is_read_up_to_what_is_wrong_and_merges_into_the_same() {
    let blocks = prop::collection::vec(block_of_trace(), 1..4).prop_map(|blocks| [&[1], &blocks.concat()[..]].concat());
    check_inputs(blocks, 1000, fuzz::mpi_trace_file);
}

#[test]
fn arbitrary_bytes_are_no_trace_file_and_no_panic() {
    let arbitrary = (0..2_u8, prop::collection::vec(any::<u8>(), 0..300));
    check_inputs(arbitrary.prop_map(|(choice, bytes)| [&[choice], &bytes[..]].concat()), 0, fuzz::mpi_trace_file);
}

/// The example of the specification, in which words took each other's places.
fn tree_text() -> impl Strategy<Value = String> {
    let (_, example) = include_str!("../../../docs/formats/mpi-tree.md").split_once("```toml\n").expect("an example");
    let example = example.split_once("```").expect("its end").0;
    const WORDS: &[&str] = &[
        "\"a\"",
        "\"b\"",
        "\"root\"",
        "\"0-3\"",
        "\"4-7\"",
        "7",
        "0",
        "\"reduce\"",
        "\"all-to-all\"",
        "\"*\"",
        "\"1KiB\"",
        "\"0-99999\"",
        "-1",
        "[]",
    ];
    let swap = (prop::sample::select(&WORDS[..5]), prop::sample::select(WORDS), any::<prop::sample::Index>());
    prop::collection::vec(swap, 0..3).prop_map(move |swaps| {
        let mut text = example.to_owned();
        for (from, to, place) in swaps {
            let found: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
            if !found.is_empty() {
                let at = found[place.index(found.len())];
                text.replace_range(at..at + from.len(), to);
            }
        }
        text
    })
}

#[test]
fn a_tree_file_is_sound_or_refused() {
    check_inputs(damaged(tree_text()), 100, fuzz::tree_file);
    check_inputs(".{0,300}".prop_map(String::into_bytes), 0, fuzz::tree_file);
}

#[test]
fn a_machine_file_is_sound_or_refused() {
    let examples = [
        include_str!("../../../examples/sim/two-sites.toml"),
        include_str!("../../../examples/sim/cluster.toml"),
        include_str!("../../../examples/sim/torus.toml"),
        include_str!("../../../examples/sim/dragonfly.toml"),
    ];
    check_inputs(damaged(prop::sample::select(examples.map(str::to_owned).to_vec())), 1000, fuzz::machine_file);
    check_inputs(".{0,300}".prop_map(String::into_bytes), 0, fuzz::machine_file);
}

#[test]
fn results_of_monitors_are_written_as_they_were_read() {
    // Small numbers, as most fields have them: an operation's code, flags, how many counts.
    let byte = prop_oneof![3 => 0..8_u8, 1 => any::<u8>()];
    check_inputs(prop::collection::vec(byte, 0..200), 50, fuzz::monitor_results);
}

#[test]
fn what_is_sent_by_redundancy_elimination_arrives_and_other_bytes_are_refused() {
    // Bytes of a small alphabet: with redundancy, and with numbers that are lengths and places.
    let small = prop::collection::vec(0..20_u8, 0..600);
    check_inputs(prop_oneof![small, prop::collection::vec(any::<u8>(), 0..200)], 500, fuzz::dedup_group);
}

#[test]
fn a_frame_of_a_tunnel_is_written_as_it_was_read() {
    // Small numbers, as lanes and lengths are.
    let byte = prop_oneof![2 => 0..3_u8, 1 => 0..200_u8];
    let frame = (0..15_u8, prop::collection::vec(byte, 0..40)).prop_map(|(kind, rest)| [vec![kind], rest].concat());
    check_inputs(frame, 500, fuzz::tunnel_frame);
}

/// Rows of traces of arrival, each right or nearly so.
fn arrival_text() -> impl Strategy<Value = String> {
    let rate = prop_oneof![50 => (0..40_u8).prop_map(|tenths| (f64::from(tenths) / 10.0).to_string()), 1 => Just(String::new()), 1 => "[-+0-9a-zE. ]{0,6}"];
    let distance = prop_oneof![60 => Just(1.0), 1 => (0..30_u8).prop_map(f64::from), 1 => any::<f64>()];
    prop::collection::vec((distance, rate), 0..40).prop_map(|rows| {
        let mut at = 0.0;
        let rows = rows.iter().map(|(distance, rate)| {
            at += distance;
            format!("{at},{rate}\n")
        });
        rows.fold("time,arrival_rate\n".to_owned(), |text, row| text + &row)
    })
}

#[test]
fn a_trace_of_arrival_is_played_or_refused() {
    check_inputs(damaged(arrival_text()), 500, fuzz::arrival_trace);
    check_inputs(".{0,300}".prop_map(String::into_bytes), 0, fuzz::arrival_trace);
}

#[test]
fn no_situation_leads_to_a_rate_that_the_listener_does_not_accept() {
    check_inputs(prop::collection::vec(any::<u8>(), 0..600), 1000, fuzz::playback_rate);
}

#[test]
fn any_sound_is_stretched_the_same_however_it_is_cut() {
    check_inputs(prop::collection::vec(any::<u8>(), 0..200), 1000, fuzz::stretched_sound);
}

/// Blocks of a file of records behind the byte that says so: types with a field of each kind, records of them, and what
/// does not suit.
fn blocks_of_records() -> impl Strategy<Value = Vec<u8>> {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let fields = b"irtIR".map(|kind| [text(&char::from(kind).to_string()), vec![kind], text("ns"), text("")].concat());
    let of = move |name: &str| (1, [&text(name)[..], &[0; 4], &[5, 0, 0, 0], &fields.concat()].concat());
    let first = of("A");
    let record = (0..2_u8, any::<[u8; 16]>(), "[a\"\\\\\n]{0,3}", 0..3_u8, any::<[u8; 16]>()).prop_map(
        move |(of, numbers, who, n, many)| {
            let array = [&[n, 0, 0, 0], &many[..8 * usize::from(n)]].concat();
            (2, [&[of, 0, 0, 0], &numbers[..], &text(&who), &array, &[0; 4]].concat())
        },
    );
    let about = ("[a-z]{0,4}", "[a\"\n]{0,4}").prop_map(move |(name, said)| (0, [text(&name), text(&said)].concat()));
    let block = prop_oneof![
        2 => about,
        1 => prop::sample::select(vec!["A", "VM Summary"]).prop_map(of),
        8 => record,
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(|block| (3_u8, block)),
    ];
    prop::collection::vec(block, 1..8).prop_map(move |blocks| {
        let framed = |(kind, block): &(u8, Vec<u8>)| [&[*kind, block.len() as u8], &block[..]].concat();
        let blocks: Vec<u8> = std::iter::once(&first).chain(&blocks).flat_map(framed).collect();
        [vec![1], blocks].concat()
    })
}

#[test]
fn a_file_of_records_is_read_up_to_what_is_wrong_and_written_as_the_same() {
    check_inputs(blocks_of_records(), 1000, fuzz::record_file);
}

/// Statements of SDDF, each right or nearly so.
fn sddf() -> impl Strategy<Value = String> {
    const FIRST: &str = "#1:\n// \"event\" \"state\"\n\"A\" {\n\t// \"unit\" \"ns\"\n\tlong \"n\";\n\tfloat\t\"x\";\n\tchar \"who\"[];\n\
        \tint \"many\"[];\n\tdouble \"reals\"[];\n};;\n";
    let number = || {
        prop_oneof![
            any::<i64>().prop_map(|n| n.to_string()),
            any::<f64>().prop_map(|x| format!("{x:?}")),
            "[-+0-9e.]{1,4}"
        ]
    };
    let record = (any::<i64>(), number(), "[a-z]{0,3}", prop::collection::vec(any::<i8>(), 0..3), number()).prop_map(
        |(n, x, who, many, last)| {
            let numbers = many.iter().map(i8::to_string).collect::<Vec<_>>().join(", ");
            let arrays = format!("[{}] {{ \"{who}\" }}, [{}] {{ {numbers} }}, [1] {{ {last} }}", who.len(), many.len());
            format!("\"A\" {{ {n}, {x}, {arrays} }};;\n")
        },
    );
    let other = prop::sample::select(vec![
        "/*\n * \"creation date\" \"now\"\n * \"a\" \"\\\"\\n\\\\\"\n */ ;;\n",
        "#2:\n\"B\" { byte \"b\"; short \"s\"[]; };;\n",
        "\"B\" { 1, [2] { 7, 8 } };;\n",
        "\"A\" { 1, 2.5, [0] { }, [0] { \"\" }, [0] { } };;\n",
        "#3:\n\"A\" { int \"n\"; };;\n",
    ]);
    let statement = prop_oneof![4 => record, 1 => other.prop_map(str::to_owned)];
    prop::collection::vec(statement, 1..6).prop_map(|statements| FIRST.to_owned() + &statements.concat())
}

#[test]
fn a_text_of_sddf_is_read_up_to_what_is_wrong_and_written_as_the_same() {
    let inputs = damaged(sddf()).prop_map(|text| [&[2], &text[..]].concat());
    check_inputs(inputs, 1000, fuzz::record_file);
}

#[test]
fn arbitrary_bytes_are_no_file_of_records_and_no_panic() {
    let arbitrary = (0..3_u8, prop::collection::vec(any::<u8>(), 0..300));
    check_inputs(arbitrary.prop_map(|(choice, bytes)| [&[choice], &bytes[..]].concat()), 0, fuzz::record_file);
}
