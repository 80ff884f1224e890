//! Processes of this host, as `GET /api/v1/processes` has them.

use node_api::ErrorCode::{BadParameter, NotFound, UnknownSeries};
use node_api::{ProcessGrouping, ProcessOrder, ProcessTable};
use testkit::{PATIENCE, wait_until};

use super::Host;

#[test]
fn this_process_is_among_those_of_the_host_and_has_rates_in_time() {
    let host = Host::start();
    let own = wait_until("this process was read twice", PATIENCE, || {
        let table: ProcessTable = host.get("/api/v1/processes?by=process&sort=memory&limit=10000").json();
        assert_eq!((table.by, table.sort, table.n_others), (ProcessGrouping::Process, ProcessOrder::Memory, 0));
        let own = table.rows.into_iter().find(|row| row.pid == Some(std::process::id()));
        own.filter(|row| row.figures.cpu_cores.is_some())
    });
    assert!(own.figures.memory_bytes > 0 && own.figures.read_bytes_per_sec.is_some(), "{own:?}");
}

#[test]
fn questions_that_make_no_sense_are_refused_by_field() {
    let host = Host::start();
    for (query, field) in
        [("by=user", "by"), ("sort=name", "sort"), ("limit=0", "limit"), ("at=600", "at"), ("at=-1h&by=process", "by")]
    {
        let refused = host.get(&format!("/api/v1/processes?{query}"));
        let is_moment = query == "at=600";
        let (status, code) = if is_moment { (404, NotFound) } else { (400, BadParameter) };
        refused.check_refused(status, code, Some(field));
    }
    host.get("/api/v1/processes/history?from=-3h").check_refused(400, BadParameter, Some("from"));
    host.get("/api/v1/processes/history?by=process").check_refused(400, BadParameter, Some("by"));
}

#[test]
fn a_cause_is_refused_of_what_programs_do_not_move_and_of_too_long_a_time() {
    let host = Host::start().with_pushed("trace");
    host.get("/api/v1/series/trace/cause").check_refused(404, NotFound, Some("id"));
    host.get("/api/v1/series/none/cause").check_refused(404, UnknownSeries, None);
    host.get("/api/v1/series/load.1m/cause?from=-2d").check_refused(400, BadParameter, Some("from"));
}
