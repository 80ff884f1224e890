//! What both ends know outlives them, and what one of them forgot is asked for.

use crate::world::{Asked, Site, fetch, noise, server};

#[tokio::test(flavor = "multi_thread")]
async fn a_second_fetch_after_a_restart_of_both_ends_costs_a_thousandth() {
    let site = Site::new();
    let data = noise(1, 6_000_000);
    let server = server(data.clone()).await;
    for round in 0..2 {
        let far = site.far("127.0.0.1:*", Asked::default()).await;
        let near = site.near(far.addresses[0], &server.to_string(), Asked::default()).await;
        assert!(fetch(near.addresses[0]).await.unwrap() == data);
        let sent = far.status().await.counts;
        assert_eq!((sent.given_bytes_total, sent.repaired_bytes_total), (6_000_000, 0));
        if round == 1 {
            assert!(sent.sent_bytes_total < 6_000, "groups took {} bytes", sent.sent_bytes_total);
            let told = near.status().await;
            let [period] = told.history[..] else { panic!("{:?}", told.history) };
            assert_eq!((period.received_bytes, period.appended_bytes, period.given_bytes), (6_000_000, 6_000_001, 1));
            assert!(period.came_bytes > 6_000_000 && period.disk_bytes > 6_000_000, "{period:?}");
            // And what was asked for, twice.
            assert_eq!(told.store.ever_appended_bytes, 6_000_002);
        }
        near.stop().await;
        far.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_near_end_that_forgot_asks_and_gets_exact_bytes() {
    let site = Site::new();
    let data = noise(2, 3_000_000);
    let server = server(data.clone()).await;
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    for round in 0..3 {
        let near = site.near(far.addresses[0], &server.to_string(), Asked::default()).await;
        assert!(fetch(near.addresses[0]).await.unwrap() == data);
        let received = near.status().await.counts;
        assert_eq!(received.groups_lacking_total > 0, round == 1, "round {round}: {received:?}");
        near.stop().await;
        if round == 0 {
            std::fs::remove_dir_all(site.path("near")).unwrap();
        }
    }
    assert!(far.status().await.counts.repaired_bytes_total > 2_900_000);
    far.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_one_way_is_known_the_other_way() {
    let site = Site::new();
    let data = noise(3, 2_000_000);
    let (server, echo) = (server(data.clone()).await, crate::world::echo().await);
    let far = site.far("127.0.0.1:*", Asked::default()).await;
    let more = format!("[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"{server}\"");
    let near = site.near(far.addresses[0], &echo.to_string(), Asked { near: &more, ..Asked::default() }).await;
    assert!(fetch(near.addresses[0]).await.unwrap() == data);
    crate::programs::check_echo(near.addresses[1], &data).await;
    let counts = near.status().await.counts;
    assert!(counts.sent_bytes_total < 4_000, "it took {} bytes", counts.sent_bytes_total);
    near.stop().await;
    far.stop().await;
}
