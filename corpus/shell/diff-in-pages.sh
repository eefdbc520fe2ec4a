diff -l a/f -
