f() { trap 'c=evil1; local c=evil2; $c' EXIT; }; f
