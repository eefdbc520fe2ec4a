f() { bash -c 'c=evil1; local c=evil2; $c'; }; f
