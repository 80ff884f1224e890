//! Configurations that make no sense are refused with what would.

use tunnel::{Config, Far, Near, StartError};

use crate::world::Site;

const SECURITY: &str = "[security]\ntoken = \"near.token\"\n";
const STORE: &str = "[store]\nfolder = \"store\"\n";

#[track_caller]
fn check(result: Result<(), StartError>, told: &str) {
    let error = result.expect_err(told);
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    assert!(text.contains(told), "{text}");
}

#[tokio::test]
async fn each_mistake_is_named() {
    let site = Site::new();
    let path = site.path("config.toml");
    for (text, told) in [
        ("format = 2\n", "this version reads 1"),
        ("format = 1\nspeed = 9\n", "speed"),
        ("format = 1\n[transfer]\nlevel = 20\n", "from 0"),
        ("format = 1\n[transfer]\nlevel = \"fast\"\n", "`level` is \"paced\", \"auto\""),
        ("format = 1\n[transfer]\ncarrier = \"udp\"\n", "`tcp` or `quic`"),
        ("format = 1\n[transfer]\nwindow = \"1GiB\"\n", "from 64KiB"),
        ("format = 1\n[transfer]\ndrain = \"5\"\n", "`drain`: `5` is not a length of time"),
        ("format = 1\n[transfer]\nanchor_bits = 3\n", "from 4 to 16"),
    ] {
        std::fs::write(&path, format!("{text}{SECURITY}{STORE}")).unwrap();
        check(Config::read(&path).map(drop), told);
    }
    check(Config::read(&site.path("none.toml")).map(drop), "none.toml");
    for (text, told) in [
        ("", "no section [near]"),
        ("[near]\nconnect = \"127.0.0.1:1\"\n", "nothing would listen"),
        ("[near]\nconnect = \"127.0.0.1\"\nproxy = \"127.0.0.1:0\"\n", "lacks `:PORT`"),
        (
            "[near]\nconnect = \"127.0.0.1:1\"\n[[near.forward]]\nlisten = \"127.0.0.1:0\"\ntarget = \"a:1\"\ncomponent = \"ftp\"\n",
            "there are `http`, `tcp`",
        ),
        ("[near]\nconnect = \"far.example:7400\"\nproxy = \"127.0.0.1:0\"\n", "`authorities`"),
        (
            "[near]\nconnect = \"127.0.0.1:1\"\nproxy = \"127.0.0.1:0\"\nneighbours = [\"other.example:1\"]\n",
            "`other.example` is another machine: give `authorities`",
        ),
        (
            "[near]\nconnect = \"127.0.0.1:1\"\nproxy = \"127.0.0.1:0\"\nneighbours = [\"other\"]\n",
            "`neighbours` has `other`, which lacks `:PORT`",
        ),
        (
            "[near]\nconnect = \"127.0.0.1:1\"\nproxy = \"127.0.0.1:0\"\nlend = \"0.0.0.0:0\"\n",
            "`certificate` and `key`",
        ),
        (
            "[transfer]\ncarrier = \"quic\"\n[near]\nconnect = \"127.0.0.1:1\"\nproxy = \"127.0.0.1:0\"\n",
            "QUIC is always encrypted",
        ),
    ] {
        std::fs::write(&path, format!("format = 1\n{SECURITY}{STORE}{text}")).unwrap();
        check(Near::start(&Config::read(&path).unwrap()).await.map(drop), told);
    }
    for (text, told) in [
        ("", "no section [far]"),
        ("[far]\nlisten = \"0.0.0.0:0\"\nallow = []\n", "`certificate` and `key`"),
        ("[far]\nlisten = \"127.0.0.1:0\"\nallow = []\nfiles = \"none\"\n", "which is no folder"),
        ("[transfer]\ncarrier = \"quic\"\n[far]\nlisten = \"127.0.0.1:0\"\nallow = []\n", "QUIC is always encrypted"),
    ] {
        std::fs::write(&path, format!("format = 1\n{SECURITY}{STORE}{text}")).unwrap();
        check(Far::start(&Config::read(&path).unwrap()).await.map(drop), told);
    }
}

#[test]
fn the_examples_are_configurations() {
    for end in ["near", "far"] {
        let path = format!("{}/../../examples/tunnel/{end}.toml", env!("CARGO_MANIFEST_DIR"));
        Config::read(path.as_ref()).unwrap();
    }
}

#[tokio::test]
async fn two_ends_have_two_stores() {
    let site = Site::new();
    let path = site.path("config.toml");
    std::fs::write(&path, format!("format = 1\n{SECURITY}{STORE}[far]\nlisten = \"127.0.0.1:0\"\nallow = []\n"))
        .unwrap();
    let config = Config::read(&path).unwrap();
    let _first = Far::start(&config).await.unwrap();
    check(Far::start(&config).await.map(drop), "another process uses the store");
}
