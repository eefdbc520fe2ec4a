dash -c '(exec -a)'
