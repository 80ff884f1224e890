//! Jobs of MPI programs.

use node_api::ErrorCode::{BadParameter, UnknownJob};
use node_api::{MpiJobDetail, MpiJobs};

use super::Host;

#[test]
fn a_job_is_listed_and_told_with_its_pictures() {
    let host = Host::with_job();
    let jobs = host.get("/api/v1/mpi/jobs").json::<MpiJobs>().jobs;
    assert_eq!((jobs[0].job.as_str(), jobs[0].n_records, &jobs[0].trees[..]), ("heat", 140, &["flat".to_owned()][..]));
    let detail = host.get("/api/v1/mpi/jobs/heat").json::<MpiJobDetail>();
    assert!(detail.analyses[0].culprit.as_deref().is_some_and(|text| text.starts_with("Rank 2 ")), "{detail:?}");
    for picture in ["pathmap.svg", "pathmap.svg?waits=true&tree=flat", "last-arrival.svg"] {
        let answer = host.get(&format!("/api/v1/mpi/jobs/heat/{picture}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/svg+xml")), "{answer:?}");
        assert!(answer.body.starts_with("<svg ") && answer.body.contains("20 calls"), "{answer:?}");
    }
    let analysis = host.get("/api/v1/mpi/jobs/heat/analysis?tree=flat&flow=all").json::<serde_json::Value>();
    assert_eq!((&analysis["n_calls"], &analysis["paths"][2]["total"]["count"]), (&20.into(), &20.into()), "{analysis}");
    host.get("/api/v1/mpi/jobs/heat/analysis?flow=to_root").check_refused(400, BadParameter, Some("flow"));
    host.get("/api/v1/mpi/jobs/heat/analysis?flow=sideways").check_refused(400, BadParameter, Some("flow"));
    host.get("/api/v1/mpi/jobs/heat/pathmap.svg?tree=deep").check_refused(400, BadParameter, Some("tree"));
    host.get("/api/v1/mpi/jobs/heat/pathmap.svg?waits=often").check_refused(400, BadParameter, Some("waits"));
}

#[test]
fn no_name_leads_out_of_the_folder_of_jobs() {
    let host = Host::with_job();
    for job in ["none", "%2e%2e", "..%2fjobs%2fheat", "heat%00", &"x".repeat(300)] {
        host.get(&format!("/api/v1/mpi/jobs/{job}")).check_refused(404, UnknownJob, None);
    }
}
