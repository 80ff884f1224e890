//! What a file may say, and what it is told when it may not.

use compose::{ComposeError, System, Transport};

use crate::world::kinds;

#[track_caller]
fn check_refused(text: &str, message: &str) {
    let error = System::parse(text, &kinds()).unwrap_err();
    let reasons = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = reasons.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(text.contains(message), "`{message}` is not in: {text}");
}

#[test]
fn components_stand_in_the_order_of_the_file() {
    let text =
        "transport = 'tcp'\n[component.z]\nrun = 'steady'\n[component.a]\nrun = 'steady'\nsources = ['z', 'a']\n";
    let system = System::parse(text, &kinds()).unwrap();
    let names: Vec<&str> = system.components.iter().map(|component| component.name.as_str()).collect();
    assert_eq!((system.transport, names), (Transport::Tcp, vec!["z", "a"]));
}

#[test]
fn slips_are_refused_with_what_may_have_been_meant() {
    check_refused(
        "[component.a]\nrun = 'load-servr'",
        "[component.a] runs `load-servr`, which does not exist; did you mean `load-server`?",
    );
    check_refused(
        "[component.a]\nrun = 'load-server'\nstp = '1s'",
        "a key `stp` that a load-server does not take; did you mean `step`?",
    );
    check_refused("[component.a]\nrun = 'steady'\nsource = ['a']", "did you mean `sources`?");
    check_refused(
        "[component.load]\nrun = 'steady'\nsources = ['laod']",
        "names `laod`, but there is no such component; did you mean `load`?",
    );
    check_refused(
        "[component.p]\nrun = 'pred-server'\nhistory = 'bufer'\n[component.buffer]\nrun = 'buffer'\nn = 1",
        "did you mean `buffer`?",
    );
    check_refused("[components.a]\nrun = 'steady'", "components");
}

#[test]
fn what_makes_no_sense_is_refused() {
    check_refused("", "there is no component");
    check_refused("[component.a", "this is not a description of a system");
    check_refused("[component.a]\nstep = 1", "run");
    check_refused("[component.'../a']\nrun = 'steady'", "cannot be a component's name");
    check_refused("[component.a]\nrun = 'buffer'", "lacks `n`, which a buffer needs");
    check_refused(
        "[component.a]\nrun = 'pred-server'\nquiet = 'yes'",
        "`quiet` of [component.a] must be true or false",
    );
    check_refused("[component.a]\nrun = 'pred-server'\nmodel = {}", "must be a text, a number, or a list");
    check_refused("[component.a]\nrun = 'steady'\nendpoints = ['tcp']", "`tcp` is not an endpoint");
    check_refused("[component.a]\nrun = 'steady'\nrestart = 'sometimes'", "on-failure");
    let many: String = (0..129).map(|idx| format!("[component.c{idx}]\nrun = 'steady'\n")).collect();
    assert!(matches!(System::parse(&many, &kinds()), Err(ComposeError::TooMany { given: 129, limit: 128 })));
}
