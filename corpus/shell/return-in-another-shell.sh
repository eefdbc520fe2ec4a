f() { bash -c 'c=evil1; if evil2; then c=evil3; return; fi; $c'; }; f
