//! Hours ahead: `ask` with a far horizon or a statement, and `rules`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use testkit::{PATIENCE, wait_until};

use crate::command::{foretop, run};
use crate::node::{Running, folder};

const STEP: Duration = Duration::from_secs(1800);
const DAY: usize = 48;

/// A node with ten days of a series that has a day's shape, up to the half hour under way.
fn with_days() -> Running {
    let node = Running::in_memory();
    push_days(&node);
    node
}

fn push_days(node: &Running) {
    let post = |path: &str, body: serde_json::Value| {
        let url = format!("{}/api/v1/{path}", node.url);
        ureq::post(&url).header("Content-Type", "application/json").send(body.to_string()).unwrap();
    };
    post("series", json!({"id": "shop.requests", "unit": "requests/s", "step": "1800s", "model": "LAST"}));
    let (n, now) = (10 * DAY, clock::now().floor_to(STEP));
    let sample = |i: usize| {
        let ago = STEP * u32::try_from(n - 1 - i).unwrap();
        let bump = (i * 7919 % 13) as f64 - 6.0;
        let value = 100.0 + 50.0 * (std::f64::consts::TAU * i as f64 / DAY as f64).sin() + 0.3 * bump;
        json!({"time": (now - ago).to_string(), "value": value})
    };
    post("series/shop.requests/samples", json!({ "samples": (0..n).map(sample).collect::<Vec<_>>() }));
}

#[test]
fn a_far_horizon_is_answered_by_the_day() {
    let node = with_days();
    let line = node.run(&["ask", "shop.requests", "--horizon", "6h", "--confidence", "0.8"]).output();
    assert!(line.starts_with("shop.requests in 6h: ") && !line.contains("guess"), "{line}");
    let answer = node.run(&["ask", "shop.requests", "--horizon", "6h", "--format", "json"]).json();
    // A quarter of a day after its beginning is the peak, at 150.
    assert!(answer["median"].as_f64().is_some_and(|median| (median - 150.0).abs() < 10.0), "{answer}");
    assert_eq!((&answer["model"], &answer["mean"]), (&"OUTLOOK".into(), &serde_json::Value::Null));
    node.run(&["ask", "load.1m", "--horizon", "24h"]).check_failed(1, "ask for less, or wait");
}

#[test]
fn a_statement_is_answered_with_what_such_answers_were_worth() {
    let node = with_days();
    let answer = node.run(&["ask", "shop.requests > 140", "--within", "8h", "--for", "1h"]).output();
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].starts_with("shop.requests > 140 for 1h within 8h: "), "{answer}");
    assert!(lines.len() == 2 && lines[1].contains("Brier score"), "{answer}");
    node.run(&["ask", "shop.requets > 140"]).check_failed(1, "did you mean shop.requests?");
    for equality in ["shop.requests = 140", "shop.requests=140"] {
        node.run(&["ask", equality]).check_failed(1, "compares by `=`; a statement compares by `<`, `<=`, `>` or `>=`");
    }
    node.run(&["ask", "shop.requests >= 0"]).check_failed(1, "so `shop.requests >= 0` is always true");
    node.run(&["ask", "shop.requests > 140", "--horizon", "1h"]).check_failed(1, "--within");
    node.run(&["ask", "shop.requests", "--within", "1h"]).check_failed(1, "--horizon");
    node.run(&["ask", "shop.requests > 140 MB"]).check_failed(1, "write the number alone");
}

#[test]
fn signals_with_any_name_can_be_asked_about() {
    let node = Running::in_memory();
    let post = |path: &str, body: serde_json::Value| {
        let url = format!("{}/api/v1/{path}", node.url);
        ureq::post(&url).header("Content-Type", "application/json").send(body.to_string()).unwrap();
    };
    for name in ["disk./My Passport.used", "disk./mnt/1 < 2.used", r#"disk./mnt/q"uo.used"#, "rate(x[5m])"] {
        post("series", json!({"id": name, "unit": "ratio", "step": "1s", "model": "LAST"}));
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let ago = |n: u32| (clock::now() - Duration::from_secs(1) * n).to_string();
        let samples: Vec<_> =
            (0..60).rev().map(|n| json!({"time": ago(n), "value": 0.5 + 0.01 * f64::from(n % 7)})).collect();
        post(&format!("series/{encoded}/samples"), json!({ "samples": samples }));
        let answer = node.run(&["ask", name, "--horizon", "10s"]).output();
        assert!(answer.starts_with(&format!("{name} in 10s: ")), "{answer}");
        let statement = format!("{name} > 90 %");
        let answer = node.run(&["ask", &statement, "--within", "10s", "--format", "json"]).json();
        assert_eq!((&answer["id"], &answer["line"]), (&name.into(), &0.9.into()), "{answer}");
        // Its text is a statement as well.
        let again = answer["statement"].as_str().unwrap();
        let same = node.run(&["ask", again, "--within", "10s", "--format", "json"]).json();
        assert_eq!((&same["id"], &same["statement"]), (&answer["id"], &answer["statement"]));
        let body = json!({"when": statement, "within": "10s"}).to_string();
        let rule = format!("{}/api/v1/rules/full", node.url);
        ureq::put(&rule).header("Content-Type", "application/json").send(body).unwrap();
    }
    node.run(&["ask", "disk./My Passport > 90 %"]).check_failed(1, "names with spaces in double quotes");
}

