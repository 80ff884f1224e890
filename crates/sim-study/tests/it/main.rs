//! What the study finds, and what was published.

use std::sync::LazyLock;

use sim_study::Mode::{Both, Cep, Declared, Deterministic, Nmp, Quantum};
use sim_study::{Code, Mode, Settings, Study, study};

fn small() -> &'static Study {
    static STUDY: LazyLock<Study> = LazyLock::new(|| study(Settings { n_steps: 10, seed: 1 }, |_| ()).unwrap());
    &STUDY
}

fn saved(study: &Study, code: Code, n_ranks: u32, mode: Mode) -> f64 {
    let rounds = |mode| study.rounds(code, n_ranks, mode, 1).unwrap() as f64;
    1.0 - rounds(mode) / rounds(Quantum)
}

#[test]
fn the_published_savings_come_out() {
    let study = small();
    // The report says more than 80 % for conditional events, and Prakash's dissertation for both together.
    assert!(saved(study, Code::Bt, 9, Both) > 0.8, "{}", saved(study, Code::Bt, 9, Both));
    assert!(saved(study, Code::Bt, 9, Cep) > 0.7, "{}", saved(study, Code::Bt, 9, Cep));
    assert!(saved(study, Code::Bt, 9, Nmp) >= 0.4, "{}", saved(study, Code::Bt, 9, Nmp));
    for code in [Code::Bt, Code::Sp] {
        assert_eq!(study.rounds(code, 16, Deterministic, 1), Some(0));
    }
    for code in [Code::Lu, Code::Mg] {
        assert!(study.rounds(code, 16, Deterministic, 1) > Some(0));
        assert_eq!(study.rounds(code, 16, Declared, 1), Some(0));
    }
}

#[test]
fn all_exact_runs_predict_the_same_to_the_nanosecond() {
    let study = small();
    for of_one in study.runs.chunk_by(|a, b| (a.code, a.n_ranks) == (b.code, b.n_ranks)) {
        assert!(of_one.iter().all(|run| run.ended == of_one[0].ended), "{of_one:?}");
    }
}

#[test]
fn a_quantum_longer_than_the_lookahead_hears_the_wrong_rank_first() {
    assert_eq!(small().heard, [1, 1, 0]);
}
