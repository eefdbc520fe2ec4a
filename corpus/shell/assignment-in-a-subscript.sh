c=evil1; a=([c=5]=1); $c