#[test]
fn an_answer_from_old_samples_says_so() {
    let (node, url) = (Running::in_memory(), |node: &Running, path: &str| format!("{}/api/v1/series{path}", node.url));
    let post = |path: &str, body: serde_json::Value| {
        ureq::post(url(&node, path)).header("Content-Type", "application/json").send(body.to_string()).unwrap();
    };
    post("", json!({"id": "gone", "step": "60s", "model": "LAST"}));
    let ago = |minutes: u64| (clock::now() - Duration::from_secs(60 * minutes)).to_string();
    let samples: Vec<_> = (20..60).rev().map(|minutes| json!({"time": ago(minutes), "value": minutes % 7})).collect();
    post("/gone/samples", json!({ "samples": samples }));
    for question in [&["ask", "gone", "--horizon", "1min"][..], &["ask", "gone > 3", "--within", "5min"]] {
        let answer = node.run(question).output();
        assert!(answer.trim_end().lines().last().unwrap().starts_with("`gone` has had no sample since "), "{answer}");
        assert!(!answer.contains(" now,"), "{answer}");
    }
}

#[test]
fn rules_say_what_they_would_have_done() {
    let (node, folder) = (with_days(), folder());
    let file = folder.path().join("rules.toml");
    let rule = "[[rule]]\nname = \"full\"\nwhen = \"shop.requests > 140\"\nwithin = \"4h\"\n";
    std::fs::write(&file, rule).unwrap();
    let file = file.to_str().unwrap();
    let table = node.run(&["rules", "check", file]).output();
    assert!(table.lines().count() == 2 && table.contains("shop.requests > 140"), "{table}");
    std::fs::write(
        folder.path().join("two.toml"),
        format!("{rule}{}", rule.replace("full", "far").replace("shop.requests", "load.1m").replace("4h", "7d")),
    )
    .unwrap();
    let table = node.run(&["rules", "check", folder.path().join("two.toml").to_str().unwrap()]).output();
    assert!(
        table.lines().count() == 3 && table.contains("ask for less, or wait"),
        "one answer is better than none: {table}"
    );
    let wrong = folder.path().join("wrong.toml");
    let other = |name: &str, when: &str| rule.replace("full", name).replace("shop.requests > 140", when);
    std::fs::write(
        &wrong,
        format!("{}{rule}{}", other("gone", "shop.requets > 140"), other("high", "shop.requests > 140MB")),
    )
    .unwrap();
    let ended = node.run(&["rules", "check", wrong.to_str().unwrap()]);
    assert!(ended.status == 1 && ended.stderr.contains("2 of 3 rules have no answer"), "{}", ended.stderr);
    for part in ["did you mean shop.requests?", "shop.requests > 140 ", "write the number alone"] {
        assert!(ended.stdout.contains(part), "{}", ended.stdout);
    }
    let ended = node.run(&["rules", "test", wrong.to_str().unwrap(), "--past", "1d", "--format", "json"]);
    assert!(ended.status == 1 && ended.stderr.contains("2 of 3 rules have no answer"), "{}", ended.stderr);
    let tried: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(tried[0]["problem"].as_str().unwrap().contains("did you mean shop.requests?"), "{tried}");
    assert!(tried[1]["past_seconds"].is_number() && tried[1]["problem"].is_null(), "{tried}");
    assert!(tried[2]["problem"].as_str().unwrap().contains("write the number alone"), "{tried}");
    let tried = node.run(&["rules", "test", file, "--past", "5d", "--format", "json"]).json();
    let n = |key: &str| tried[0][key].as_u64().unwrap();
    // One peak a day; which of the days at both ends count depends on the hour.
    assert!((4..=6).contains(&n("n_events")) && n("n_foreseen") >= n("n_events") - 1, "{tried}");
    assert!(n("n_right") >= n("n_warned") - 1 && n("n_warned") >= 4, "{tried}");
    let ahead = tried[0]["ahead_median_seconds"].as_f64().unwrap();
    assert!((3600.0..=6.0 * 3600.0).contains(&ahead), "{tried}");
}

