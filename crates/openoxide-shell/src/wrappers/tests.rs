use super::*;
use crate::options::notation::words;

/// Shows what is inside as the tests write it.
fn inside(line: &str) -> String {
    match unfold(&words(line)) {
        Inside::Nothing => "-".to_owned(),
        Inside::Command(command) => show(&command),
        Inside::Commands(commands) => commands.iter().map(show).collect::<Vec<_>>().join(" | "),
        Inside::Script(script) => format!("script: {script}"),
        Inside::Unknown(_) => "?".to_owned(),
    }
}

fn show(words: &Words) -> String {
    let word = |word| match word {
        Word::Known(text) => text.to_owned(),
        Word::Begins(text) => format!("{text}$?"),
        Word::Many => "$*".to_owned(),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn all_unfold(rows: &[(&str, &str)]) {
    for (line, expected) in rows {
        assert_eq!(inside(line), *expected, "{line}");
    }
}

#[test]
fn the_table_is_sorted_by_name() {
    assert!(table::WRAPPERS.is_sorted_by(|(one, _), (other, _)| one < other));
}

#[test]
fn other_programs_hold_nothing() {
    all_unfold(&[
        ("", "-"),
        ("ls", "-"),
        ("$? x", "-"),
        ("git rebase -x y", "-"),
        ("python -c x", "-"),
    ]);
}

#[test]
fn env_runs_what_follows_its_assignments() {
    all_unfold(&[
        ("env", "-"),
        ("env ls a", "ls a"),
        ("/usr/bin/env ls", "ls"),
        ("env A=b C=$? ls A=b", "ls A=b"),
        ("env -i -u X -0 --unset=Y ls", "ls"),
        ("env -uX - A=b ls -i", "ls -i"),
        ("env --ignore ls", "?"),
        ("env --ignore-e ls", "ls"),
        ("env --uns X ls", "ls"),
        ("env -C /etc ls", "?"),
        ("env --chdir=/etc ls", "?"),
        ("env --chd /etc ls", "?"),
        ("env -S 'bash -c id'", "bash -c id"),
        ("env -S 'A=b rm' x", "rm x"),
        ("env -iS 'rm -rf' x", "rm -rf x"),
        ("env '-S-u A rm' x", "rm x"),
        ("env --split-string='rm -rf' x", "rm -rf x"),
        ("env -S 'rm ${X}'", "?"),
        ("env -S '-S rm'", "?"),
        ("env -S $? x", "?"),
        ("env -x ls", "?"),
        ("env --help", "-"),
        ("env $? ls", "?"),
        ("env $*", "?"),
        ("env A=b $*", "?"),
        ("env A=b", "-"),
        ("env -- ls", "ls"),
        ("env l$?", "l$?"),
    ]);
}

#[test]
fn sudo_and_its_like_run_what_follows() {
    all_unfold(&[
        ("sudo rm -rf /", "rm -rf /"),
        ("/usr/bin/sudo -n rm x", "rm x"),
        ("sudo -u root -g wheel -E rm x", "rm x"),
        ("sudo -uroot rm x", "rm x"),
        ("sudo -nu root rm x", "rm x"),
        ("sudo --user=root rm x", "rm x"),
        ("sudo --user root rm x", "rm x"),
        ("sudo --use root rm x", "rm x"),
        ("sudo A=b rm x", "rm x"),
        ("sudo -s rm x", "rm x"),
        ("sudo -i rm -rf etc", "rm -rf $? $*"),
        ("sudo -s", "?"),
        ("sudo -e /etc/passwd", "?"),
        ("sudo -D / rm x", "?"),
        ("sudo --chdir=/ rm x", "?"),
        ("sudo -h host rm x", "?"),
        ("sudo -l", "-"),
        ("sudo -v", "-"),
        ("sudo -Z rm", "?"),
        ("sudo --no-such rm", "?"),
        ("sudo -- rm x", "rm x"),
        ("sudo $? rm", "?"),
        ("doas -u root rm x", "rm x"),
        ("doas -s", "?"),
        ("doas rm x", "rm x"),
        ("pkexec --user root rm x", "rm $? $*"),
        ("gosu root rm x", "rm x"),
        ("su -c 'rm x'", "script: rm x"),
        ("su root -c 'rm x'", "script: rm x"),
        ("su -c 'rm x' root", "script: rm x"),
        ("su --command='rm x'", "script: rm x"),
        ("su --comm 'rm x'", "script: rm x"),
        ("su -s /bin/sh -c 'rm x' bob", "script: rm x"),
        ("su -s /bin/fish -c 'rm x' bob", "?"),
        ("su - -c 'rm x'", "?"),
        ("su -lc 'rm x'", "?"),
        ("su bob -- -c 'rm x'", "?"),
        ("su", "?"),
        ("su -c $?", "?"),
        ("su -c a -c b", "?"),
        ("runuser -u bob -- rm x", "rm x"),
        ("runuser -u bob rm x", "rm x"),
        ("runuser -c 'rm x' bob", "script: rm x"),
        ("runuser --user=bob rm x", "rm x"),
        ("runuser bob", "?"),
    ]);
}

#[test]
fn limits_and_priorities() {
    all_unfold(&[
        ("timeout 5 rm x", "rm x"),
        ("timeout -k 5 -s KILL 10 rm -s", "rm -s"),
        ("timeout -sKILL --kill-after=5 10 rm", "rm"),
        ("timeout --foreground --sig KILL 10 rm", "rm"),
        ("timeout $? rm", "?"),
        ("timeout 5$? rm", "rm"),
        ("timeout 5", "-"),
        ("timeout --help", "-"),
        ("timeout -x 5 rm", "?"),
        ("gtimeout 5 rm", "rm"),
        ("nice rm x", "rm x"),
        ("nice -n 5 rm", "rm"),
        ("nice -n5 rm", "rm"),
        ("nice -5 rm", "rm"),
        ("nice --adjustment=5 rm", "rm"),
        ("nice --adj 5 rm", "rm"),
        ("nice --5 rm", "?"),
        ("nohup rm x", "rm x"),
        ("nohup -- rm", "rm"),
        ("nohup -x rm", "?"),
        ("time rm x", "rm x"),
        ("/usr/bin/time -p -f %e rm x", "rm x"),
        ("time -o f rm x", "rm x"),
        ("time --format=%e -v rm", "rm"),
        ("time -h rm", "?"),
        ("stdbuf -o0 -e L --input=0 rm", "rm"),
        ("stdbuf -oL sh -c id", "sh -c id"),
        ("stdbuf -x rm", "?"),
        ("setsid -fw rm", "rm"),
        ("setsid --wait rm", "rm"),
        ("setsid sh -c id", "sh -c id"),
        ("ionice -c 3 -n0 rm", "rm"),
        ("ionice -c3 -t rm", "rm"),
        ("ionice --class 3 rm", "rm"),
        ("ionice -p 5", "-"),
        ("chrt -r 5 rm", "rm"),
        ("chrt 5 rm", "rm"),
        ("chrt -i 0 rm x", "rm x"),
        ("chrt --idle rm x", "rm x"),
        ("chrt -p 5", "-"),
        ("chrt -r 5", "-"),
        ("chrt -T 5 -d 0 rm", "rm"),
        ("taskset 1 rm", "rm"),
        ("taskset -c 0-3 rm -c", "rm -c"),
        ("taskset -p 5", "-"),
        ("taskset -x 1 rm", "?"),
    ]);
}

#[test]
fn builtins_that_run_their_words() {
    all_unfold(&[
        ("command rm x", "rm x"),
        ("command -p rm", "rm"),
        ("command -v rm", "-"),
        ("command -pV rm", "-"),
        ("command -- rm", "rm"),
        ("command", "-"),
        ("command -x rm", "?"),
        ("builtin echo", "echo"),
        ("exec rm x", "rm x"),
        ("exec -a name rm", "rm"),
        ("exec -cl rm", "rm"),
        ("exec -lasudo rm", "rm"),
        ("exec", "-"),
        ("exec $*", "?"),
    ]);
}

#[test]
fn xargs_appends_or_replaces() {
    all_unfold(&[
        ("xargs", "echo $*"),
        ("xargs rm -rf", "rm -rf $*"),
        ("xargs -0 -n1 rm", "rm $*"),
        ("xargs -0n 1 -P4 rm", "rm $*"),
        ("xargs -t touch echo", "touch echo $*"),
        ("xargs -I{} rm a{}b c", "rm a$? c"),
        ("xargs -I % sh -c 'rm %'", "sh -c rm $?"),
        ("xargs -i rm {}", "rm $?"),
        ("xargs -iX rm X", "rm $?"),
        ("xargs --replace=X rm X", "rm $?"),
        ("xargs --repl rm {}", "rm $?"),
        ("xargs -I{} -n1 rm {}", "rm $? $*"),
        ("xargs -I{} {} x", "$? x"),
        ("xargs -I $? rm", "?"),
        ("xargs --max-args=3 rm", "rm $*"),
        ("xargs --max-a 3 rm", "rm $*"),
        ("xargs --max 3 rm", "?"),
        ("xargs --null --no-run rm", "rm $*"),
        ("xargs -a f -d , rm", "rm $*"),
        ("xargs -E end -eend -l2 rm", "rm $*"),
        ("xargs -J % rm %", "?"),
        ("xargs sh -c", "sh -c $*"),
        ("xargs $? rm", "?"),
        ("xargs -r -- rm", "rm $*"),
    ]);
}

#[test]
fn find_runs_commands() {
    all_unfold(&[
        ("find . -name x", "-"),
        ("find . -exec rm {} ;", "rm $?"),
        ("find . -exec rm {} +", "rm $*"),
        ("find . -exec rm a{}b ; -o -exec touch x ;", "rm a$? | touch x"),
        ("find . -ok rm {} ;", "rm $?"),
        ("find . -execdir touch pwned ;", "touch $? $*"),
        ("find . -okdir rm -rf x ;", "rm -rf $? $*"),
        ("find . -name -exec -exec rm {} ;", "rm $?"),
        ("find . -fprintf -exec -exec -exec rm {} ;", "rm $?"),
        ("find -exec {} ;", "$?"),
        ("find . -exec + + ;", "+ +"),
        ("find . -exec rm", "?"),
        ("find . -exec ;", "?"),
        ("find . -exec rm $* ;", "?"),
        ("find . -exec rm $? ;", "?"),
        ("find . -exec rm a$? ;", "rm a$?"),
        ("find . -nosuch -exec rm ;", "?"),
        ("find $* -exec rm ;", "?"),
        ("find $? -name x", "?"),
        ("find a$? -name $? -exec rm {} ;", "rm $?"),
        ("find . -name $* -exec rm ;", "?"),
        ("find . -exec sh -c 'rm $0' {} ;", "sh -c rm $0 $?"),
        ("find . -delete", "-"),
    ]);
}

#[test]
fn fd_runs_commands() {
    all_unfold(&[
        ("fd foo", "-"),
        ("fd -x touch pwned", "touch pwned $*"),
        ("fd foo -Hx rm {}", "rm $? $*"),
        ("fd --exec rm a{/.}", "rm a$? $*"),
        ("fd -X rm ;", "rm $*"),
        ("fd -e rs --exec-batch wc", "wc $*"),
        ("fdfind -x rm", "rm $*"),
        ("fd -xrm", "?"),
        ("fd --exec=rm", "?"),
        ("fd -x a ; -x b", "?"),
        ("fd -x", "?"),
        ("fd --nosuch -x rm", "?"),
        ("fd -x rm $*", "?"),
    ]);
}

#[test]
fn shells_run_their_scripts() {
    all_unfold(&[
        ("bash -c 'rm x'", "script: rm x"),
        ("/bin/sh -c 'rm x'", "script: rm x"),
        ("bash -lc 'rm x'", "script: rm x"),
        ("bash -xec 'rm x'", "script: rm x"),
        ("bash -c -e 'rm x'", "script: rm x"),
        ("bash -c -- 'rm x'", "script: rm x"),
        ("bash -c - 'rm x'", "script: rm x"),
        ("bash -e -o pipefail -c 'rm x'", "script: rm x"),
        ("bash -euo pipefail -c 'rm x'", "script: rm x"),
        ("bash -c -o posix 'rm x'", "script: rm x"),
        ("bash +x -c 'rm x'", "script: rm x"),
        ("bash +O extglob -c 'rm x'", "script: rm x"),
        ("bash -O extglob -c 'rm x'", "script: rm x"),
        ("bash --norc --noprofile -c 'rm x'", "script: rm x"),
        ("bash -norc -c 'rm x'", "script: rm x"),
        ("bash --login -c 'rm x'", "script: rm x"),
        ("bash --posix -lc 'rm x' a b", "script: rm x"),
        ("bash -c 'rm $1' x $*", "script: rm $1"),
        ("bash -nc 'rm x'", "script: rm x"),
        ("bash -c id --version", "script: id"),
        ("sh -c id install", "script: id"),
        ("dash -ec 'rm x'", "script: rm x"),
        ("zsh -fc 'rm x'", "script: rm x"),
        ("zsh -o extendedglob -c 'rm x'", "script: rm x"),
        ("ksh -c 'rm x'", "script: rm x"),
        ("bash --rcfile f -c 'rm x'", "?"),
        ("bash --init-file f", "?"),
        ("bash --norc2 -c x", "?"),
        ("bash -c --norc x", "?"),
        ("bash -oc posix 'rm x'", "?"),
        ("zsh -oextendedglob -c x", "?"),
        ("bash -Zc x", "?"),
        ("bash f", "?"),
        ("bash", "?"),
        ("sh -s", "?"),
        ("bash -", "?"),
        ("bash $? -c x", "?"),
        ("bash -c $?", "?"),
        ("bash -c $*", "?"),
        ("bash -c", "-"),
        ("bash --version", "-"),
        ("fish -c x", "?"),
        ("pwsh -c x", "?"),
    ]);
}

#[test]
fn the_rest() {
    all_unfold(&[
        ("busybox rm x", "rm x"),
        ("toybox rm x", "rm x"),
        ("busybox sh -c x", "sh -c x"),
        ("busybox --list", "-"),
        ("busybox --install /x", "?"),
        ("busybox", "-"),
        ("busybox $?", "?"),
        ("watch -n 5 ls -l", "script: ls -l"),
        ("watch -n5 -d 'ls | wc'", "script: ls | wc"),
        ("watch --interval=5 --diff ls", "script: ls"),
        ("watch -x ls -l", "ls -l"),
        ("watch --exec ls", "ls"),
        ("watch ls $?", "?"),
        ("watch -Z ls", "?"),
        ("script -qc id /dev/null", "script: id"),
        ("script -c id", "script: id"),
        ("script f -c id", "script: id"),
        ("script --command=id f", "script: id"),
        ("script", "?"),
        ("script f", "?"),
        ("script f rm x", "?"),
        ("script -c $?", "?"),
        ("flock f rm x", "rm x"),
        ("flock -n -w 5 f rm x", "rm x"),
        ("flock --timeout=5 f rm -n", "rm -n"),
        ("flock f -c 'rm x'", "script: rm x"),
        ("flock f --command 'rm x'", "script: rm x"),
        ("flock -c 'rm x' f", "?"),
        ("flock f -c rm x", "?"),
        ("flock -u 9", "-"),
        ("flock f $? x", "?"),
        ("strace -f -e trace=open rm x", "rm x"),
        ("strace -ff -s 99 --trace=open rm", "rm"),
        ("strace -o f rm", "?"),
        ("strace -o '|sh' ls", "?"),
        ("strace -E A=b rm", "?"),
        ("strace -p 5", "-"),
        ("strace -M rm", "?"),
        ("ltrace -f -e x rm", "rm"),
        ("chroot /x rm -rf etc /lib", "rm -rf $? /lib $*"),
        ("chroot --userspec=a /x rm", "rm $*"),
        ("chroot /x", "?"),
        ("unshare -rn rm x", "rm x"),
        ("unshare --map-root-user --net=f rm", "rm"),
        ("unshare -w / rm x", "?"),
        ("unshare", "?"),
        ("nsenter -t 1 -n rm x", "rm x"),
        ("nsenter --target 1 --net rm x", "rm x"),
        ("nsenter -t 1 -m rm x", "?"),
        ("nsenter -t 1 -a rm x", "?"),
        ("ssh host rm x", "?"),
        ("parallel rm", "?"),
    ]);
}
