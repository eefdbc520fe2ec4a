hash -p8 foo;foo