#[test]
fn a_file_of_rules_that_makes_no_sense_exits_with_2() {
    let folder = folder();
    let file = folder.path().join("rules.toml");
    std::fs::write(&file, "[[rule]]\nname = \"a\"\nwhen = \"load.1m\"\nwithin = \"1h\"\n").unwrap();
    run(&["rules", "check", file.to_str().unwrap()]).check_failed(2, "line 3: `load.1m` compares nothing");
    run(&["rules", "test", "/nowhere.toml"]).check_failed(2, "cannot read `/nowhere.toml`");
}

#[test]
fn an_export_to_prometheus_names_the_quiet_hours_that_it_ignores() {
    let folder = folder();
    let file = folder.path().join("rules.toml");
    let rule = "[[rule]]\nname = \"a\"\nwhen = \"load.1m > 3\"\nwithin = \"1h\"\n";
    std::fs::write(&file, format!("{rule}quiet = [\"22:00-06:00\"]\n")).unwrap();
    let ended = run(&["rules", "prometheus", file.to_str().unwrap()]);
    assert!(ended.status == 0 && ended.stderr.contains("quiet hours of 1 of 1 rules are ignored"), "{}", ended.stderr);
    std::fs::write(&file, format!("{rule}quiet = [\"Mon-Sun\"]\n")).unwrap();
    run(&["rules", "check", file.to_str().unwrap()]).check_failed(2, "line 5: `Mon-Sun` is all of the week");
}

#[test]
fn a_trial_message_goes_to_each_channel_and_those_that_fail_are_named() {
    let folder = folder();
    let (config, received) = (folder.path().join("foretop.toml"), folder.path().join("message"));
    let command = |run: &str| format!("[[warn.command]]\nrun = [\"/bin/sh\", \"-c\", \"{run}\"]\n");
    std::fs::write(&config, command(&format!("cat > {}", received.display()))).unwrap();
    let config = config.to_str().unwrap();
    assert_eq!(run(&["rules", "try", "--config", config]).output(), "command /bin/sh: delivered\n");
    let message: serde_json::Value = serde_json::from_slice(&std::fs::read(&received).unwrap()).unwrap();
    assert_eq!((&message["warnings"][0]["rule"], &message["warnings"][0]["stands"]), (&"trial".into(), &true.into()));
    std::fs::write(config, command("exit 3")).unwrap();
    let ended = run(&["rules", "try", "--config", config]);
    assert!(ended.status == 1 && ended.stderr.contains("1 of 1 channels did not take the message"), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("command /bin/sh: not delivered: `/bin/sh` failed: exit status: 3"),
        "{}",
        ended.stdout
    );
    std::fs::write(config, command("true") + "after = \"30min\"\n").unwrap();
    run(&["rules", "try", "--config", config]).check_failed(2, "every channel has `after`");
    std::fs::write(config, "").unwrap();
    run(&["rules", "try", "--config", config]).check_failed(1, "has no notification channel");
    run(&["rules", "try"]).check_failed(2, "--config");
}

