dash -c '{ o `npm $'\'''\''`
}'
