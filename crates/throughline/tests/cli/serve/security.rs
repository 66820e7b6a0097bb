//! Rejected requests. A rejection reveals nothing about the store.

use serde_json::{Value, json};

use super::client::{Daemon, request};
use crate::env::TestEnv;

/// Every route with its method.
fn routes(daemon: &Daemon) -> Vec<(String, String)> {
    let described = daemon.get("/openapi.json");
    let mut routes = vec![
        ("GET".to_owned(), "/openapi.json".to_owned()),
        ("POST".to_owned(), "/mcp".to_owned()),
        ("GET".to_owned(), "/mcp".to_owned()),
        ("GET".to_owned(), "/no/such/route".to_owned()),
    ];
    for (path, item) in described["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{id}", "00000000000000000000000000000000");
            routes.push((method.to_uppercase(), path));
        }
    }
    assert!(routes.len() > 18);
    routes
}

#[test]
fn no_route_answers_strangers() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let token = format!("Bearer {}", daemon.token);
    let token = ("Authorization", token.as_str());
    let host = daemon.address.as_str();
    for (method, path) in routes(&daemon) {
        // The files of the page hold no data and need no token; a ticket is checked by its route.
        if path.starts_with("/ui") && path != "/ui/ticket" {
            let foreign = [("Origin", "http://evil.test")];
            let answer = daemon.tcp(&request(&method, &path, host, &foreign, Some("{}")));
            assert_eq!(answer.status, 403, "{method} {path}");
            continue;
        }
        let check = |host: &str, headers: &[(&str, &str)], status: u16| {
            let answer = daemon.tcp(&request(&method, &path, host, headers, Some("{}")));
            assert_eq!(answer.status, status, "{method} {path} {host} {headers:?}");
            let allowed = ["type", "title", "status", "detail", "hint"];
            let Value::Object(problem) = answer.json() else {
                panic!("{answer:?}");
            };
            assert!(problem.keys().all(|key| allowed.contains(&key.as_str())));
        };
        check(host, &[], 401);
        check(host, &[("Authorization", "Bearer 0123")], 401);
        check("evil.test", &[token], 403);
        check("evil.test:7411", &[token], 403);
        check(host, &[token, ("Origin", "http://evil.test")], 403);
        check(host, &[token, ("Origin", "null")], 403);
        check(host, &[token, ("Sec-Fetch-Site", "cross-site")], 403);
        let socket = request(&method, &path, "evil.test", &[], Some("{}"));
        assert_eq!(daemon.socket(&socket).status, 403, "{method} {path}");
    }
    let right = request("GET", "/health", host, &[token], None);
    assert_eq!(daemon.tcp(&right).status, 200);
    let stop = request("POST", "/daemon/stop", host, &[token], Some("{}"));
    assert_eq!(daemon.tcp(&stop).status, 403);
}

#[test]
fn only_loopback_is_listened_on() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    assert!(daemon.address.starts_with("127.0.0.1:"));
    let port: u16 = daemon.address.rsplit(':').next().unwrap().parse().unwrap();
    let listening = format!(":{port:04X} ");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let table6 = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    for line in table.lines().chain(table6.lines()) {
        let mut fields = line.split_whitespace().skip(1);
        let local = format!("{} ", fields.next().unwrap_or_default());
        let is_listening = fields.nth(1) == Some("0A");
        if is_listening && local.ends_with(&listening) {
            assert!(local.starts_with("0100007F:"), "{line}");
        }
    }
}

#[test]
fn what_is_too_large_or_no_json_is_refused() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let big = "x".repeat(5 << 20);
    let body = json!({ "session_id": "claude:a", "type": "prompt", "content": big });
    let answer = daemon.ask("POST", "/memory/record", Some(&body));
    assert_eq!(answer.status, 413, "{}", answer.body);
    // With a content length, or chunked.
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let head = "POST /memory/record HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
        Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}{}0\r\n\r\n", chunk.repeat(5));
    assert_eq!(daemon.socket(&chunked).status, 413);
    let plain = request("POST", "/memory/record", "localhost", &[], Some("{}"));
    let plain = plain.replace("application/json", "text/plain");
    assert_eq!(daemon.socket(&plain).status, 415);
    let half = request("POST", "/memory/record", "localhost", &[], Some("{\"a\":"));
    assert_eq!(daemon.socket(&half).status, 400);
    let head = format!(
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "y".repeat(1 << 20)
    );
    assert_eq!(daemon.socket(&head).status, 431);
    assert_eq!(daemon.get("/health")["records"], 0);
}

#[test]
fn who_is_refused_may_send_the_request_to_its_end() {
    use std::io::{Read, Write};
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let body = "x".repeat(3 << 20);
    let headers = [("Authorization", "Bearer 0123")];
    let asked = request(
        "POST",
        "/memory/record",
        &daemon.address,
        &headers,
        Some(&body),
    );
    let mut stream = std::net::TcpStream::connect(&daemon.address).unwrap();
    stream.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[test]
fn more_requests_than_allowed_are_put_off() {
    let env = TestEnv::new();
    let config = env.home().join("memory/config.toml");
    std::fs::write(&config, "[serve]\nrequests_per_second = 1.0").unwrap();
    let daemon = Daemon::start(&env);
    let ask = || daemon.ask("GET", "/health", None);
    let answers: Vec<_> = (0..20).map(|_| ask()).collect();
    let refused: Vec<_> = answers.iter().filter(|a| a.status == 429).collect();
    assert!(!refused.is_empty() && refused.len() < 20);
    assert!(refused[0].head.contains("retry-after: 1"));
}

#[test]
fn paths_in_ids_lead_nowhere() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    for id in [
        "..%2f..%2fetc%2fpasswd", "%00", "..", "%2e%2e%2fdaemon.token", "%ff",
    ] {
        for route in ["/sessions/", "/memory/record/"] {
            let answer = daemon.ask("GET", &format!("{route}{id}"), None);
            assert!((400..500).contains(&answer.status), "{id}: {}", answer.body);
            assert!(!answer.body.contains("root:") && !answer.body.contains(&daemon.token));
        }
    }
    let compact = json!({ "session_id": "/etc/passwd" });
    assert_eq!(daemon.ask("POST", "/compact", Some(&compact)).status, 404);
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    daemon.get("/health");
    for file in std::fs::read_dir(env.home().join("memory")).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{:?}", file.path());
    }
}

#[test]
fn a_new_token_opens_and_the_old_one_opens_nothing_any_more() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let health = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str())];
        let asked = request("GET", "/health", &daemon.address, &headers, None);
        daemon.tcp(&asked).status
    };
    assert_eq!(health(&daemon.token), 200);
    let made = env.run(&["serve", "--new-token"]);
    assert_eq!(made.code, Some(0), "{}", made.shown());
    let file = env.home().join("memory/daemon.token");
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(!made.shown().contains(token.trim()));
    assert_eq!((health(&daemon.token), health(token.trim())), (401, 200));
    // The token does not allow to change the token.
    let bearer = format!("Bearer {}", token.trim());
    let headers = [("Authorization", bearer.as_str())];
    let asked = request("POST", "/daemon/token", &daemon.address, &headers, None);
    assert_eq!(daemon.tcp(&asked).status, 403);
    drop(daemon);
    assert_eq!(env.run(&["serve", "--new-token"]).code, Some(0));
    assert_ne!(std::fs::read_to_string(&file).unwrap(), token);
}
