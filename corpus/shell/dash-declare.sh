dash -c 'declare d=1;evil2$d'
