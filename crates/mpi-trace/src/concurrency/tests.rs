use super::*;

fn words(n_ranks: usize) -> Vec<AtomicU64> {
    (0..n_concurrency_words(n_ranks)).map(|_| AtomicU64::new(0)).collect()
}

fn header(n_ranks: u32) -> ConcurrencyHeader {
    ConcurrencyHeader { n_ranks, n_job_ranks: 9, mode: WaitMode::Block, n_processors: 2, made_ns: 1_000 }
}

#[test]
fn a_page_is_read_as_it_was_prepared() {
    let words = words(3);
    assert_eq!(ConcurrencyPage::new(&words).err(), Some(ConcurrencyError::Magic));
    let page = ConcurrencyPage::prepare(&words, &header(3));
    let rank = ConcurrencyRank { rank: 7, processor: Some(0), pid: 12, pid_started: 99 };
    page.describe(2, &rank);
    let read = ConcurrencyPage::new(&words).unwrap();
    assert_eq!((read.header(), read.rank(2), read.rank(0)), (header(3), Some(rank), None));
    assert_eq!(ConcurrencyPage::new(&words[..words.len() - 1]).err(), Some(ConcurrencyError::Size));
}

#[test]
fn each_state_is_read_as_it_was_set() {
    let words = words(1);
    let page = ConcurrencyPage::prepare(&words, &header(1));
    assert_eq!(page.state(0), WaitState::default());
    for kind in [WaitKind::Receiving, WaitKind::Sending, WaitKind::Waiting, WaitKind::Collective, WaitKind::Other] {
        for (is_left, awaited) in [(false, None), (true, Some(0)), (false, Some(4_094))] {
            let state = WaitState { kind, is_left, awaited };
            page.set_state(0, state);
            assert_eq!(page.state(0), state);
        }
    }
}

#[test]
fn levels_hold_the_time_between_changes() {
    let words = words(2);
    let page = ConcurrencyPage::prepare(&words, &header(2));
    for (is_more, at) in [(true, 1_010), (true, 1_030), (false, 1_100), (false, 1_400), (true, 1_500)] {
        page.count(is_more, at);
    }
    let concurrency = page.concurrency(1_600);
    assert_eq!(concurrency, Concurrency { levels_ns: vec![10 + 100, 20 + 300 + 100, 70], n_running: 1 });
}

#[test]
fn a_clock_that_was_read_too_early_takes_no_time_away() {
    let words = words(1);
    let page = ConcurrencyPage::prepare(&words, &header(1));
    page.count(true, 1_500);
    page.count(false, 1_400);
    assert_eq!(page.concurrency(1_600).levels_ns, [600, 0]);
}

#[test]
fn levels_sum_up_to_the_time_however_threads_meet() {
    let words = words(4);
    let page = ConcurrencyPage::prepare(&words, &header(4));
    let clock = AtomicU64::new(1_000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    page.count(true, clock.fetch_add(3, Ordering::SeqCst));
                    page.count(false, clock.fetch_add(3, Ordering::SeqCst));
                }
            });
        }
    });
    let end = clock.into_inner();
    let concurrency = page.concurrency(end);
    assert_eq!((concurrency.levels_ns.iter().sum::<u64>(), concurrency.n_running), (end - 1_000, 0));
}

#[test]
fn a_rank_has_entered_a_call_and_all_before_it() {
    let words = words(1);
    let page = ConcurrencyPage::prepare(&words, &header(1));
    let call = |communicator, sequence| CollectiveCall { communicator, sequence };
    assert_eq!(page.has_entered(0, call(5, 1)), Some(false));
    page.enter(0, call(5, 7));
    let entered: Vec<_> = [6, 7, 8].iter().map(|sequence| page.has_entered(0, call(5, *sequence))).collect();
    assert_eq!(entered, [Some(true), Some(true), Some(false)]);
    // Another communicator at the same place.
    assert_eq!(page.has_entered(0, call(13, 7)), None);
    // Around the end of the numbers.
    page.enter(0, call(5, 2));
    assert_eq!(page.has_entered(0, call(5, (1 << 24) - 3)), Some(true));
}

#[test]
fn sequences_never_are_zero() {
    for n_calls in [0, 1, (1 << 24) - 2, (1 << 24) - 1, 1 << 24] {
        assert!((1..1 << 24).contains(&CollectiveCall::sequence_after(n_calls)));
    }
}
