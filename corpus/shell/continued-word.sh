time -p\
 m
