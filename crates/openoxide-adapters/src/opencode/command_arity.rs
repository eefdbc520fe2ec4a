//! The number of words of a command that OpenCode keeps when it offers a prefix (1.18.33,
//! observed).

const ARITY_ONE: &str = "cat cd chmod chown cp echo env export grep kill killall ln ls mkdir mv ps pwd rm rmdir sleep source tail \
touch unset which";

const ARITY_TWO: &str = "bazel brew bun cargo cdk cf cmake composer consul crictl deno docker eksctl firebase flyctl git go gradle \
helm heroku hugo ip kind kubectl kustomize make mc minikube mongosh mvn mysql ng npm nvm nx openssl pip pipenv pnpm podman \
poetry psql pulumi pyenv python rake rbenv redis-cli rustup serverless skaffold sls sst swift systemctl terraform tmux turbo \
ufw vault vercel volta wp yarn";

/// The words of one command are joined by `_`.
const ARITY_THREE: &str = "aws az bun_run bun_x cargo_add cargo_run consul_kv deno_task docker_builder docker_compose \
docker_container docker_image docker_network docker_volume doctl eksctl_create gcloud gh git_config git_remote git_stash \
ip_addr ip_link ip_netns ip_route kind_create kubectl_kustomize kubectl_rollout mc_admin npm_exec npm_init npm_run npm_view \
openssl_req openssl_x509 pnpm_dlx pnpm_exec pnpm_run podman_container podman_image pulumi_stack sfdx terraform_workspace \
vault_auth vault_kv yarn_dlx yarn_run";

/// Returns the pattern that "always" would allow for a command of these words.
pub(crate) fn always_pattern(words: &[&str]) -> String {
    let kept = (1..=2).rev().find_map(|count| prefix_arity(words.get(..count)?)).unwrap_or(1);
    let prefix = words.get(..kept.min(words.len())).unwrap_or_default();
    format!("{} *", prefix.join(" "))
}

fn prefix_arity(words: &[&str]) -> Option<usize> {
    // No command contains such a word, which would be read as two words.
    if words.iter().any(|word| word.contains('_')) {
        return None;
    }
    let name = words.join("_");
    let row = |list: &str| list.split(' ').any(|entry| entry == name);
    [(1, ARITY_ONE), (2, ARITY_TWO), (3, ARITY_THREE)]
        .into_iter()
        .find_map(|(kept, list)| row(list).then_some(kept))
}