/// An Alertmanager that answers the first request with 503 and all others with 200, and hands on the bodies.
fn alertmanager() -> (String, mpsc::Receiver<serde_json::Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for (idx, stream) in listener.incoming().enumerate() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while stream.read_line(&mut line).unwrap() > 2 {
                head.push_str(&std::mem::take(&mut line).to_ascii_lowercase());
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let mut body = vec![0; length.trim().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let status = if idx == 0 { "503 Not Yet" } else { "200 OK" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            if idx > 0 && sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

#[test]
fn a_warning_that_stands_is_told_until_alertmanager_hears_it() {
    let (node, folder) = (with_days(), folder());
    let file = folder.path().join("rules.toml");
    let rule = |name: &str, when: &str| format!("[[rule]]\nname = \"{name}\"\nwhen = \"{when}\"\nwithin = \"4h\"\n");
    // One is sure to come true, one never does.
    std::fs::write(&file, rule("busy", "shop.requests > 20") + &rule("idle", "shop.requests < 10")).unwrap();
    let (server, heard) = alertmanager();
    let arguments = ["rules", "watch", file.to_str().unwrap(), "--every", "50ms", "--alertmanager", &server];
    let mut watching = foretop()
        .args(arguments)
        .args(["--node", &node.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let alerts = heard.recv_timeout(PATIENCE);
    watching.kill().unwrap();
    let ended = watching.wait_with_output().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    let alerts = alerts.unwrap_or_else(|_| panic!("nothing was told: {said}{complained}"));
    assert_eq!(alerts.as_array().map(Vec::len), Some(1), "{alerts}");
    assert_eq!(alerts[0]["labels"]["alertname"], "busy");
    assert_eq!(alerts[0]["labels"]["series"], "shop.requests");
    assert!(alerts[0]["startsAt"].as_str() < alerts[0]["endsAt"].as_str(), "{alerts}");
    assert!(said.contains(" WARNING busy on ") && said.contains(": shop.requests > 20 within 4h: 100 %"), "{said}");
    assert_eq!(said.matches("WARNING").count(), 1, "{said}");
    assert!(complained.contains("answered 503"), "{complained}");
}

/// A mail server that takes every mail and hands on what it was told.
fn mail_server() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut mail, mut line, mut is_text) = (String::new(), String::new(), false);
            stream.get_mut().write_all(b"220 here\r\n").unwrap();
            while stream.read_line(&mut line).unwrap() > 0 {
                mail.push_str(&line);
                let answer = match &*std::mem::take(&mut line) {
                    ".\r\n" => {
                        is_text = false;
                        "250 taken\r\n"
                    }
                    _ if is_text => continue,
                    "DATA\r\n" => {
                        is_text = true;
                        "354 go on\r\n"
                    }
                    "QUIT\r\n" => "221 bye\r\n",
                    _ => "250 well\r\n",
                };
                // Whoever has been told that the mail is taken may hang up.
                let _ = stream.get_mut().write_all(answer.as_bytes());
                if answer.starts_with("250 taken") && sender.send(std::mem::take(&mut mail)).is_err() {
                    return;
                }
            }
        }
    });
    (address, receiver)
}

#[test]
fn a_node_warns_every_way_once_and_remembers_it() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rule = |name: &str, when: &str| format!("[[rule]]\nname = \"{name}\"\nwhen = \"{when}\"\nwithin = \"4h\"\n");
    let rules = rule("busy", "shop.requests > 20") + &rule("idle", "shop.requests < 10") + &rule("lost", "nobody > 1");
    std::fs::write(path("rules.toml"), rules).unwrap();
    let (server, heard) = alertmanager();
    let (mail, mails) = mail_server();
    let config = format!(
        r#"
        [node]
        every = "50ms"
        only = ["load.*"]
        [warn]
        rules = "{}"
        every = "1s"
        [[warn.alertmanager]]
        url = "{server}"
        [[warn.command]]
        run = ["/bin/sh", "-c", "cat >> $0", "{}"]
        [[warn.mail]]
        to = ["ops@example.org"]
        from = "foretop@example.org"
        server = "{mail}"
        encryption = "none"
        "#,
        path("rules.toml"),
        path("said.json"),
    );
    std::fs::write(path("foretop.toml"), config).unwrap();
    let (config, data) = (path("foretop.toml"), path("data"));
    let start = || Running::start(&["--config", &config, "--data-dir", &data]);
    let node = start();
    push_days(&node);
    let alerts = heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!((alerts.as_array().map(Vec::len), &alerts[0]["labels"]["alertname"]), (Some(1), &"busy".into()));
    let mail = mails.recv_timeout(PATIENCE).unwrap();
    assert!(mail.contains("To: ops@example.org") && mail.contains("Subject: Warning: busy on "), "{mail}");
    assert!(mail.contains("shop.requests > 20 within 4h: 100 %"), "{mail}");
    assert!(mail.contains(&format!("to acknowledge it: {}/#/rules", node.url)), "{mail}");
    let listed = node.run(&["rules", "acknowledge"]).output();
    assert!(listed.lines().count() == 2 && listed.contains("busy"), "{listed}");
    let acknowledged = node.run(&["rules", "acknowledge", "busy", "--by", "ana"]).output();
    assert!(acknowledged.starts_with("busy is acknowledged by ana at "), "{acknowledged}");
    assert!(mail.contains("Content-Type: image/png") && mail.contains("forecast-1.png"), "{mail}");
    let said = wait_until("the command was told", PATIENCE, || {
        let said = std::fs::read(path("said.json")).ok()?;
        serde_json::from_slice::<serde_json::Value>(&said).ok()
    });
    assert_eq!((&said["warnings"][0]["rule"], &said["warnings"][0]["stands"]), (&"busy".into(), &true.into()));
    let address = said["warnings"][0]["picture_url"].as_str().unwrap();
    let picture = ureq::get(address).call().unwrap().body_mut().read_to_vec().unwrap();
    assert!(picture.starts_with(b"\x89PNG"), "{address}");
    let told = node.get("/api/v1/warnings");
    let stands: Vec<bool> = told["rules"].as_array().unwrap().iter().map(|rule| rule["stands"] == true).collect();
    assert_eq!(stands, [true, false, false], "{told}");
    assert!(told["rules"][2]["problem"].as_str().unwrap().contains("there is no series `nobody`"), "{told}");
    let metrics = ureq::get(format!("{}/metrics", node.url)).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(metrics.contains(r#"foretop_warning{rule="busy",series="shop.requests",within="14400s"} 1"#), "{metrics}");

    // Who was warned is not warned again, but hears of the end: here that of the rule, which is gone while the node is
    // down.
    node.terminate("-TERM");
    std::fs::write(path("rules.toml"), rule("idle", "shop.requests < 10")).unwrap();
    let node = start();
    let mail = mails.recv_timeout(PATIENCE).unwrap();
    assert!(mail.contains("Subject: Over: busy on ") && !mail.contains("to acknowledge it"), "{mail}");
    std::fs::write(path("rules.toml"), "[[rule]]").unwrap();
    wait_until("the slip in the file is told", PATIENCE, || {
        let told = node.get("/api/v1/warnings");
        told["problem"].as_str()?.contains("missing field").then(|| assert_eq!(told["rules"][0]["name"], "idle"))
    });
}

#[test]
fn rules_that_have_no_answer_as_they_are_written_are_named_in_the_log() {
    let folder = folder();
    let (file, log) = (folder.path().join("rules.toml"), folder.path().join("log"));
    let rule = |name: &str, when: &str| format!("[[rule]]\nname = \"{name}\"\nwhen = \"{when}\"\nwithin = \"1min\"\n");
    let rules = rule("right", "load.1m > 3") + &rule("lost", "nobody > 1") + &rule("never", "load.1m < 0");
    std::fs::write(&file, rules).unwrap();
    let mut command = foretop();
    command.args(["up", "--listen", "127.0.0.1:0", "--log", "warn", "--in-memory", "--only", "load.*"]);
    let _node = Running::spawn_logging(command.arg("--rules").arg(&file), std::fs::File::create(&log).unwrap());
    let lines = wait_until("both are told", PATIENCE, || {
        let log = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<_> =
            log.lines().filter(|line| line.contains("a rule has no answer")).map(str::to_owned).collect();
        (lines.len() >= 2).then_some(lines)
    });
    assert!(
        lines.len() == 2 && lines[0].contains("lost") && lines[0].contains("there is no series `nobody`"),
        "{lines:?}"
    );
    assert!(lines[1].contains("never") && lines[1].contains("`load.1m < 0` is never true"), "{lines:?}");
}

#[test]
fn a_rule_can_be_silenced_for_a_while() {
    let folder = folder();
    let file = folder.path().join("rules.toml");
    std::fs::write(&file, "[[rule]]\nname = \"busy\"\nwhen = \"load.1m > 1\"\nwithin = \"1min\"\n").unwrap();
    let node =
        Running::start(&["--in-memory", "--every", "50ms", "--only", "load.*", "--rules", file.to_str().unwrap()]);
    wait_until("the rules were looked at", PATIENCE, || node.get("/api/v1/warnings")["rules"].get(0).map(drop));
    assert!(node.run(&["rules", "silence", "busy", "--for", "2h"]).output().starts_with("busy is silent until "));
    assert!(node.get("/api/v1/warnings")["rules"][0]["silent_until"].is_string());
    assert_eq!(node.run(&["rules", "silence", "busy", "--for", "0s"]).output(), "busy is not silent\n");
    node.run(&["rules", "silence", "bus"]).check_failed(1, "there is no rule `bus`; the rules are `busy`");
    node.run(&["rules", "silence", "busy", "--for", "31d"]).check_failed(1, "30d at most");
}
