//! What a browser gets.

use super::Host;

#[test]
fn the_root_is_a_page_and_may_run_nothing_but_its_own() {
    let answer = Host::start().get("/");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(answer.body.contains("Foretop"), "{answer:?}");
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
}

#[test]
fn every_answer_carries_the_headers_that_keep_browsers_in_bounds() {
    let host = Host::start();
    for target in ["/", "/api/v1/series", "/metrics", "/nothing", "/api/v1/series/nothing"] {
        let answer = host.get(target);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{target}");
        assert!(answer.header("content-security-policy").is_some(), "{target}");
        assert!(answer.header("access-control-allow-origin").is_none(), "{target}");
    }
}

#[test]
fn figures_are_never_kept_by_a_cache() {
    let host = Host::start();
    for target in ["/api/v1/series", "/metrics", "/healthz"] {
        assert_eq!(host.get(target).header("cache-control"), Some("no-store"), "{target}");
    }
}

/// What an HTML text points to, as paths.
fn links(html: &str) -> Vec<String> {
    let after = |attribute: &str| {
        let parts = html.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        parts.collect::<Vec<_>>()
    };
    let all = [after("src=\""), after("href=\"")].concat();
    all.iter().map(|link| format!("/{}", link.trim_start_matches('.').trim_start_matches('/'))).collect()
}

#[test]
fn all_that_the_page_points_to_is_there() {
    let host = Host::start();
    let links = links(&host.get("/").body);
    assert!(!links.is_empty());
    for link in links {
        let answer = host.get(&link);
        assert_eq!(answer.status, 200, "{link}: {answer:?}");
        assert_ne!(answer.header("content-type"), Some("application/octet-stream"), "{link}");
        if link.starts_with("/assets/") {
            assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"), "{link}");
            let known = answer.header("etag").unwrap();
            assert_eq!(host.ask("GET", &link, &[("If-None-Match", known)], b"").status, 304, "{link}");
        }
    }
}
