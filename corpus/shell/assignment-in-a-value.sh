v=c=5; c=evil1; (($v)); $c
