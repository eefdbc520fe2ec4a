timeout 5 -c "rm x"
