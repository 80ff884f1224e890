//! Control groups of processes, and the units and containers that these belong to by their paths.
//!
//! Names are from paths alone: no socket of a container engine is asked. Forms of the paths: systemd(1), "Control
//! group integration"; the cgroup drivers `cgroupfs` and `systemd` of runc and Kubernetes.

use crate::file::hierarchies;

use super::text_of;

/// Digits of a container's id that are shown, as container engines show them.
const ID_SHOWN: usize = 12;

/// Digits of a container's id.
const ID_LEN: usize = 64;

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessCgroup {
    /// Path from the root of its hierarchy: `/system.slice/nginx.service`; empty if it is not known.
    pub path: String,
    /// Systemd service that it belongs to: the innermost one, within the container if it is in one.
    pub unit: Option<String>,
    /// Container that it belongs to: the engine and the first digits of the id, or its name, `docker:0123456789ab`.
    pub container: Option<String>,
}

impl ProcessCgroup {
    /// Parses the text of a `/proc/PID/cgroup`.
    pub(crate) fn parse(text: &[u8]) -> ProcessCgroup {
        // Version 2 if it is in use, else systemd's hierarchy of version 1, else that with the deepest path.
        let rank = |number: &[u8], controllers: &[u8]| match (number, controllers) {
            (b"0", _) => 2,
            (_, b"name=systemd") => 1,
            _ => 0,
        };
        let depth = |path: &[u8]| path.iter().filter(|&&byte| byte == b'/').count();
        let of_line = |(number, controllers, path): (&[u8], &[u8], &[u8])| {
            let is_below_root = path != b"/";
            (is_below_root, is_below_root.then(|| (rank(number, controllers), depth(path))))
        };
        let best = hierarchies(text).max_by_key(|line| of_line(*line));
        best.map_or_else(ProcessCgroup::default, |(_, _, path)| ProcessCgroup::at(&text_of(path)))
    }

    fn at(path: &str) -> ProcessCgroup {
        // The kernel says so of a group that was removed while a process was in it.
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let parts: Vec<&str> = path.split('/').collect();
        let found =
            parts.iter().enumerate().rev().find_map(|(idx, part)| Some((idx, container_in(&parts[..idx], part)?)));
        let within = found.as_ref().map_or(&parts[..], |(idx, _)| &parts[idx + 1..]);
        let unit = within.iter().rev().find(|part| part.ends_with(".service"));
        ProcessCgroup {
            path: path.to_owned(),
            unit: unit.map(|unit| (*unit).to_owned()),
            container: found.map(|(_, container)| container),
        }
    }
}

/// The container that the directory `part` below the directories `above` stands for.
fn container_in(above: &[&str], part: &str) -> Option<String> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(format!("lxc:{name}"));
    }
    if above.last() == Some(&"lxc") {
        return Some(format!("lxc:{part}"));
    }
    if let Some(name) = part.strip_prefix("machine-") {
        return Some(format!("machine:{name}"));
    }
    let (prefix, id) = part.rsplit_once('-').unwrap_or(("", part));
    if id.len() != ID_LEN || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    // The process that watches over a container of podman's or of CRI-O's is in a group of the same id, outside of
    // it.
    if prefix.ends_with("conmon") {
        return None;
    }
    let is_in = |engine: &str| above.iter().any(|part| part.starts_with(engine));
    let engine = match prefix {
        _ if is_in("kubepods") => "kubernetes",
        "libpod" => "podman",
        "" if is_in("docker") => "docker",
        "" if is_in("libpod") => "podman",
        "" => "container",
        prefix => prefix,
    };
    Some(format!("{engine}:{}", &id[..ID_SHOWN]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f4e0a1b2c3d4e5f60718293a4b5c6d7e8f90123456789abcdef0123456789ab";

    #[track_caller]
    fn check(text: &str, unit: Option<&str>, container: Option<&str>) {
        let group = ProcessCgroup::parse(text.replace("ID", ID).as_bytes());
        assert_eq!((group.unit.as_deref(), group.container.as_deref()), (unit, container), "{group:?}");
    }

    #[test]
    fn a_service_is_known_by_its_innermost_unit() {
        check("0::/system.slice/nginx.service\n", Some("nginx.service"), None);
        let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service\n";
        check(user, Some("editor.service"), None);
        check("0::/user.slice/user-1000.slice/session-3.scope\n", None, None);
        check("0::/system.slice/nginx.service (deleted)\n", Some("nginx.service"), None);
    }

    #[test]
    fn docker_is_known_with_either_driver() {
        check("0::/system.slice/docker-ID.scope\n", None, Some("docker:3f4e0a1b2c3d"));
        check("4:memory:/docker/ID\n1:name=systemd:/docker/ID\n0::/\n", None, Some("docker:3f4e0a1b2c3d"));
        let with_systemd = "0::/docker/ID/system.slice/cron.service\n";
        check(with_systemd, Some("cron.service"), Some("docker:3f4e0a1b2c3d"));
    }

    #[test]
    fn podman_is_told_from_the_process_that_watches_it() {
        check("0::/machine.slice/libpod-ID.scope/container\n", None, Some("podman:3f4e0a1b2c3d"));
        let of_user = "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope\n";
        check(of_user, None, Some("podman:3f4e0a1b2c3d"));
        check("0::/machine.slice/libpod-conmon-ID.scope\n", None, None);
    }

    #[test]
    fn kubernetes_is_known_with_either_driver() {
        check("0::/kubepods/burstable/pod0a1b/ID\n", None, Some("kubernetes:3f4e0a1b2c3d"));
        let scope =
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0a.slice/cri-containerd-ID.scope\n";
        check(scope, None, Some("kubernetes:3f4e0a1b2c3d"));
    }

    #[test]
    fn machines_have_their_names() {
        check("0::/lxc.payload.web/system.slice/nginx.service\n", Some("nginx.service"), Some("lxc:web"));
        check("3:cpu:/lxc/web\n0::/\n", None, Some("lxc:web"));
        check("0::/machine.slice/machine-db.scope/payload\n", None, Some("machine:db"));
    }

    #[test]
    fn the_hierarchy_that_is_in_use_counts() {
        let text = b"9:name=systemd:/user.slice\n4:memory:/a/b/c\n0::/system.slice/a.service\n";
        assert_eq!(ProcessCgroup::parse(text).path, "/system.slice/a.service");
        assert_eq!(ProcessCgroup::parse(b"9:name=systemd:/\n4:memory:/a:b\n0::/\n").path, "/a:b");
        assert_eq!(ProcessCgroup::parse(b"0::/\n").path, "/");
        assert_eq!(ProcessCgroup::parse(b"junk\n"), ProcessCgroup::default());
    }
}
