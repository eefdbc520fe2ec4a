use super::*;
use crate::notation::parse_words;

fn breaks(line: &str) -> bool {
    let path = |text| AbsPath::new(text).unwrap();
    let (bases, home) = ([path("/home/u/project")], path("/home/u"));
    let found =
        find_dangers(&parse_words(line), &DangerContext { bases: &bases, home: Some(&home) });
    assert!(
        found.iter().all(|each| each.kind == FindingKind::CircuitBreaker && each.code == "OX201")
    );
    !found.is_empty()
}

#[test]
fn removing_a_system_home_project_or_git_directory_breaks_the_circuit() {
    for line in [
        "rm -rf /",
        "rm -r -f -- /",
        "rm -rf /./",
        "rm -rf //",
        "rm /",
        "/bin/rm -rf /",
        "rm -rf /etc",
        "rm -rf /*",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf /home",
        "rm -rf /home/u",
        "rm -rf .",
        "rm -rf ..",
        "rm -rf ./",
        "rm -rf src/../..",
        "rm -rf /home/u/project",
        "rm -rf /home/u/project/*",
        "rm -rf ./*",
        "rm -rf *",
        "rm -rf a ~",
        "rm -rf .git",
        "rm -rf .git/hooks",
        "rm -rf sub/.git/",
        "rm .git",
        "rm --recursive --force /usr",
        "rm --rec x /usr",
        "rmdir /opt",
        "unlink /etc",
        "shred .git",
        "mv .git x",
        "mv ~ x",
        "mv . x",
        "mv /etc x",
        "trash ~",
        "truncate -s0 /vmlinuz",
    ] {
        assert!(breaks(line), "{line}");
    }
}

#[test]
fn a_recursive_removal_of_unknown_files_breaks_the_circuit() {
    for line in ["rm -rf $?", "rm -rf $*", "rm -r a $?", "rm -rf a$?", "rm -fR $*", "rm $? -r"] {
        assert!(breaks(line), "{line}");
    }
    assert!(!breaks("rm $?"));
    assert!(!breaks("rm -f $*"));
}

#[test]
fn find_that_deletes_breaks_the_circuit_unless_it_chooses() {
    for line in [
        "find / -delete",
        "find / -name core -delete",
        "find . -delete",
        "find -delete",
        "find . -type f -delete",
        "find ~ -name x -delete",
        "find /etc -name x -delete",
        "find .. -name x -delete",
    ] {
        assert!(breaks(line), "{line}");
    }
    for line in [
        "find . -name '*.pyc' -delete",
        "find build -delete",
        "find / -name x",
        "find -name x -delete",
    ] {
        assert!(!breaks(line), "{line}");
    }
}

#[test]
fn devices_and_rights() {
    for line in [
        "dd if=/dev/zero of=/dev/sda",
        "dd of=/dev/nvme0n1",
        "dd of=/dev/../dev/sda",
        "mkfs /dev/sda1",
        "mkfs.ext4 /dev/sda1",
        "wipefs -a /dev/sda",
        "fdisk /dev/sda",
        "shred /dev/sda",
        "tee /dev/sda",
        "cp x /dev/sda",
        "chmod -R 777 /",
        "chmod -R 777 .",
        "chown -R me ~",
        "chown --recursive me /usr",
    ] {
        assert!(breaks(line), "{line}");
    }
    for line in [
        "dd if=/dev/sda of=x",
        "dd of=/dev/null",
        "fdisk -l /dev/sda",
        "cp /dev/sda x",
        "tee /dev/stderr",
        "chmod 755 .",
        "chmod -R 755 build",
        "mkfs.ext4 disk.img",
        "cp x /dev/shm/x",
    ] {
        assert!(!breaks(line), "{line}");
    }
}

