//! Everyday operations of people and their tools in a workspace.

/// The script that creates the initial files.
pub(super) const SEED: &str = r#"
umask 022
printf 'one\ntwo\nthree\n' > a.txt; echo old > old.txt; printf '\0\1\2' > bin; ln -s a.txt link; ln old.txt hard
mkdir -p src/deep empty closed node_modules/{a,b}/lib; for i in 1 2 3; do echo $i > src/f$i.c; echo $i > src/deep/g$i.h; done
for p in a b; do echo "{}" > node_modules/$p/package.json; echo x > node_modules/$p/lib/x.js; done
echo '#!/bin/sh' > tool.sh; echo kept > closed/file; chmod 555 closed; touch -d '2001-01-01' src/*.c a.txt
"#;

pub(super) const OPERATIONS: &[&str] = &[
    "echo four >> a.txt",
    "sed -i s/two/zwei/ a.txt",
    "perl -pi -e 's/^/0/' src/*.c",
    "truncate -s 0 a.txt",
    "dd if=/dev/zero of=big bs=1M count=5 status=none",
    "dd if=/dev/urandom of=sparse bs=1 seek=2000000 count=0 status=none",
    "touch new.txt src/deep/new.h",
    "rm old.txt",
    "rm -r src",
    "rm -rf src node_modules empty",
    "rmdir empty; mkdir made",
    "mv a.txt b.txt",
    "mv src sources",
    "mv src/deep .; mv node_modules/a src/",
    "mv a.txt old.txt",
    "cp -r src copy; cp -a node_modules backup",
    "chmod +x tool.sh; chmod 600 a.txt",
    "chmod 700 empty; chmod 000 bin",
    "chmod -R u+w closed; rm -r closed",
    "ln -s src/f1.c inner; ln -sf old.txt link",
    "ln -s / out; ln -s nowhere dangling; rm link",
    "rm link; echo file > link",
    "rm a.txt; mkdir a.txt; echo in > a.txt/in",
    "rm -r src; echo file > src",
    "rm -r src; ln -s node_modules src",
    "rm -r src; mkdir src; echo only > src/only",
    "rm -r src; mkdir -p src/deep; echo only > src/deep/only; echo f > src/f1.c",
    "ln a.txt a2.txt; echo more >> a2.txt",
    "mkdir -p x/y/z; echo 1 > x/y/z/f; chmod 555 x/y/z; chmod 500 x/y",
    "mkdir c; echo x > c/x; chmod 000 c/x; chmod 000 c",
    "echo swapped > .a.tmp; mv .a.tmp a.txt; echo 'with  blank' > 'a b'; echo q > 'q\"uote'; echo n > $'new\\nline'",
    "tar cf all.tar src node_modules --sort=name --mtime=2001-01-01 --owner=0 --group=0; mkdir un; tar xf all.tar -C un; rm all.tar",
    "for i in $(seq 40); do mkdir -p node_modules/p$i/lib; echo \"{\\\"v\\\": $i}\" > node_modules/p$i/package.json; ln -sf ../p$i/package.json node_modules/p$i/lib/l; done; rm -rf node_modules/a",
    "find . -name '*.c' -exec mv {} {}.bak ';'; cat src/*.bak > joined",
    "printf 'all: out\\nout: a.txt\\n\\tcp a.txt out\\n' > Makefile; make -s",
];
