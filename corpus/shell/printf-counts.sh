c=evil1; printf 'abcde%n' c; $c
