(bash -i -c 'alias foo=v
foo')
