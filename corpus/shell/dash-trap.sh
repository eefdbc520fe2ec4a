dash -c 'trap '\''time'\'' EXIT'
