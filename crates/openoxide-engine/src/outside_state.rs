//! Commands that show the state of the system or of a service.
//!
//! The sandbox hides other processes, networks, sockets and the credentials of services. In it, an agent would conclude that its
//! server does not run, and clients of services would fail.

use openoxide_protocol::{Access, Decision};

use crate::link_commands::program_name;

/// Programs that show processes, sockets, sessions or the network. The program table determines with
/// which arguments they are read-only.
const SYSTEM_PROGRAMS: [&str; 27] = [
    "dmesg",
    "fuser",
    "htop",
    "ifconfig",
    "ip",
    "iostat",
    "journalctl",
    "last",
    "launchctl",
    "loginctl",
    "lsof",
    "netstat",
    "nvidia-smi",
    "pgrep",
    "pidof",
    "pidstat",
    "ps",
    "pstree",
    "screen",
    "ss",
    "systemctl",
    "tmux",
    "top",
    "uptime",
    "vmstat",
    "w",
    "who",
];
/// Clients that show the state of containers, clusters, clouds, repository hosts, databases and key
/// agents. The program table determines with which arguments they are read-only.
const SERVICE_CLIENTS: [&str; 77] = [
    "argocd",
    "aws",
    "az",
    "boundary",
    "bq",
    "buildah",
    "cilium",
    "civo",
    "colima",
    "consul",
    "crictl",
    "ctr",
    "docker",
    "docker-compose",
    "doctl",
    "eb",
    "eksctl",
    "exo",
    "firebase",
    "flux",
    "fly",
    "flyctl",
    "gcloud",
    "gh",
    "glab",
    "gpg",
    "gsutil",
    "hcloud",
    "helm",
    "heroku",
    "hub",
    "ibmcloud",
    "istioctl",
    "k3d",
    "kind",
    "kops",
    "kubecolor",
    "kubectl",
    "kubectx",
    "kubens",
    "limactl",
    "linkerd",
    "linode-cli",
    "mariadb",
    "minikube",
    "mongosh",
    "mysql",
    "mysqladmin",
    "neon",
    "neonctl",
    "nerdctl",
    "netlify",
    "nomad",
    "oc",
    "oci",
    "pg_isready",
    "podman",
    "podman-compose",
    "pscale",
    "psql",
    "railway",
    "redis-cli",
    "render",
    "scw",
    "ssh-add",
    "sst",
    "stern",
    "supabase",
    "tailscale",
    "tea",
    "turso",
    "valkey-cli",
    "vault",
    "velero",
    "vultr-cli",
    "wg",
    "wrangler",
];
/// Programs that only select and print parts of such output.
const LINE_PROGRAMS: [&str; 19] = [
    "[", "cat", "column", "cut", "echo", "egrep", "false", "fgrep", "grep", "head", "jq", "printf",
    "sleep", "sort", "tail", "test", "tr", "true", "wc",
];

/// Returns whether the commands of a decision show the state of the system or of a service, and
/// nothing else is run that does more than print parts of their output.
pub(crate) fn shows_outside_state(decision: &Decision) -> bool {
    let mut programs = decision.parts.iter().filter_map(|part| {
        let Access::Exec(exec) = &part.access else { return None };
        Some(program_name(exec).unwrap_or_default())
    });
    let is_outside =
        |program: &str| SYSTEM_PROGRAMS.contains(&program) || SERVICE_CLIENTS.contains(&program);
    programs.clone().any(is_outside)
        && programs.all(|program| is_outside(program) || LINE_PROGRAMS.contains(&program))
}
