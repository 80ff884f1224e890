//! Clusters and a network in one thread, driven by seeded chance: whoever acts next, whatever comes when.

use std::collections::VecDeque;

use super::*;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn ratio(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The parts of a call, of which a plain allreduce makes a value at the constant, right beside it, or far from it.
fn parts(chance: &mut Chance, question: &Question, n_clusters: usize) -> Vec<f64> {
    let constant = question.constant;
    if matches!(question.reduction, Reduction::Or | Reduction::And) {
        return (0..n_clusters).map(|_| (chance.below(3) > 0) as u8 as f64).collect();
    }
    let toward = if question.sign == Sign::NonPositive { -1.0 } else { 1.0 };
    let mut parts: Vec<f64> =
        (0..n_clusters).map(|_| toward * chance.ratio() * 2.0_f64.powi(chance.below(40) as i32 - 30)).collect();
    if question.reduction == Reduction::Sum {
        let sum = plain(question, &parts);
        let aim = [constant, constant, constant, constant * 0.7, constant * 1.4, constant * 0.999_999][chance.below(6)];
        if sum != 0.0 {
            parts.iter_mut().for_each(|part| *part *= aim / sum);
        }
        // A few steps of rounding to either side.
        let (at, n_steps) = (chance.below(n_clusters), chance.below(5));
        for _ in 0..n_steps {
            parts[at] = if chance.below(2) == 0 { parts[at].next_up() } else { parts[at].next_down() };
            parts[at] = toward * parts[at].abs();
        }
    } else {
        let nearest = [constant, constant.next_up(), constant.next_down(), constant - 1.0];
        parts.iter_mut().for_each(|part| *part = nearest[chance.below(4)]);
        if question.condition == Condition::Equal {
            parts.iter_mut().for_each(|part| {
                if !question.admits(*part) {
                    *part = constant
                }
            });
        }
    }
    parts
}

fn plain(question: &Question, parts: &[f64]) -> f64 {
    parts.iter().copied().reduce(|before, value| question.combine(before, value)).expect("there are clusters")
}

/// Clusters that make the same calls, each as far as it gets.
struct World {
    machines: Vec<Conditional>,
    /// Messages by sender and receiver.
    links: Vec<Vec<VecDeque<Published>>>,
    is_calling: Vec<bool>,
}

impl World {
    fn new(question: Question, n_clusters: usize, lead: u64) -> Self {
        Self {
            machines: (0..n_clusters).map(|own| Conditional::new(question, own, n_clusters, lead)).collect(),
            links: vec![vec![VecDeque::new(); n_clusters]; n_clusters],
            is_calling: vec![false; n_clusters],
        }
    }

    /// Begins a cluster's next call, takes a message, or asks for an answer. Gives the answer and to which call.
    fn step(&mut self, chance: &mut Chance, calls: &[Vec<f64>]) -> Option<(usize, usize, Result<Answer, Fault>)> {
        let n_clusters = self.machines.len();
        let at = chance.below(n_clusters);
        let machine = &mut self.machines[at];
        if chance.below(3) == 0 {
            let from = chance.below(n_clusters);
            if let Some(published) = self.links[from][at].pop_front() {
                machine.receive(from, published, 0);
            }
            return None;
        }
        if !self.is_calling[at] {
            let parts = calls.get(machine.sequence() as usize)?;
            let published = machine.begin(parts[at], 0);
            (0..n_clusters).filter(|to| *to != at).for_each(|to| self.links[at][to].push_back(published));
            self.is_calling[at] = true;
            return None;
        }
        let answered = machine.answer().transpose()?;
        self.is_calling[at] = false;
        Some((at, machine.sequence() as usize - 1, answered))
    }
}

fn questions() -> Vec<Question> {
    [
        (Reduction::Sum, Sign::NonNegative, Condition::Greater, 0.01904),
        (Reduction::Sum, Sign::NonPositive, Condition::Less, -7.0),
        (Reduction::Max, Sign::Any, Condition::Greater, 3.5),
        (Reduction::Min, Sign::Any, Condition::Less, -1e-300),
        (Reduction::Max, Sign::Any, Condition::Equal, 12.0),
        (Reduction::Min, Sign::Any, Condition::Equal, -12.0),
        (Reduction::Or, Sign::Any, Condition::Equal, 1.0),
        (Reduction::And, Sign::Any, Condition::Equal, 0.0),
    ]
    .map(|(reduction, sign, condition, constant)| Question::new(reduction, sign, condition, constant).unwrap())
    .to_vec()
}

/// Gives how many calls were answered without all parts, and how many with false.
#[track_caller]
fn check(question: Question, n_clusters: usize, lead: u64, seed: u64, n_calls: usize) -> (u64, u64) {
    let mut chance = Chance(seed);
    let calls: Vec<Vec<f64>> = (0..n_calls).map(|_| parts(&mut chance, &question, n_clusters)).collect();
    let mut world = World::new(question, n_clusters, lead);
    let (mut n_left, mut n_early, mut n_false) = (n_calls * n_clusters, 0, 0);
    while n_left > 0 {
        let Some((at, call, answered)) = world.step(&mut chance, &calls) else { continue };
        let whole = plain(&question, &calls[call]);
        let answer = answered.unwrap();
        assert_eq!(answer.verdict, question.holds(whole), "{question:?}, seed {seed}, call {call}, cluster {at}");
        assert_eq!(question.holds(answer.value), answer.verdict, "{answer:?}");
        assert!(answer.is_exact || answer.verdict, "a false verdict takes all parts");
        if answer.is_exact {
            assert_eq!(answer.value.to_bits(), whole.to_bits());
        }
        n_left -= 1;
        n_early += u64::from(!answer.is_exact);
        n_false += u64::from(!answer.verdict);
        let last = world.machines.iter().map(Conditional::sequence).min().unwrap();
        assert!(world.machines[at].sequence() <= last + lead, "cluster {at} is too far ahead of call {last}");
    }
    (n_early, n_false)
}

/// Answers of all clusters together.
const N_ANSWERS: usize = 1_000_000;

#[test]
fn each_verdict_is_that_of_a_plain_allreduce_at_the_boundary_and_over_many_solves() {
    let (questions, runs) = (questions(), 40);
    let (mut n_early, mut n_false) = (0, 0);
    for run in 0..runs {
        for (at, question) in questions.iter().enumerate() {
            let (n_clusters, lead) = (2 + run % 4, [1, 2, 7, 1000][(run / 4) % 4]);
            let n_calls = N_ANSWERS / (questions.len() * runs * n_clusters);
            let counted = check(*question, n_clusters, lead, (run * questions.len() + at) as u64, n_calls);
            n_early += counted.0;
            n_false += counted.1;
        }
    }
    // Otherwise nothing was tested.
    assert!(n_early > N_ANSWERS as u64 / 5 && n_false > N_ANSWERS as u64 / 10, "{n_early} early, {n_false} false");
}

#[test]
fn sums_in_the_order_of_arrival_would_go_wrong_at_the_boundary() {
    let mut chance = Chance(1);
    let (mut n_wrong, n_cases) = (0, 20_000);
    for _ in 0..n_cases {
        let parts: Vec<f64> = (0..5).map(|_| chance.ratio()).collect();
        let constant = parts.iter().sum::<f64>();
        let mut arrived = parts.clone();
        (1..5).rev().for_each(|at| arrived.swap(at, chance.below(at + 1)));
        n_wrong += u64::from(arrived.iter().sum::<f64>() > constant);
        let some: Vec<f64> = parts.iter().copied().filter(|_| chance.below(4) > 0).collect();
        assert!(some.iter().sum::<f64>() <= constant, "in the order of the clusters none does");
    }
    assert!(n_wrong > n_cases / 20, "{n_wrong}");
}

fn sum_above(constant: f64) -> Question {
    Question::new(Reduction::Sum, Sign::NonNegative, Condition::Greater, constant).unwrap()
}

#[test]
fn a_part_that_decides_is_not_kept_waiting() {
    let mut machine = Conditional::new(sum_above(1.0), 0, 3, 10);
    machine.begin(1.5, 0);
    assert_eq!(machine.answer(), Ok(Some(Answer { verdict: true, value: 1.5, is_exact: false })));
    assert_eq!(machine.counts().n_local, 1);
}

#[test]
fn remotes_are_used_as_they_come_and_only_as_far_as_needed() {
    let mut machine = Conditional::new(sum_above(1.0), 1, 3, 10);
    let of = |sequence, value| Published { epoch: 0, sequence, value, closing: 0.0, fault: None };
    machine.receive(2, of(1, 0.4), 5);
    machine.begin(0.4, 10);
    assert_eq!(machine.answer(), Ok(None));
    machine.receive(0, of(1, 0.4), 40);
    assert!(matches!(machine.answer(), Ok(Some(Answer { verdict: true, is_exact: true, .. }))));
    let RemoteCounts { n_waited, waited_ns, .. } = machine.counts().remotes[0];
    assert_eq!((n_waited, waited_ns, machine.counts().remotes[2].n_prefetched), (1, 30, 1));
}

#[test]
fn who_has_gone_on_tells_the_verdict_by_its_epoch() {
    let of = |epoch| Published { epoch, sequence: 9, value: 0.0, closing: 0.25, fault: None };
    for (epoch, verdict) in [(0, true), (1, false)] {
        let mut machine = Conditional::new(sum_above(1.0), 0, 2, 10);
        machine.begin(0.1, 0);
        machine.receive(1, of(epoch), 0);
        let answer = machine.answer().unwrap().unwrap();
        assert_eq!((answer.verdict, answer.value > 1.0, answer.is_exact), (verdict, verdict, !verdict));
        assert!(verdict || answer.value == 0.25, "the last result of a solve comes with the verdict");
    }
    let mut machine = Conditional::new(sum_above(1.0), 0, 2, 10);
    machine.begin(0.1, 0);
    machine.receive(1, of(2), 0);
    assert_eq!(machine.answer(), Err(Fault::Disagreement { cluster: 1 }));
}

#[test]
fn a_broken_promise_ends_all_answers_everywhere() {
    for value in [f64::NAN, -0.5] {
        let mut machines = [0, 1].map(|own| Conditional::new(sum_above(1.0), own, 2, 10));
        let published = machines[0].begin(value, 0);
        machines[1].begin(2.0, 0);
        assert!(machines[1].answer().unwrap().is_some(), "what was answered before stays");
        machines[1].receive(0, published, 0);
        for machine in &mut machines {
            assert_eq!(machine.answer(), Err(Fault::Value { cluster: 0 }));
            machine.begin(2.0, 0);
            assert_eq!(machine.answer(), Err(Fault::Value { cluster: 0 }));
        }
    }
}

#[test]
fn who_is_waited_for_and_silent_for_too_long_has_vanished() {
    let mut machine = Conditional::new(sum_above(1.0), 0, 3, 10);
    machine.begin(0.1, 100);
    let published = Published { epoch: 0, sequence: 1, value: 0.1, closing: 0.0, fault: None };
    machine.receive(1, published, 150);
    assert_eq!(machine.answer(), Ok(None));
    machine.lose_patience(1100, 1000);
    assert_eq!(machine.answer(), Ok(None));
    machine.lose_patience(1101, 1000);
    assert_eq!(machine.answer(), Err(Fault::Vanished { cluster: 2 }));
    assert_eq!(machine.parting().fault, Some(Fault::Vanished { cluster: 2 }));
}

#[test]
fn questions_that_a_part_cannot_answer_are_refused_with_the_reason() {
    use {Condition::*, Reduction::*, Sign::*};
    let sound = questions().len();
    let mut n_sound = 0;
    for reduction in Reduction::ALL {
        for sign in Sign::ALL {
            for condition in Condition::ALL {
                n_sound += usize::from(Question::new(*reduction, *sign, *condition, 1.0).is_ok());
            }
        }
    }
    // Max and min with any of three signs, two conditions each; or with 1, of any sign.
    assert_eq!((sound, n_sound), (8, 2 + 3 * 4 + 3));
    let told = |reduction, sign, condition, constant| {
        Question::new(reduction, sign, condition, constant).unwrap_err().to_string()
    };
    assert_eq!(
        told(Sum, Any, Greater, 0.5),
        "a sum of values of any sign that is greater than 0.5 is not decided by a part of the contributions: use a sum of values >= 0 \
         with greater, a sum of values <= 0 with less, max with greater, or min with less"
    );
    assert!(told(Or, Any, Equal, 0.0).starts_with("0 is not where `or` stays"));
    assert_eq!(told(Max, Any, Greater, f64::NAN), "the constant is NaN; it must be a finite number");
}