#[test]
fn a_forced_push_breaks_the_circuit() {
    for line in [
        "git push --force origin main",
        "git push -f",
        "git push -uf origin x",
        "git push origin +main",
        "git push --mirror",
        "git push --mir",
        "git -C x push --force",
    ] {
        assert!(breaks(line), "{line}");
    }
    for line in [
        "git push",
        "git push origin main",
        "git push --force-with-lease",
        "git push --follow-tags",
        "git log -f",
    ] {
        assert!(!breaks(line), "{line}");
    }
}

#[test]
fn ordinary_work_does_not() {
    for line in [
        "",
        "ls /",
        "rm a",
        "rm -rf build",
        "rm -rf ./target node_modules",
        "rm -rf /tmp/x",
        "rm .git/index.lock",
        "rm -f a b",
        "rm -rf .github",
        "rm -rf x.git",
        "mv a b",
        "mv a /tmp",
        "mv a .",
        "mv -t /tmp a",
        "rmdir build",
        "truncate -s 0 log",
        "git rm -r x",
        "$? -rf /",
        "echo rm -rf /",
    ] {
        assert!(!breaks(line), "{line}");
    }
}

#[test]
fn without_a_home_a_tilde_is_a_name() {
    let bases = [AbsPath::new("/p/q").unwrap()];
    let place = DangerContext { bases: &bases, home: None };
    assert!(find_dangers(&parse_words("rm -rf ~"), &place).is_empty());
}

#[test]
fn where_no_directory_is_known_no_relative_path_is() {
    let place = DangerContext { bases: &[], home: None };
    assert!(!find_dangers(&parse_words("rm -rf build"), &place).is_empty());
    assert!(find_dangers(&parse_words("rm -rf /srv/x/build"), &place).is_empty());
    assert!(find_dangers(&parse_words("rm build"), &place).is_empty());
}

#[test]
fn emptying_a_system_directory_home_or_project_breaks_the_circuit() {
    for line in [
        "pytest --basetemp=/",
        "pytest --basetemp ~",
        "pytest --basetemp=/home/u",
        "pytest --basetemp=.",
        "py.test -q --basetemp=/etc tests",
        "rsync -a --delete empty/ ~",
        "rsync -a --delete-after empty/ /usr",
        "rsync -a --del empty/ .",
        "virtualenv --clear ~",
        "rclone sync remote:x ~",
        "aws s3 sync s3://b ~ --delete",
        "vite build --emptyOutDir --outDir ~",
        "vite build --outDir=.. --emptyOutDir",
        "tsup --clean -d ~",
        "webpack --output-clean --output-path /home",
        "hugo --cleanDestinationDir -d ~",
        "mkdocs build -d ~",
        "mdbook build --dest-dir /",
        "jekyll build --destination=~",
        "typedoc --out ~",
        "sphinx-build -M clean . ~",
        "rimraf ~",
        "rimraf a .",
        "tar xf a.tar --recursive-unlink -C ~",
        "unzip -o a.zip -d /usr",
        "cmake --build / --clean-first",
        "git clean -fdx ~",
        "git -C ~ clean -fdx",
        "git -C / clean --force",
    ] {
        assert!(breaks(line), "{line}");
    }
    for line in [
        "pytest --basetemp=build/tmp",
        "pytest tests",
        "rsync -a --delete src/ build/",
        "rsync -a src/ ~",
        "rsync -a --delete . host:backup",
        "vite build --outDir dist --emptyOutDir",
        "vite build --outDir ~",
        "mkdocs build -d site",
        "sphinx-build -b html . _build",
        "rimraf dist",
        "tar xf a.tar --recursive-unlink -C out",
        "unzip -o a.zip -d .",
        "unzip a.zip -d ~",
        "cmake --build build --clean-first",
        "git clean -fdx",
        "git clean -fdx .",
        "git -C sub clean -fd",
        "git -C ~ clean -n",
        "aws s3 sync . s3://b --delete",
    ] {
        assert!(!breaks(line), "{line}");
    }
}
