//! The container and the pod of a process, from the path of its control group.

/// Hexadecimal digits of a container's identifier, as Docker, Podman, containerd and CRI-O make it.
const ID_DIGITS: usize = 64;

/// Characters of a pod's identifier.
const POD_CHARACTERS: usize = 36;

/// Where a process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Container {
    /// Identifier of the container.
    pub id: Option<String>,
    /// Identifier of the Kubernetes pod.
    pub pod: Option<String>,
}

impl Container {
    /// Reads the contents of `/proc/PID/cgroup`.
    ///
    /// # Source
    /// cgroups(7); the cgroup drivers of runc (`libcontainer/cgroups`) and of the kubelet (`pkg/kubelet/cm`).
    pub fn of(groups: &str) -> Self {
        let mut container = Self::default();
        let paths = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        for part in paths.flat_map(|path| path.split('/')) {
            let part = part.strip_suffix(".scope").unwrap_or(part);
            let part = part.strip_suffix(".slice").unwrap_or(part);
            if let Some(id) = id(part) {
                container.id = Some(id.to_owned());
            }
            if let Some(pod) = pod(part) {
                container.pod = Some(pod);
            }
        }
        container
    }

    /// As text: `container ID; pod ID`. `None` outside of containers and pods.
    pub fn words(&self) -> Option<String> {
        let id = self.id.as_ref().map(|id| format!("container {id}"));
        let pod = self.pod.as_ref().map(|pod| format!("pod {pod}"));
        let parts: Vec<_> = [id, pod].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The digits alone, or behind the name of the runtime: `docker-DIGITS`.
fn id(part: &str) -> Option<&str> {
    let start = part.len().checked_sub(ID_DIGITS)?;
    let (before, digits) = part.split_at_checked(start)?;
    let is_id = (before.is_empty() || before.ends_with('-'))
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(digits)
}

/// `podUID`, alone or behind `kubepods-CLASS-`, where systemd has `_` for `-`.
fn pod(part: &str) -> Option<String> {
    let start = part.len().checked_sub(POD_CHARACTERS)?;
    let (before, pod) = part.split_at_checked(start)?;
    let is_pod = (before == "pod" || before.ends_with("-pod"))
        && pod
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_'));
    is_pod.then(|| pod.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const POD: &str = "2c48913c-b29f-11e7-9350-020968147796";

    #[test]
    fn containers_and_pods_of_the_known_runtimes_are_found() {
        let under = POD.replace('-', "_");
        let none = (None, None);
        let docker = (Some(ID), None);
        let pod = (Some(ID), Some(POD));
        for (groups, expected) in [
            (
                "0::/user.slice/user-0.slice/session-1.scope\n".to_owned(),
                none,
            ),
            (format!("0::/system.slice/docker-{ID}.scope\n"), docker),
            (format!("12:cpu:/docker/{ID}\n0::/\n"), docker),
            (
                format!("0::/machine.slice/libpod-{ID}.scope/container\n"),
                docker,
            ),
            (format!("4:memory:/kubepods/burstable/pod{POD}/{ID}\n"), pod),
            (
                format!(
                    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{under}.slice/cri-containerd-{ID}.scope"
                ),
                pod,
            ),
            (format!("0::/x{ID}"), none),
            ("no group".to_owned(), none),
            ("0::/ääääääääääääääääääääääääääääääääääää".to_owned(), none),
        ] {
            let found = Container::of(&groups);
            assert_eq!(
                (found.id.as_deref(), found.pod.as_deref()),
                expected,
                "{groups}"
            );
        }
    }
}
