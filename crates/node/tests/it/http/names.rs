//! Who is let in: names, origins, tokens.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use node::Config;
use node_api::ErrorCode::{HostNotAllowed, Unauthorized};
use secret::Token;

use super::Host;

#[test]
fn a_name_that_somebody_else_points_here_is_refused_everywhere() {
    let host = Host::start();
    for target in ["/", "/api/v1/series", "/metrics", "/healthz", "/nothing"] {
        host.ask("GET", target, &[("Host", "evil.example")], b"").check_refused(403, HostNotAllowed, Some("Host"));
    }
    for name in ["localhost", "127.0.0.1:1", "[::1]:7311"] {
        assert_eq!(host.ask("GET", "/healthz", &[("Host", name)], b"").status, 200, "{name}");
    }
}

#[test]
fn a_request_without_a_name_or_with_two_is_refused() {
    let host = Host::start();
    for hosts in ["", "Host: localhost\r\nHost: evil.example\r\n"] {
        let request = format!("GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        host.exchange(request.as_bytes()).check_refused(403, HostNotAllowed, Some("Host"));
    }
    let absolute = b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    host.exchange(absolute).check_refused(403, HostNotAllowed, Some("Host"));
}

#[test]
fn a_page_of_another_site_can_neither_post_nor_delete_nor_read() {
    let host = Host::start().with_pushed("trace");
    for origin in ["https://evil.example", "null"] {
        for (method, target) in [
            ("DELETE", "/api/v1/series/trace"),
            ("POST", "/api/v1/series"),
            ("PUT", "/api/v1/rules/x"),
            ("GET", "/api/v1/events"),
        ] {
            let headers = [("Origin", origin), ("Content-Type", "application/json")];
            host.ask(method, target, &headers, b"{}").check_refused(403, HostNotAllowed, Some("Origin"));
        }
    }
    let own = format!("http://{}", host.address());
    assert_eq!(host.ask("DELETE", "/api/v1/series/trace", &[("Origin", &own)], b"").status, 204);
}

#[test]
fn a_token_is_asked_for_by_all_but_health_and_page() {
    let secret = "0123456789abcdef";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, secret).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let host = Host::with(Config { token: Some(Token::from_file(&file).unwrap()), ..Config::default() });

    let guarded = [
        "/api/v1/series",
        "/api/v1/rules",
        "/api/v1/series/x",
        "/api/v1/events",
        "/api/v1/mpi/jobs",
        "/api/v1/processes",
        "/api/v1/processes/history",
        "/api/v1/openapi.json",
        "/metrics",
    ];
    for target in guarded {
        for shown in ["", "Bearer wrong-but-as-long", "Bearer", "Basic 0123456789abcdef", "Bearer 0123456789abcdef0"] {
            let answer = host.ask("GET", target, &[("Authorization", shown)], b"");
            answer.check_refused(401, Unauthorized, Some("Authorization"));
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
        host.get(target).check_refused(401, Unauthorized, Some("Authorization"));
    }
    for open in ["/healthz", "/readyz", "/"] {
        assert_ne!(host.get(open).status, 401, "{open}");
    }
    for shown in ["Bearer 0123456789abcdef", "bearer 0123456789abcdef"] {
        assert_eq!(host.ask("GET", "/api/v1/series", &[("Authorization", shown)], b"").status, 200, "{shown}");
    }
}
