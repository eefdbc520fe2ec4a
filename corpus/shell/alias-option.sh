bash -O expand_aliases -c 'alias foo=""
foo a'
